"""Typed model of ``config/published/parameters.yaml``: the parameter counts that the papers print."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, RootModel, model_validator

from wordorder.config.base import Model, Name, Positive

COUNT = r"^(none|\+?[0-9]+\.[0-9]+)$"


class PublishedRow(Model):
    """One count of a table, with the configuration entries that correspond to its system."""

    row: str = Field(description="The system as the paper names it.")
    encoding: Name = Field(description="A name in encodings.yaml.")
    size: Name = Field(description="A name in sizes.yaml.")
    printed: Annotated[str, Field(pattern=COUNT)] = Field(
        description="Count in millions, with the printed decimals. With a plus sign it is the difference from the "
        "count of 'base'. 'none' if the paper says that the encoding has no parameters."
    )
    base: str | None = Field(
        default=None, description="Row of this table from which a 'printed' with a plus sign counts."
    )
    note: str | None = Field(
        default=None, description="Why our count differs, or which setting was assumed to meet the count."
    )

    @model_validator(mode="after")
    def _only_a_difference_has_a_base(self) -> PublishedRow:
        if self.printed.startswith("+") != (self.base is not None):
            raise ValueError("'base' is required if 'printed' starts with a plus sign, and not allowed otherwise")
        return self


class PublishedTable(Model):
    """The counts of one table of a paper; all its models have the same vocabulary."""

    paper: str = Field(description="The paper, as its tables name it.")
    table: str = Field(description="Number of the table in the paper.")
    vocabulary: Positive = Field(description="Number of rows of an embedding matrix.")
    tie_embeddings: Literal["all", "decoder", "none"] = Field(description="As in the recipe of a study.")
    norm: Literal["pre", "post"] = Field(description="Position of the layer norm, as in the recipe of a study.")
    rows: Annotated[list[PublishedRow], Field(min_length=1)] = Field(description="Rows of the table.")

    @model_validator(mode="after")
    def _bases_are_rows(self) -> PublishedTable:
        names = [row.row for row in self.rows]
        for row in self.rows:
            if names.count(row.row) > 1:
                raise ValueError(f"two rows have the name '{row.row}'")
            if row.base is not None and row.base not in names:
                raise ValueError(f"the base '{row.base}' of '{row.row}' is not a row of this table")
        return self

    def find(self, row: str) -> PublishedRow:
        """Return the row with a name."""
        return next(own for own in self.rows if own.row == row)


class PublishedParameters(RootModel[list[PublishedTable]]):
    """The contents of ``config/published/parameters.yaml``."""
