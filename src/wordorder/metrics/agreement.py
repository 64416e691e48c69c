"""Human agreement with a difference of a metric: Kocmi et al. (2024), "Navigating the Metrics Maze".

For pairs of systems whose scores differ by x, the share of pairs in which people also prefer the system that the metric
prefers is fitted by a / (1 + exp(-b·x)). It was measured on test sets of ordinary text, for systems of all kinds. A
difference with which people agree no more often than a coin toss can still be significant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# The share of agreement of the smallest difference that the authors print; a coin toss has 0.5.
NOTICED = 0.55


@dataclass(frozen=True)
class Agreement:
    """The curve of one metric.

    The values are those of the authors' package mt-thresholds 1.0.4. Their paper prints, rounded, the differences at
    which the curve passes 55, 60, 65, … per cent.

    Args:
        ceiling: a, in per cent.
        slope: b, per point of a difference.
        points: The number of points in 1 of our scores.
    """

    ceiling: float
    slope: float
    points: float = 1.0

    def expected(self, difference: float) -> float:
        """Return the expected share of pairs in which people prefer the system with the better score, 0.5 to 1."""
        points = abs(difference) * self.points
        return max(0.5, self.ceiling / 100 / (1 + math.exp(-self.slope * points)))

    def difference(self, expected: float) -> float:
        """Return the difference at which the expected share, between 0.5 and the ceiling, is reached."""
        return -math.log(self.ceiling / 100 / expected - 1) / self.slope / self.points
