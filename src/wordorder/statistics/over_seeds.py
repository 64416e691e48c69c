"""The paired t-test over seeds, and Holm's correction of p-values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from wordorder.statistics.resampling import CONFIDENCE


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values by Holm's (1979) step-down method.

    Args:
        p_values: The p-values of a family. None (no test was possible) counts as a member and stays None.

    Returns:
        The adjusted p-values.
    """
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    tested = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    for rank, (p, index) in enumerate(tested):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p))
        adjusted[index] = largest
    return adjusted


def correct(family: Sequence[dict[str, Any] | None]) -> None:
    """Add ``p_holm`` to each test of a family, which has ``p``; None marks an impossible test."""
    adjusted = holm([test["p"] if test else None for test in family])
    for test, p in zip(family, adjusted, strict=True):
        if test is not None:
            test["p_holm"] = p


def paired_t_test(system: Sequence[float], baseline: Sequence[float]) -> dict[str, Any]:
    """Run a paired t-test of scores.

    Args:
        system: Scores of the system.
        baseline: Scores of the baseline; ``baseline[i]`` and ``system[i]`` share a seed.

    Returns:
        ``n``, ``mean_difference``, ``confidence_interval`` (95 %, a pair), ``t``, ``p`` and ``note``. Values that are
        undefined for lack of seeds or of variance are None, and the note gives the reason.
    """
    differences = np.asarray(system, dtype=float) - np.asarray(baseline, dtype=float)
    result: dict[str, Any] = {
        "n": len(differences),
        "mean_difference": float(differences.mean()) if len(differences) else None,
        "confidence_interval": None,
        "t": None,
        "p": None,
        "note": None,
    }
    if len(differences) < 2:
        result["note"] = "A t-test needs at least two seeds that both systems finished."
    elif np.ptp(differences) <= 1e-9:
        result["note"] = "The difference is the same for every seed, so that a t-test is undefined."
    else:
        test = stats.ttest_rel(system, baseline)
        interval = test.confidence_interval(CONFIDENCE)
        result |= {
            "confidence_interval": [float(interval.low), float(interval.high)],
            "t": float(test.statistic),
            "p": float(test.pvalue),
        }
    return result
