"""How large a difference a study would have found, and how many seeds decide one.

Everything is for one true difference in a family of k systems with n seeds each, given the standard deviation sigma of
the residual of the seed-blocked model.
"""

from __future__ import annotations

import math
from typing import Literal

from scipy import integrate, optimize, special, stats

from wordorder.statistics.distributions import dunnett_critical, tukey_critical

Procedure = Literal["baseline", "all pairs"]
TARGET = 0.8
_MOST_SEEDS = 10_000
_NORMAL = 9.0  # standard deviations, beyond which there is no probability to speak of


def critical(k: int, n: int, *, alpha: float = 0.05, procedure: Procedure = "baseline") -> float:
    """Return the |t| from which a comparison of ``k`` systems with ``n`` seeds is significant."""
    nu = (k - 1) * (n - 1)
    if procedure == "baseline":
        return dunnett_critical(k - 1, nu, alpha)
    return tukey_critical(k, nu, alpha) / math.sqrt(2)


def power(
    difference: float, sigma: float, k: int, n: int, *, alpha: float = 0.05, procedure: Procedure = "baseline"
) -> float:
    """Return the probability of finding a true difference."""
    shift = abs(difference) / (sigma * math.sqrt(2 / n))
    nu, c = (k - 1) * (n - 1), critical(k, n, alpha=alpha, procedure=procedure)

    def density(z: float) -> float:
        # |z| is significant if the estimated standard deviation is below |z| / c. scipy's nct gives nan in some tails.
        found = special.gammainc(nu / 2, nu * (z / c) ** 2 / 2)
        return float(found * (math.exp(-((z - shift) ** 2) / 2) + math.exp(-((z + shift) ** 2) / 2)))

    low, high = max(0.0, shift - _NORMAL), shift + _NORMAL
    area, _ = integrate.quad(density, low, high, points=[c] if low < c < high else None, limit=200, epsabs=1e-11)
    return float(area / math.sqrt(2 * math.pi))


def detectable_difference(
    sigma: float, k: int, n: int, *, target: float = TARGET, alpha: float = 0.05, procedure: Procedure = "baseline"
) -> float:
    """Return the true difference that is found with probability ``target``."""
    above = sigma
    while power(above, sigma, k, n, alpha=alpha, procedure=procedure) < target:
        above *= 2

    def lack(difference: float) -> float:
        return power(difference, sigma, k, n, alpha=alpha, procedure=procedure) - target

    return float(optimize.brentq(lack, 0.0, above, xtol=1e-12 * sigma))


def sigma_range(sigma: float, nu: float, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return the interval for the true standard deviation, of which an estimate has ``nu`` degrees of freedom.

    A detectable difference is proportional to sigma, so that its interval has the same factors.
    """
    tail = (1 - confidence) / 2
    low, high = (math.sqrt(nu / stats.chi2.ppf(probability, nu)) for probability in (1 - tail, tail))
    return sigma * low, sigma * high


def seeds_needed(
    difference: float,
    sigma: float,
    k: int,
    *,
    target: float = TARGET,
    alpha: float = 0.05,
    procedure: Procedure = "baseline",
) -> int | None:
    """Return the least number of seeds that find a true difference with probability ``target``; None above 10,000."""

    def enough(n: int) -> bool:
        return power(difference, sigma, k, n, alpha=alpha, procedure=procedure) >= target

    low, high = 1, 2
    while not enough(high):
        low, high = high, 2 * high
        if high > _MOST_SEEDS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
