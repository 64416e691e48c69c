"""Typed settings of the seeds of a study: a list, or looks at which seeds may be added."""

from __future__ import annotations

from typing import Annotated

from pydantic import Discriminator, Field, Tag, model_validator

from wordorder.config.base import Model, Positive, Seed


class Looks(Model):
    """Seeds that are added after seeing the results of fewer seeds: the seeds are 1, 2, … up to ``until``."""

    looks: Annotated[list[Annotated[int, Field(ge=2)]], Field(min_length=2)] = Field(
        description="Numbers of seeds after which the comparisons are examined, in increasing order."
    )
    until: Positive | None = Field(
        default=None, description="Current look of the study; the first if missing. Increase it to add seeds."
    )
    declared: bool = Field(
        default=True,
        description="Whether the looks were fixed before the first one; if not, no level is exact.",
    )

    @model_validator(mode="after")
    def _looks_grow(self) -> Looks:
        if self.looks != sorted(set(self.looks)):
            raise ValueError(f"the looks must increase, such as [3, 5], but are {self.looks}")
        if self.until is not None and self.until not in self.looks:
            raise ValueError(f"'until' is {self.until}, which is not among the looks {self.looks}")
        return self

    @property
    def now(self) -> int:
        """The number of seeds at this look."""
        return self.looks[0] if self.until is None else self.until


Seeds = Annotated[
    Annotated[list[Seed], Field(min_length=1), Tag("listed")] | Annotated[Looks, Tag("looks")],
    Discriminator(lambda seeds: "looks" if isinstance(seeds, dict | Model) else "listed"),
]
