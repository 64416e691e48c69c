"""Power: the difference that a study can find, and the number of seeds that decides one.

All functions consider one true difference in a family of k systems with n seeds each, given the residual standard
deviation sigma of the seed-blocked model.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Literal

from scipy import integrate, optimize, special, stats

from wordorder.statistics.distributions import dunnett_critical, tukey_critical

Procedure = Literal["baseline", "all pairs", "declared pairs"]
TARGET = 0.8
_MOST_SEEDS = 10_000
_CONFIDENCE = 0.95
_CERTAIN = 1e6  # times the critical value; the power of such a difference is 1
_NORMAL = 9.0  # standard deviations; the probability beyond is negligible


def critical(
    k: int,
    n: int,
    *,
    alpha: float = 0.05,
    procedure: Procedure = "baseline",
    m: int | None = None,
    nu: float | None = None,
) -> float:
    """Compute the |t| from which a comparison of ``k`` systems with ``n`` seeds is significant.

    Args:
        k: The number of systems.
        n: The number of seeds.
        alpha: The level.
        procedure: The test.
        m: The declared number of comparisons, for all tests except that of all pairs; by default k - 1.
        nu: The degrees of freedom; by default (k - 1)(n - 1).

    Returns:
        The critical |t|.
    """
    nu = (k - 1) * (n - 1) if nu is None else nu
    if procedure == "all pairs":
        return tukey_critical(k, nu, alpha) / math.sqrt(2)
    comparisons = k - 1 if m is None else m
    if procedure == "baseline":
        return dunnett_critical(comparisons, nu, alpha)
    return float(stats.t.isf(alpha / 2 / comparisons, nu))


def power_of(difference: float, standard_error: float, nu: float, critical: float) -> float:
    """Return the probability that |t| exceeds ``critical`` for a true difference with this true standard error.

    The test estimates the standard error with ``nu`` degrees of freedom.
    """
    shift = abs(difference) / standard_error
    if shift > _CERTAIN * max(1.0, critical):
        return 1.0

    def density(z: float) -> float:
        # |z| is significant if the estimated standard deviation is below |z| / c. scipy's nct gives nan in some tails.
        found = special.gammainc(nu / 2, nu * (z / critical) ** 2 / 2)
        return float(found * (math.exp(-((z - shift) ** 2) / 2) + math.exp(-((z + shift) ** 2) / 2)))

    low, high = max(0.0, shift - _NORMAL), shift + _NORMAL
    area, _ = integrate.quad(
        density, low, high, points=[critical] if low < critical < high else None, limit=200, epsabs=1e-11
    )
    return float(area / math.sqrt(2 * math.pi))


def detectable_of(standard_error: float, nu: float, critical: float, *, target: float = TARGET) -> float:
    """Return the true difference for which :func:`power_of` is ``target``."""
    above = standard_error
    while power_of(above, standard_error, nu, critical) < target:
        above *= 2

    def lack(difference: float) -> float:
        return power_of(difference, standard_error, nu, critical) - target

    return float(optimize.brentq(lack, 0.0, above, xtol=1e-12 * standard_error))


def power(
    difference: float,
    sigma: float,
    k: int,
    n: int,
    *,
    alpha: float = 0.05,
    procedure: Procedure = "baseline",
    m: int | None = None,
    freedom: float | None = None,
) -> float:
    """Return the probability of finding a true difference.

    The options are those of :func:`critical`; ``freedom`` is the degrees of freedom per seed beyond the first, by
    default k - 1.
    """
    nu = (k - 1 if freedom is None else freedom) * (n - 1)
    c = critical(k, n, alpha=alpha, procedure=procedure, m=m, nu=nu)
    return power_of(difference, sigma * math.sqrt(2 / n), nu, c)


def sigma_range(sigma: float, nu: float) -> tuple[float, float]:
    """Compute the 95 % interval of the true standard deviation from an estimate with ``nu`` degrees of freedom.

    A detectable difference is proportional to sigma, so that its interval has the same factors.
    """
    tail = (1 - _CONFIDENCE) / 2
    low, high = (math.sqrt(nu / stats.chi2.ppf(probability, nu)) for probability in (1 - tail, tail))
    return sigma * low, sigma * high


def seeds_needed(
    difference: float,
    sigma: float,
    k: int,
    *,
    alpha: float = 0.05,
    procedure: Procedure = "baseline",
    m: int | None = None,
    freedom: float | None = None,
) -> int | None:
    """Compute the smallest number of seeds that finds a difference with 80 % probability; None above 10,000.

    The options are those of :func:`power`.
    """

    def enough(n: int) -> bool:
        return power(difference, sigma, k, n, alpha=alpha, procedure=procedure, m=m, freedom=freedom) >= TARGET

    low, high = 1, 2
    while not enough(high):
        if high == _MOST_SEEDS:
            return None
        low, high = high, min(2 * high, _MOST_SEEDS)
    return bisect_left(range(high), True, low + 1, key=enough)
