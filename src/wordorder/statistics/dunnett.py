"""Every system against one baseline: the step-down test of Dunnett (1955; Dunnett and Tamhane 1991), seed-blocked.

The verdict follows the step-down p-value. The intervals are simultaneous and belong to the single-step p-value, so that
an interval may contain 0 although the step-down p-value is below alpha.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

from wordorder.statistics.blocked import Blocked, Difference, Problem, around, residual_variance
from wordorder.statistics.distributions import dunnett_critical, dunnett_sf
from wordorder.statistics.resampling import Array

BASELINE_LEVEL = 0.05
"""The level of the check of the baseline's standard deviation."""


@dataclass(frozen=True)
class BaselineSpread:
    """The check whether the baseline varies more over the seeds than the other systems do.

    Attributes:
        f: Variance of the baseline's distance from the mean of the others, divided by the variance that the others
            predict.
        p: Its upper tail probability.
        variance: The corrected variance of a difference from the baseline.
        nu: The corrected degrees of freedom.
    """

    f: float
    p: float
    variance: float
    nu: float

    @property
    def corrects(self) -> bool:
        """Whether the corrected variance and degrees of freedom are used."""
        return self.p < BASELINE_LEVEL


@dataclass(frozen=True)
class AgainstBaseline:
    """Comparisons with a baseline.

    Attributes:
        model: The scores.
        baseline: The baseline.
        alpha: The level.
        problem: Why nothing is tested, if nothing is; then ``differences`` is empty.
        m: The declared number of comparisons.
        standard_error: The standard error of each difference.
        nu: Its degrees of freedom.
        critical: The |t| at the end of the intervals.
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
    spread: BaselineSpread | None
    differences: Mapping[str, Difference]


def baseline_spread(scores: Array, row: int) -> BaselineSpread:
    """Compare the variance of one system with that of the others.

    Args:
        scores: Scores of k >= 3 systems, (k, n).
        row: Row of the system.

    Returns:
        The check.
    """
    k, n = scores.shape
    others = np.delete(scores, row, axis=0)
    pooled, nu = residual_variance(others), (k - 2) * (n - 1)
    own = float((scores[row] - others.mean(axis=0)).var(ddof=1))
    share = (k - 2) / (k - 1) * pooled
    ratio = own / (pooled * k / (k - 1)) if pooled else math.inf
    return BaselineSpread(
        f=ratio,
        p=float(stats.f.sf(ratio, n - 1, nu)),
        variance=(own + share) / n,
        nu=(own + share) ** 2 / (own**2 / (n - 1) + share**2 / nu),
    )


def against_baseline(model: Blocked, baseline: str, *, alpha: float = 0.05) -> AgainstBaseline:
    """Compare every system of a model with the baseline."""
    m, problem = model.declared - 1, model.problem
    if baseline in model.excluded or (baseline not in model.systems and problem is None):
        problem = "baseline diverged" if model.excluded.get(baseline) == "diverged" else "baseline unfinished"
    if problem is not None:
        return AgainstBaseline(model, baseline, alpha, problem, m, math.nan, math.nan, math.nan, None, {})
    spread = baseline_spread(model.scores, model.row(baseline)) if model.k > 2 else None
    error, nu = model.standard_error, float(model.nu)
    if spread is not None and spread.corrects:
        error, nu = math.sqrt(spread.variance), spread.nu
    critical, critical_equivalence = (dunnett_critical(m, nu, level) for level in (alpha, 2 * alpha))
    values = {name: model.difference(name, baseline) for name in model.systems if name != baseline}
    differences: dict[str, Difference] = {}
    largest = 0.0
    # Untested systems come last, so that the numbers of comparisons before them stay as declared.
    for step, name in enumerate(sorted(values, key=lambda name: -abs(values[name]))):
        value = values[name]
        t = value / error
        largest = max(largest, dunnett_sf(t, m - step, nu))
        differences[name] = Difference(
            value=value,
            standard_error=error,
            nu=nu,
            t=t,
            p=largest,
            p_single_step=dunnett_sf(t, m, nu),
            interval=around(value, critical * error),
            equivalence_interval=around(value, critical_equivalence * error),
        )
    return AgainstBaseline(
        model, baseline, alpha, None, m, error, nu, critical, spread, {name: differences[name] for name in values}
    )
