"""Pairwise comparisons on the seed-blocked model: Tukey's test (1949) of all pairs, and declared pairs with Holm.

Systems share their seeds, so that the common effect of a seed cancels. The residual variance is estimated from all
systems; pairs with a system that varies more than the others use the variance of that system.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from scipy import stats

from wordorder.statistics.blocked import Blocked, Difference, Problem, around
from wordorder.statistics.distributions import tukey_critical, tukey_sf
from wordorder.statistics.over_seeds import holm

Pair = tuple[str, str]
"""(system, other); the difference is that of the system minus the other."""


@dataclass(frozen=True)
class Pairs:
    """Comparisons of pairs of systems.

    Attributes:
        model: The scores.
        alpha: The level.
        problem: Why nothing is tested, if nothing is; then ``differences`` is empty.
        m: The declared number of pairs.
        critical: The |t| at the end of the intervals of systems that vary no more than the others.
        differences: The comparison of each tested pair.
    """

    model: Blocked
    alpha: float
    problem: Problem | None
    m: int
    critical: float
    differences: Mapping[Pair, Difference]

    @property
    def standard_error(self) -> float:
        """The standard error of the differences of systems that vary no more than the others."""
        return self.model.standard_error

    @property
    def nu(self) -> float:
        """The degrees of freedom of the standard error."""
        return float(self.model.nu)


def all_pairs(model: Blocked, *, alpha: float = 0.05, among: Collection[str] | None = None) -> Pairs:
    """Compare every system with every other by Tukey's test.

    Args:
        model: The scores.
        alpha: The level.
        among: The declared systems to compare, of which the model may lack some; by default all. The others only
            contribute to the residual variance.

    Returns:
        The comparisons.
    """
    k = model.declared if among is None else len(among)
    pairs = list(combinations([name for name in model.systems if among is None or name in among], 2))
    if model.problem is not None:
        return Pairs(model, alpha, model.problem, math.comb(k, 2), math.nan, {})

    def critical(nu: float, level: float) -> float:
        return tukey_critical(k, nu, level) / math.sqrt(2)

    differences = {}
    for pair in pairs:
        error, nu = model.error(*pair)
        p = tukey_sf(math.sqrt(2) * abs(model.difference(*pair)) / error, k, nu)
        differences[pair] = _difference(model, pair, p, p, critical, alpha)
    return Pairs(model, alpha, None, math.comb(k, 2), critical(model.nu, alpha), differences)


def declared_pairs(model: Blocked, pairs: Sequence[Pair], *, alpha: float = 0.05) -> Pairs:
    """Compare the pairs that were declared before the runs, by t-tests on the blocked model with Holm's correction.

    The intervals are Bonferroni's. If all pairs share a baseline, :func:`.dunnett.against_baseline` finds more.
    """
    m = len(pairs)
    if model.problem is not None or not pairs:
        return Pairs(model, alpha, model.problem, m, math.nan, {})

    def critical(nu: float, level: float) -> float:
        return float(stats.t.isf(level / 2 / m, nu))

    tested = [pair for pair in pairs if set(pair) <= set(model.systems)]
    single = {}
    for pair in tested:
        error, nu = model.error(*pair)
        single[pair] = float(2 * stats.t.sf(abs(model.difference(*pair)) / error, nu))
    stepped = dict(zip(pairs, holm([single.get(pair) for pair in pairs]), strict=True))
    differences = {}
    for pair in tested:
        p = stepped[pair]
        assert p is not None
        differences[pair] = _difference(model, pair, p, min(1.0, m * single[pair]), critical, alpha)
    return Pairs(model, alpha, None, m, critical(model.nu, alpha), differences)


def _difference(
    model: Blocked, pair: Pair, p: float, p_single_step: float, critical: Callable[[float, float], float], alpha: float
) -> Difference:
    value, (error, nu) = model.difference(*pair), model.error(*pair)
    return Difference(
        value=value,
        standard_error=error,
        nu=nu,
        t=value / error,
        p=p,
        p_single_step=p_single_step,
        interval=around(value, critical(nu, alpha) * error),
        equivalence_interval=around(value, critical(nu, 2 * alpha) * error),
    )
