"""Verdicts on a tested difference: better, worse, equivalent within a margin, or undecided."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from wordorder.statistics.blocked import Difference
from wordorder.statistics.seeds_and_sentences import BothRandom


class Outcome(StrEnum):
    """The outcome of a test."""

    BETTER = "better"
    WORSE = "worse"
    EQUIVALENT = "equivalent"
    BETTER_WITHIN = "better, within the margin"
    WORSE_WITHIN = "worse, within the margin"
    UNDECIDED = "undecided"
    UNTESTED = "untested"


class Reach(StrEnum):
    """The sentences to which a verdict applies. It always applies to other seeds."""

    THIS_TEST_SET = "on this test set"
    OTHER_SENTENCES = "and on other sentences"


@dataclass(frozen=True)
class Verdict:
    """A verdict and its reach."""

    outcome: Outcome
    reach: Reach | None


def verdict(
    difference: Difference | None,
    *,
    margin: float,
    alpha: float = 0.05,
    lower_is_better: bool = False,
    both_random: BothRandom | None = None,
) -> Verdict:
    """Decide on a difference.

    Args:
        difference: A tested difference; None if it could not be tested.
        margin: The largest difference, in units of the metric, that counts as equivalent; fixed before the runs.
        alpha: The level.
        lower_is_better: Whether a lower score is better.
        both_random: The interval for other seeds and sentences, of the same family, if there is one.

    Returns:
        The verdict.
    """
    if difference is None:
        return Verdict(Outcome.UNTESTED, None)
    low, high = difference.equivalence_interval
    within = -margin < low and high < margin
    if difference.p < alpha:
        better = (difference.value > 0) != lower_is_better
        if within:
            outcome = Outcome.BETTER_WITHIN if better else Outcome.WORSE_WITHIN
        else:
            outcome = Outcome.BETTER if better else Outcome.WORSE
        further = both_random is not None and both_random.excludes_zero(difference.value)
        return Verdict(outcome, Reach.OTHER_SENTENCES if further else Reach.THIS_TEST_SET)
    return Verdict(Outcome.EQUIVALENT if within else Outcome.UNDECIDED, Reach.THIS_TEST_SET)
