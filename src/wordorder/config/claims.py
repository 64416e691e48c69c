"""Typed model of ``config/published/claims/NAME.yaml``: what a paper claims, and how each claim is decided."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from wordorder.config.base import Model, Name, Positive

# The tables of a paper, which its study has before all others.
PAPER_TABLES = ("paper", "claims", "contradictions")


class Decided(Model):
    """Which systems are compared: each of ``better`` with each of ``worse``.

    A missing list means all other systems: 'better' without 'worse' says that a system is best.
    """

    better: list[str] = Field(default=[], description="Systems that the paper finds better.")
    worse: list[str] = Field(default=[], description="Systems that the paper finds worse.")
    relation: Literal["better", "not worse", "better in every seed"] = Field(
        default="better", description="'not worse' claims that 'better' is not worse than 'worse' by the margin."
    )
    margin: Annotated[float, Field(gt=0)] | None = Field(
        default=None,
        description="The difference up to which two systems are equivalent; that of the metric if missing.",
    )

    @model_validator(mode="after")
    def _one_side_at_least(self) -> Decided:
        if not (self.better or self.worse):
            raise ValueError("'better', 'worse' or both must be given")
        return self

    def pairs(self, systems: list[str]) -> list[tuple[str, str]]:
        """Return (better, worse) of the systems that there are."""
        better = self.better or [name for name in systems if name not in self.worse]
        worse = self.worse or [name for name in systems if name not in self.better]
        return [(one, other) for one in better for other in worse if one != other]


class ByTable(Decided):
    """An ordering of systems of a published table, decided by our models of these systems."""

    kind: Literal["table"]
    table: Name = Field(description="A name in published/scores.yaml; systems are its rows.")
    columns: list[str] = Field(default=[], description="Columns of the table; all scores if empty.")


_DATASET = "The paper's dataset. Where it has been run, no other decides; elsewhere, the verdict names the other one."
_SIZE = "The paper's model size, as for 'dataset'; any of the paper's sizes if missing."


class Sides(Model):
    """The systems that replace those of a claim in a study whose models have another shape."""

    better: list[str] = Field(default=[], description="Replace 'better', if there are any.")
    worse: list[str] = Field(default=[], description="Replace 'worse', if there are any.")


class ByAnalysis(Decided):
    """An ordering of systems by a number of an analysis."""

    kind: Literal["analysis"]
    analysis: Name = Field(
        description="An analysis; or 'scores' (of all test sets), 'training' (perplexity by update) or 'records' "
        "(what the trainings took)."
    )
    value: Name = Field(description="The column of the analysis's data that is compared.")
    where: dict[Name, str | float] = Field(default={}, description="Rows that count: the value of other columns.")
    systems: Name = Field(default="encoding", description="The column that names the systems.")
    unit: Name = Field(default="seed", description="The column of what is repeated, over which the test is.")
    lower_is_better: bool = Field(default=False, description="Whether smaller values are better.")
    dataset: Name | None = Field(default=None, description=_DATASET)
    size: Name | None = Field(default=None, description=_SIZE)
    elsewhere: dict[Name, Sides] = Field(
        default={},
        description="By study: the systems that replace the claim's if its models have another shape.",
    )
    rows_elsewhere: dict[Name, dict[Name, str | float]] = Field(
        default={}, description="By study: values of 'where' that stand for the paper's, such as lengths of short text."
    )


class ByTrend(Model):
    """A number of an analysis that rises or falls with another: the slope of a line, one for each system and seed."""

    kind: Literal["trend"]
    analysis: Name = Field(description="Analysis whose data are used.")
    value: Name = Field(description="Column that should rise or fall.")
    over: Name = Field(description="The column of the other number.")
    direction: Literal["rises", "falls"] = Field(description="Direction that the paper claims.")
    where: dict[Name, str | float] = Field(default={}, description="Rows that count: the value of other columns.")
    dataset: Name | None = Field(default=None, description=_DATASET)
    size: Name | None = Field(default=None, description=_SIZE)
    systems: list[Name] = Field(default=[], description="Encodings, each with a line; one line for all if empty.")


class Gain(Model):
    """The difference of two systems in published tables."""

    tables: Annotated[list[Name], Field(min_length=1)] = Field(description="Names in published/scores.yaml.")
    better: str = Field(description="A row of each of these tables.")
    worse: str = Field(description="The row that is subtracted.")


class ByGain(Model):
    """A gain that is larger than another one, on the same data: a difference of differences over seeds."""

    kind: Literal["gain"]
    larger: Gain = Field(description="Gain that the paper finds larger.")
    smaller: Gain = Field(description="Gain that the paper finds smaller.")


class ByPrinted(Model):
    """Arithmetic with the numbers of a published table: no model of ours decides it."""

    kind: Literal["printed"]
    table: Name = Field(description="A name in published/scores.yaml; systems are its rows.")
    column: str = Field(description="Column of the table.")
    better: Annotated[list[str], Field(min_length=1)] = Field(description="Rows, of which the mean is taken.")
    worse: Annotated[list[str], Field(min_length=1)] = Field(description="Rows, of which the mean is subtracted.")
    copied: bool = Field(default=False, description="Whether 'worse' are rows that the table copies from others.")
    says: float | None = Field(default=None, description="The printed difference; any above 0 if missing.")
    margin: float = Field(default=0.0, ge=0, description="How much lower 'better' may be, if 'says' is missing.")


class ByCount(Model):
    """Printed counts of parameters, which are those of our models to the last digit or not."""

    kind: Literal["count"]
    table: str = Field(description="A table of the paper in published/parameters.yaml.")
    rows: list[str] = Field(default=[], description="Rows of it; all if empty.")


class ByProposition(Model):
    """Mathematics, checked by computation."""

    kind: Literal["proposition"]
    propositions: Annotated[list[Name], Field(min_length=1)] = Field(description="'wordorder mathematics' lists them.")


Decision = Annotated[
    ByTable | ByAnalysis | ByTrend | ByGain | ByPrinted | ByCount | ByProposition, Field(discriminator="kind")
]


class Claim(Model):
    """One claim of a paper."""

    name: Name = Field(description="Name of the claim.")
    place: str = Field(description="Where the paper says it.")
    words: str = Field(description="What it says, quoted or in short.")
    decided_by: Decision = Field(description="Evidence that decides the claim.")
    note: str | None = Field(default=None, description="What must be known to read the verdict.")


class Count(Model):
    """A model whose parameters are counted."""

    encoding: Name = Field(description="Name in encodings.yaml.")
    size: Name = Field(description="Name in sizes.yaml.")
    vocabulary: Positive = Field(description="Number of rows of an embedding matrix.")
    tie_embeddings: Literal["all", "decoder", "none"] = Field(default="all", description="As in the recipe of a study.")
    norm: Literal["pre", "post"] = Field(default="post", description="As in the recipe of a study.")
    over: Name | None = Field(default=None, description="The encoding over whose count it is a difference.")


class Contradiction(Model):
    """Two places of a paper, or the paper and its released code, that do not agree."""

    name: Name = Field(description="Name of the contradiction.")
    place: str = Field(description="Place of the first statement.")
    says: str = Field(description="The first statement.")
    other_place: str = Field(description="Place of the second statement.")
    other: str = Field(description="The second statement, or what contradicts the first one.")
    counts: list[Count] = Field(default=[], description="Models whose parameters show it.")
    propositions: list[Name] = Field(default=[], description="Computations that show it.")


class PaperClaims(Model):
    """``config/published/claims/NAME.yaml``."""

    name: Name = Field(description="Name by which studies refer to the paper.")
    paper: str = Field(description="As the tables in published/scores.yaml name it.")
    title: str = Field(description="Title of the paper.")
    claims: Annotated[list[Claim], Field(min_length=1)] = Field(description="Claims of the paper.")
    contradictions: list[Contradiction] = Field(
        default=[], description="Contradictions within the paper, or with its released code."
    )

    @model_validator(mode="after")
    def _names_differ(self) -> PaperClaims:
        for kind, names in (
            ("claims", [claim.name for claim in self.claims]),
            ("contradictions", [found.name for found in self.contradictions]),
        ):
            for name in names:
                if names.count(name) > 1:
                    raise ValueError(f"two {kind} are called '{name}'")
        return self

    @property
    def counts(self) -> Iterator[Count]:
        """All models whose parameters the contradictions count."""
        return (count for found in self.contradictions for count in found.counts)
