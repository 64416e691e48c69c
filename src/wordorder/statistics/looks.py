"""Significance levels for looking at the results more than once, with more seeds each time.

The levels are two-sided p-values of a group-sequential design (Lan and DeMets 1983) on the normal scale, with the
number of seeds as the information. Adjusted p-values are not normal, so that the levels hold approximately.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import optimize, stats

from wordorder.statistics.resampling import Array

_HIGHEST = 20.0  # bound, with a level of 6e-89
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)


def obrien_fleming_levels(looks: Sequence[int], *, alpha: float = 0.05) -> list[float]:
    """Compute the level of each look at increasing numbers of seeds, of which the last is the planned maximum.

    The levels spend alpha as O'Brien and Fleming (1979) do: little of it at first, so that the last look loses little.
    """
    bounds: list[float] = []
    spent = 0.0
    for seeds in looks:
        spend = 4 * stats.norm.sf(stats.norm.isf(alpha / 4) / math.sqrt(seeds / looks[-1]))
        increment = spend - spent
        times = np.array(looks[: len(bounds) + 1]) / looks[-1]

        def excess(bound: float, times: Array = times, increment: float = increment) -> float:
            return _crossing(times, [*bounds, bound]) - increment

        # A look that is much earlier than the last spends less than even this bound.
        reachable = excess(_HIGHEST) < 0
        bounds.append(float(optimize.brentq(excess, 0.0, _HIGHEST, xtol=1e-12)) if reachable else _HIGHEST)
        spent = spend
    return [float(2 * stats.norm.sf(bound)) for bound in bounds]


def _crossing(times: Array, bounds: Sequence[float]) -> float:
    """Return the probability that |Z| first exceeds its bound at the last of these times, for a Brownian motion."""
    position, density = np.zeros(1), np.ones(1)
    before = 0.0
    for time, bound in zip(times[:-1], bounds[:-1], strict=True):
        scale = math.sqrt(time - before)
        edge = bound * math.sqrt(time)
        nodes, weights = edge * _NODES, edge * _WEIGHTS
        density = weights * (stats.norm.pdf((nodes[:, None] - position) / scale) / scale @ density)
        position, before = nodes, time
    scale, edge = math.sqrt(times[-1] - before), bounds[-1] * math.sqrt(times[-1])
    outside = stats.norm.sf((edge - position) / scale) + stats.norm.sf((edge + position) / scale)
    return float(outside @ density)
