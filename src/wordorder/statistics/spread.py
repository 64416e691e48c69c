"""The variance of scores over the seeds: of all systems together, and of one that varies more than the others.

The seed-blocked model (:mod:`wordorder.statistics.blocked`) takes the residual variance to be the same for all systems.
A system that varies much more would be tested against too small a variance. Its differences therefore use its own
variance and Satterthwaite's degrees of freedom, as Hasler and Hothorn (2008) do for multiple comparisons with unequal
variances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from wordorder.statistics.resampling import TIE, Array

SPREAD_LEVEL = 0.05
"""The level of the checks whether the seeds of a system, or of all systems, vary as the model assumes."""


@dataclass(frozen=True)
class OwnSpread:
    """The check whether one system varies more over the seeds than the others do.

    Attributes:
        f: Variance of the system's distance from the mean of the others, divided by the variance that the others
            predict.
        p: Its upper tail probability.
        variance: The variance of a difference between the mean of this system and that of another, without the
            assumption that this system varies as the others do.
        nu: The degrees of freedom of ``variance``.
    """

    f: float
    p: float
    variance: float
    nu: float

    @property
    def corrects(self) -> bool:
        """Whether the system varies more, so that ``variance`` and ``nu`` are used."""
        return self.p < SPREAD_LEVEL


def residual_variance(scores: Array) -> float:
    """Return the variance of scores, (k, n), around system plus seed effects; nan if k or n is below 2."""
    k, n = scores.shape
    if k < 2 or n < 2:
        return math.nan
    residual = scores - scores.mean(axis=1, keepdims=True) - scores.mean(axis=0) + scores.mean()
    return float((residual**2).sum() / ((k - 1) * (n - 1)))


def own_spread(scores: Array, row: int) -> OwnSpread:
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
    if math.sqrt(own + share) <= TIE:
        return OwnSpread(f=0.0, p=1.0, variance=0.0, nu=float(nu))
    ratio = own / (pooled * k / (k - 1)) if pooled else math.inf
    return OwnSpread(
        f=ratio,
        p=float(stats.f.sf(ratio, n - 1, nu)),
        variance=(own + share) / n,
        nu=(own + share) ** 2 / (own**2 / (n - 1) + share**2 / nu),
    )


def unstable_rows(scores: Array) -> dict[int, OwnSpread]:
    """Find the systems that vary more over the seeds than the others.

    The system with the smallest p-value is tested first, at the level divided by the number of systems. If it varies
    more, it is set aside, and the rest are tested in the same way, until none varies more or two are left.

    Args:
        scores: Scores of k systems, (k, n).

    Returns:
        The row of each of these systems, with its check against the systems that were not set aside.
    """
    stable = list(range(len(scores)))
    while len(stable) > 2 and scores.shape[1] > 1:
        p, row = min((own_spread(scores[stable], place).p, row) for place, row in enumerate(stable))
        if p * len(stable) >= SPREAD_LEVEL:
            break
        stable.remove(row)
    aside = [row for row in range(len(scores)) if row not in stable]
    return {row: own_spread(scores[[*stable, row]], len(stable)) for row in aside}
