"""Tests of power and of levels of looks against simulations, and of their limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from wordorder.statistics.looks import obrien_fleming_levels
from wordorder.statistics.power import critical, detectable_of, power, seeds_needed, sigma_range
from wordorder.statistics.spread import residual_variance


@pytest.mark.parametrize(("procedure", "k", "n"), [("baseline", 4, 3), ("all pairs", 4, 3), ("baseline", 2, 4)])
def test_power_is_the_share_of_studies_that_find_a_difference(procedure: str, k: int, n: int) -> None:
    random = np.random.default_rng(k * n)
    trials, sigma, true = 4000, 0.3, 0.7
    threshold = critical(k, n, procedure=procedure)  # type: ignore[arg-type]
    found = 0
    for _ in range(trials):
        scores = random.normal(0, 1.0, n) + random.normal(0, sigma, (k, n))
        scores[1] += true
        error = (2 * residual_variance(scores) / n) ** 0.5
        found += abs(scores[1].mean() - scores[0].mean()) / error > threshold
    expected = power(true, sigma, k, n, procedure=procedure)  # type: ignore[arg-type]
    assert 0.2 < expected < 0.95
    assert found / trials == pytest.approx(expected, abs=0.03)


def test_power_at_its_ends() -> None:
    assert power(0.0, 0.3, 2, 5) == pytest.approx(0.05)
    assert power(0.0, 0.3, 10, 5) == pytest.approx(0.05 / 9, abs=0.003)
    assert power(50.0, 0.3, 10, 5) == pytest.approx(1.0)
    assert power(0.5, 0.3, 5, 3) == power(-0.5, 0.3, 5, 3)
    error, threshold = 0.3 * (2 / 3) ** 0.5, critical(5, 3)
    assert detectable_of(2 * error, 8, threshold) == pytest.approx(2 * detectable_of(error, 8, threshold))
    assert power(detectable_of(error, 8, threshold, target=0.5), 0.3, 5, 3) == pytest.approx(0.5)


def test_seeds_needed_is_the_least_number() -> None:
    for difference, k in ((0.1, 2), (0.3, 20), (2.0, 3), (30.0, 2)):
        n = seeds_needed(difference, 0.3, k)
        assert n is not None
        assert power(difference, 0.3, k, n) >= 0.8
        assert n == 2 or power(difference, 0.3, k, n - 1) < 0.8
    assert seeds_needed(0.001, 1.0, 5) is None
    assert [seeds_needed(difference, 0.3, 4) for difference in (1e5, 1e200)] == [2, 2]
    assert seeds_needed(0.042, 1.0, 2) == pytest.approx(8_900, abs=60)  # below 10,000, above the last power of 2


def test_the_range_of_sigma_covers_it() -> None:
    random, nu = np.random.default_rng(1), 6
    estimates = np.sqrt(random.chisquare(nu, 4000) / nu)
    covered = [low < 1 < high for low, high in (sigma_range(float(each), nu) for each in estimates[:1000])]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.025)


def test_levels_keep_the_error_of_all_looks() -> None:
    looks = [2, 4, 6, 10]
    steps = np.random.default_rng(3).normal(size=(200_000, 10)).cumsum(axis=1)
    z = np.abs(np.stack([steps[:, n - 1] / np.sqrt(n) for n in looks], axis=1))
    p = 2 * stats.norm.sf(z)
    assert (p < obrien_fleming_levels(looks)).any(axis=1).mean() == pytest.approx(0.05, abs=0.002)
    assert obrien_fleming_levels(looks) == sorted(obrien_fleming_levels(looks))
    assert obrien_fleming_levels([5]) == pytest.approx([0.05])
    for early in (200, 200_000):  # The level of the first look is smaller than any number.
        first, last = obrien_fleming_levels([2, early])
        assert first < 1e-80 and last == pytest.approx(0.05)
    assert obrien_fleming_levels([5], alpha=0.01) == pytest.approx([0.01])
