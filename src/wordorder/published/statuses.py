"""The possible results of comparing a published number or order with ours, with their printed labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """The result for one published number, or for the published order of two systems; the value is the label."""

    # Our number is missing.
    NOT_RUN = "not run"
    DIVERGED = "diverged"
    NOT_SCORED = "not scored"
    NOT_MEASURED = "not measured"
    # No judgement is possible.
    NOT_JUDGED = "–"
    NO_COMMON_SEED = "no seed in common with the baseline"
    NO_SPREAD = "no spread to judge by"
    ANOTHER_SIZE = "another size"  # for parameters and memory, which depend on the model size
    # Judgements on a number.
    REPRODUCED = "reproduced within the spread"
    NOT_REPRODUCED = "not reproduced"
    WITHIN = "within the spread"
    OUTSIDE = "outside the spread"
    AS_PRINTED = "as printed"
    NOT_AS_PRINTED = "not as printed"
    # Judgements on an order.
    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    NOT_TOLD_APART = "not told apart"
    UNTESTED = "untested"

    @property
    def label(self) -> str:
        """The printed label."""
        return self.value


@dataclass(frozen=True)
class Judgement:
    """A status with its object.

    Attributes:
        status: The result.
        of_gap: Whether the difference from the baseline was judged, not the number itself.
        of_baseline: Whether the missing number is that of the baseline.
        other_data: Whether another dataset, test set or model size of ours replaces the paper's.
    """

    status: Status
    of_gap: bool = False
    of_baseline: bool = False
    other_data: bool = False

    @property
    def label(self) -> str:
        """The printed label."""
        prefix = "gap " if self.of_gap else "baseline " if self.of_baseline else ""
        return f"{prefix}{self.status.label}{', other data' if self.other_data else ''}"


def diverged(systems: Iterable[str]) -> str:
    """Say of which systems a training diverged."""
    return " and ".join(f"{name} {Status.DIVERGED.label}" for name in dict.fromkeys(systems))
