"""Which of many systems differ, tested over seeds: Tukey's honestly significant difference (Tukey 1949, Kramer 1956).

A comparison of every system with every other has few seeds and many pairs. A paired t-test estimates the spread over
the seeds anew for each pair, from its few differences, and little is left after Holm's correction for all pairs.
Tukey's test takes the spread to be the same for all systems and estimates it from all of them; its p-values are
adjusted for the number of pairs as they come. That seeds are shared between systems is not used.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
from scipy import stats


def tukey_test(scores: Mapping[str, Mapping[int, float]]) -> dict[tuple[str, str], float]:
    """The adjusted p-value of each pair of systems, in the order of ``scores``: system -> seed -> score.

    Systems with fewer than two seeds are in no pair. Without two systems, or without any spread over the seeds, nothing
    can be tested and there is no pair.
    """
    samples = {name: list(of.values()) for name, of in scores.items() if len(of) > 1}
    if len(samples) < 2 or all(np.ptp(sample) <= 1e-9 for sample in samples.values()):
        return {}
    matrix = stats.tukey_hsd(*samples.values()).pvalue
    return {
        (one, other): float(matrix[row, column]) for (row, one), (column, other) in combinations(enumerate(samples), 2)
    }
