"""What the comparison of a published number or order with ours can find, and how it is printed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """What was found of one published number, or of one published order of two systems, and how it is printed."""

    # Why there is no number of ours.
    NOT_RUN = "not run"
    DIVERGED = "diverged"
    NOT_SCORED = "not scored"
    NOT_MEASURED = "not measured"
    # Why there is no judgement.
    NOT_JUDGED = "–"
    NO_COMMON_SEED = "no seed in common with the baseline"
    NO_SPREAD = "no spread to judge by"
    ANOTHER_SIZE = "another size"  # of parameters and memory, whose gaps are those of the size
    # Of a number.
    REPRODUCED = "reproduced within the spread"
    NOT_REPRODUCED = "not reproduced"
    WITHIN = "within the spread"
    OUTSIDE = "outside the spread"
    AS_PRINTED = "as printed"
    NOT_AS_PRINTED = "not as printed"
    # Of an order.
    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    NOT_TOLD_APART = "not told apart"
    UNTESTED = "untested"

    @property
    def label(self) -> str:
        """The printed text."""
        return self.value


@dataclass(frozen=True)
class Judgement:
    """A status with what it is about.

    Attributes:
        status: What was found.
        of_gap: Whether a difference from the baseline was judged, not the number itself.
        of_baseline: Whether it is the baseline that has no number.
        other_data: Whether another dataset, test set or size of ours stands in for the paper's.
    """

    status: Status
    of_gap: bool = False
    of_baseline: bool = False
    other_data: bool = False

    @property
    def label(self) -> str:
        prefix = "gap " if self.of_gap else "baseline " if self.of_baseline else ""
        return f"{prefix}{self.status.label}{', other data' if self.other_data else ''}"
