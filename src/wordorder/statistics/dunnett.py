"""Every system against one baseline: the step-down test of Dunnett (1955; Dunnett and Tamhane 1991), seed-blocked.

The verdict follows the step-down p-value. The intervals are simultaneous and belong to the single-step p-value, so that
an interval may contain 0 although the step-down p-value is below alpha.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from wordorder.statistics.blocked import Blocked, Difference, Problem, around
from wordorder.statistics.distributions import dunnett_critical, dunnett_sf
from wordorder.statistics.spread import OwnSpread


@dataclass(frozen=True)
class AgainstBaseline:
    """Comparisons with a baseline.

    Attributes:
        model: The scores.
        baseline: The baseline.
        alpha: The level.
        problem: Why nothing is tested, if nothing is; then ``differences`` is empty.
        m: The declared number of comparisons.
        standard_error: The standard error of the differences of all systems that vary no more than the others.
        nu: Its degrees of freedom.
        critical: The |t| at the end of their intervals.
        spread: The check of the baseline; None for fewer than three systems.
        differences: The comparison of each tested system with the baseline.
    """

    model: Blocked
    baseline: str
    alpha: float
    problem: Problem | None
    m: int
    standard_error: float
    nu: float
    critical: float
    spread: OwnSpread | None
    differences: Mapping[str, Difference]


def against_baseline(
    model: Blocked, baseline: str, *, alpha: float = 0.05, among: Collection[str] | None = None
) -> AgainstBaseline:
    """Compare systems with the baseline.

    Args:
        model: The scores.
        baseline: The baseline.
        alpha: The level.
        among: The declared systems to compare, of which the model may lack some; by default all. The others only
            contribute to the residual variance and to the check of the baseline.

    Returns:
        The comparisons.
    """
    m = model.declared - 1 if among is None else len({*among} - {baseline})
    problem = model.problem
    if baseline in model.excluded or (baseline not in model.systems and problem is None):
        problem = "baseline diverged" if model.excluded.get(baseline) == "diverged" else "baseline unfinished"
    if problem is not None:
        return AgainstBaseline(model, baseline, alpha, problem, m, math.nan, math.nan, math.nan, None, {})
    spread, unstable = model.spread_of(baseline), dict(model.unstable)
    if spread is not None and spread.corrects:
        unstable[baseline] = spread
    else:
        unstable.pop(baseline, None)
    error, nu = model.standard_error, float(model.nu)
    if baseline in unstable:
        error, nu = math.sqrt(unstable[baseline].variance), unstable[baseline].nu
    compared = [name for name in model.systems if name != baseline and (among is None or name in among)]
    values = {name: model.difference(name, baseline) for name in compared}
    errors = {name: model.error(name, baseline, unstable) for name in values}
    t = {name: values[name] / errors[name][0] for name in values}
    single = {name: dunnett_sf(t[name], m, errors[name][1]) for name in values}
    differences: dict[str, Difference] = {}
    largest = 0.0
    # Untested systems come last, so that the numbers of comparisons before them stay as declared. A p-value below 1e-12
    # is rounding; then |t| decides.
    for step, name in enumerate(sorted(values, key=lambda name: (max(single[name], 1e-12), -abs(t[name])))):
        own, freedom = errors[name]
        largest = max(largest, dunnett_sf(t[name], m - step, freedom))
        differences[name] = Difference(
            value=values[name],
            standard_error=own,
            nu=freedom,
            t=t[name],
            p=largest,
            p_single_step=single[name],
            interval=around(values[name], dunnett_critical(m, freedom, alpha) * own),
            equivalence_interval=around(values[name], dunnett_critical(m, freedom, 2 * alpha) * own),
        )
    ordered = {name: differences[name] for name in values}
    return AgainstBaseline(model, baseline, alpha, None, m, error, nu, dunnett_critical(m, nu, alpha), spread, ordered)
