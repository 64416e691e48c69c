"""Typed model of ``config/published/parameters.yaml``: what the papers print about the sizes of their models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, RootModel, model_validator

from wordorder.config.base import Model, Name, Positive

COUNT = r"^(none|\+?[0-9]+\.[0-9]+)$"


class PublishedRow(Model):
    """One count of a table, and the entries of our configuration that stand for its system."""

    row: str = Field(description="The system as the paper names it.")
    encoding: Name = Field(description="A name in encodings.yaml.")
    size: Name = Field(description="A name in sizes.yaml.")
    printed: Annotated[str, Field(pattern=COUNT)] = Field(
        description="Millions with the decimals that are printed; with a plus, more than those of 'base'; or 'none', "
        "where the paper says that the encoding has no parameters."
    )
    base: str | None = Field(default=None, description="The row of this table over which 'printed' counts.")
    note: str | None = Field(default=None, description="Why the count is missed, or what was guessed to meet it.")

    @model_validator(mode="after")
    def _only_a_difference_has_a_base(self) -> PublishedRow:
        if self.printed.startswith("+") != (self.base is not None):
            raise ValueError("'base' must be given where 'printed' begins with a plus, and nowhere else")
        return self


class PublishedTable(Model):
    """The counts of one table of a paper, whose models have the same vocabulary."""

    paper: str
    table: str
    vocabulary: Positive = Field(description="Rows of an embedding matrix.")
    tie_embeddings: Literal["all", "decoder", "none"] = Field(description="As in a study's recipe.")
    norm: Literal["pre", "post"]
    rows: Annotated[list[PublishedRow], Field(min_length=1)]

    @model_validator(mode="after")
    def _bases_are_rows(self) -> PublishedTable:
        names = [row.row for row in self.rows]
        for row in self.rows:
            if names.count(row.row) > 1:
                raise ValueError(f"two rows are called '{row.row}'")
            if row.base is not None and row.base not in names:
                raise ValueError(f"the base '{row.base}' of '{row.row}' is no row of this table")
        return self

    def find(self, row: str) -> PublishedRow:
        return next(own for own in self.rows if own.row == row)


class PublishedParameters(RootModel[list[PublishedTable]]):
    """``config/published/parameters.yaml``."""
