"""What a comparison found, as a sentence."""

from __future__ import annotations

from typing import Any, Literal

from wordorder.metrics.base import Metric

Outcome = Literal["better", "worse", "same", "untested"]


def outcome(entry: dict[str, Any], metric: type[Metric], alpha: float) -> Outcome:
    """What the t-test over seeds says of the system; "same" is: not significantly different from the baseline."""
    test = entry["t_test"]
    if test["n"] == 0 or test["p_holm"] is None:
        return "untested"
    if test["p_holm"] >= alpha:
        return "same"
    return "better" if (test["mean_difference"] < 0) == metric.lower_is_better else "worse"


def verdict(entry: dict[str, Any], metric: type[Metric], alpha: float, seeds: int) -> str:
    """One sentence that says what the t-test over seeds found, and of how many of the ``seeds`` that were asked for."""
    test = entry["t_test"]
    system, baseline = entry["system"], entry["baseline"]
    used = f"{test['n']} of {seeds} seeds" if test["n"] < seeds else f"{seeds} seed{'s' if seeds > 1 else ''}"
    if test["n"] == 0:
        return f"{system} and {baseline} cannot be compared: no seed was finished by both (of {seeds} asked for)."
    change = f"{test['mean_difference']:+.{metric.digits}f} {metric.label}"
    if test["p_holm"] is None:
        reason = "one seed only" if test["n"] == 1 else "the same difference for every seed"
        return f"{system} against {baseline}: {change}, not testable over seeds ({reason}; {used})."
    facts = f"{change}, Holm-adjusted p {_relation(test['p_holm'])}, {used}"
    found = outcome(entry, metric, alpha)
    if found == "same":
        return f"{system} is not significantly different from {baseline} ({facts})."
    return f"{system} is significantly {found} than {baseline} ({facts})."


def _relation(p: float) -> str:
    return f"= {p:.3f}" if p >= 0.001 else "< 0.001"
