"""Results of comparisons as sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wordorder.config.models import Comparison
from wordorder.metrics.base import Metric
from wordorder.statistics.blocked import Difference
from wordorder.statistics.verdicts import Outcome, Reach, Verdict


def sentence(
    comparison: Comparison,
    metric: type[Metric],
    difference: Difference | None,
    verdict: Verdict,
    family: dict[str, Any],
    *,
    detectable: float | None,
    why: str,
) -> str:
    """Describe the result of a comparison, its scope, and the difference that these seeds can detect.

    Args:
        comparison: The two systems.
        metric: The metric.
        difference: Their difference, if it was tested.
        verdict: The verdict.
        family: Values that apply to all comparisons, from :class:`.families.FamilyTest`.
        detectable: The difference that these seeds detect with a probability of 80 %, if it was tested.
        why: The reason why the difference was not tested, if it was not.

    Returns:
        The sentence.
    """
    system, baseline = comparison.system, comparison.baseline
    if difference is None:
        return f"{system} against {baseline}: untested ({why})."
    low, high = (f"{end:+.{metric.digits}f}" for end in difference.interval)
    facts = (
        f"{difference.value:+.{metric.digits}f} {metric.label} [{low}, {high}], p {_relation(difference.p)}, "
        f"{len(family['seeds'])} seeds"
    )
    if (family["spread_check"] or {}).get("small"):
        facts += ", which vary suspiciously little"
    varying = {*unstable(family), *([baseline] if baseline_varies(family) else [])}
    facts += "".join(f"; {name} varies more than the others" for name in (system, baseline) if name in varying)
    if verdict.outcome is Outcome.UNDECIDED:
        return (
            f"{system} against {baseline}: undecided ({facts}; with 80 % probability these seeds find a difference of "
            f"{detectable:.{metric.digits}f})."
        )
    if verdict.outcome is Outcome.EQUIVALENT:
        within = f"{family['margin']:.{metric.digits}f} {metric.label}"
        return f"{system} and {baseline} are equivalent within {within}, on this test set ({facts})."
    word = "better" if verdict.outcome in (Outcome.BETTER, Outcome.BETTER_WITHIN) else "worse"
    within = ", within the margin" if verdict.outcome in (Outcome.BETTER_WITHIN, Outcome.WORSE_WITHIN) else ""
    return f"{system} is {word} than {baseline}{within}, {reach_words(verdict)} ({facts})."


def reach_words(verdict: Verdict) -> str:
    """Return the words for the sentences to which a verdict applies."""
    both = f"{Reach.THIS_TEST_SET} {Reach.OTHER_SENTENCES}"
    return both if verdict.reach is Reach.OTHER_SENTENCES else str(Reach.THIS_TEST_SET)


def kind_of(entry: Mapping[Any, Any]) -> str:
    """Return the outcome of a comparison as it is written, without the remark that it is within the margin."""
    kind: str = entry["outcome"].partition(",")[0]
    return kind


def unstable(family: dict[str, Any]) -> dict[str, float]:
    """Return the systems that vary more over the seeds than the others, each with the p-value of that check."""
    return family.get("unstable") or {}  # Older bundles lack the check.


def baseline_varies(family: dict[str, Any]) -> bool:
    """Return whether the baseline varies more than the others, so that all comparisons use its own spread."""
    return bool((family["baseline_check"] or {}).get("corrects"))


def common_test(comparisons: Sequence[dict[str, Any]], family: dict[str, Any]) -> dict[str, Any] | None:
    """Return the test of a system that, like its baseline if possible, varies no more than the others.

    Its standard error is the common one. Systems that vary more have their own, which may even be smaller, because the
    common one contains the variation of all systems.

    Args:
        comparisons: The comparisons as they are written.
        family: Values that apply to all of them, from :class:`.families.FamilyTest`.

    Returns:
        The test; None if no comparison was tested.
    """
    varying = unstable(family)

    def order(entry: dict[str, Any]) -> tuple[int, float]:
        return sum(entry[side] in varying for side in ("system", "baseline")), entry["test"]["standard_error"]

    least = min((entry for entry in comparisons if entry["test"]), key=order, default=None)
    return least and least["test"]


def _relation(p: float) -> str:
    return f"= {p:.3f}" if p >= 0.001 else "< 0.001"
