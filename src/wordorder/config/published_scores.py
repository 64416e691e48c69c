"""Typed model of ``config/published/scores.yaml``: the scores that the papers print."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, RootModel, model_validator

from wordorder.config.base import Model, Name

# The tables of a study that hold papers' scores beside ours.
PUBLISHED_TABLES = ("published", "orderings")


class PublishedColumn(Model):
    """One column of a table, and what of ours stands beside it."""

    column: str = Field(description="As the paper heads it.")
    dataset: Name = Field(description="A name under datasets/.")
    test: Name = Field(description="The test set of that dataset.")
    metric: Name = Field(description="A metric of a study, or 'comet'.")


class PublishedScoresRow(Model):
    """The scores of one system, and the entries of our configuration that stand for it."""

    row: str = Field(description="The system as the paper names it.")
    encoding: Name = Field(description="A name in encodings.yaml.")
    size: Name = Field(description="A name in sizes.yaml.")
    scores: list[float | None] = Field(description="One a column; null where nothing is printed.")


class PublishedScores(Model):
    """One table of a paper."""

    name: Name = Field(description="What a study calls it.")
    paper: str
    table: str
    baseline: str = Field(description="The row that the others are compared with.")
    computed: str = Field(description="How the paper computed its scores.")
    columns: Annotated[list[PublishedColumn], Field(min_length=1)]
    rows: Annotated[list[PublishedScoresRow], Field(min_length=1)]

    @model_validator(mode="after")
    def _rows_fit(self) -> PublishedScores:
        names = [row.row for row in self.rows]
        for row in self.rows:
            if names.count(row.row) > 1:
                raise ValueError(f"two rows are called '{row.row}'")
            if len(row.scores) != len(self.columns):
                raise ValueError(f"'{row.row}' has {len(row.scores)} scores for {len(self.columns)} columns")
        if self.baseline not in names:
            raise ValueError(f"the baseline '{self.baseline}' is no row of this table")
        return self


class PublishedScoreTables(RootModel[list[PublishedScores]]):
    """``config/published/scores.yaml``."""

    @model_validator(mode="after")
    def _names_differ(self) -> PublishedScoreTables:
        names = [table.name for table in self.root]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two tables are called '{name}'")
        return self


class Shown(Model):
    """A published table in a study."""

    table: Name = Field(description="The name of a table in published/scores.yaml.")
    datasets: dict[Name, Name] = Field(
        default={}, description="For a dataset of the table the one of the study that stands in for it."
    )
    tests: dict[Name, Name] = Field(
        default={}, description="For a test set of the table that of the study that stands in for it."
    )
    sizes: dict[Name, Name] = Field(
        default={}, description="For a size of the table the one of the study that stands in for it."
    )


class PublishedInStudy(Model):
    """What a study shows of a published table, with the table itself."""

    shown: Shown
    printed: PublishedScores
