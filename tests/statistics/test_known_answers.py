"""Tests of the procedures of seed-blocked verdicts on small examples with answers to six digits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wordorder.statistics.all_pairs import all_pairs
from wordorder.statistics.blocked import Blocked, block
from wordorder.statistics.distributions import dunnett_critical
from wordorder.statistics.dunnett import against_baseline
from wordorder.statistics.looks import obrien_fleming_levels
from wordorder.statistics.orderings import permutation_test
from wordorder.statistics.power import critical, detectable_of, power, seeds_needed, sigma_range
from wordorder.statistics.seeds_and_sentences import SentenceVariance, seeds_and_sentences, sentence_variance
from wordorder.statistics.verdicts import Outcome, verdict

ROWS = ((20.0, 20.6, 20.3), (20.9, 21.2, 21.3), (20.2, 20.7, 20.1), (21.6, 21.9, 22.3))


def six(*values: float) -> object:
    return pytest.approx(values, abs=1e-6)


def model(*rows: tuple[float, ...]) -> Blocked:
    return block({str(row): dict(enumerate(scores)) for row, scores in enumerate(rows)})


def test_the_residual_of_shared_seeds() -> None:
    found = model(*ROWS)
    assert (found.mse, found.nu, found.standard_error) == six(0.0541667, 6, 0.190029)
    assert tuple(found.difference(system, "0") for system in "123") == six(0.833333, 0.033333, 1.633333)


@pytest.mark.parametrize(
    ("m", "nu", "critical"),
    [
        (2, 2, 5.417853),
        (2, 10, 2.568339),
        (5, 10, 2.990290),
        (9, 18, 2.977445),
        (19, 19, 3.215753),
        (9, math.inf, 2.686223),
        (3, 6, 3.099293),
    ],
)
def test_critical_values_of_dunnett(m: int, nu: float, critical: float) -> None:
    assert (dunnett_critical(m, nu, 0.05),) == six(critical)


def test_comparisons_with_a_baseline() -> None:
    found = against_baseline(model(*ROWS), "0")
    one, two, three = (found.differences[system] for system in "123")
    assert (one.t, two.t, three.t) == six(4.385290, 0.175412, 8.595169)
    assert (one.p_single_step, two.p_single_step, three.p_single_step) == six(0.011357, 0.995806, 0.000343)
    assert (one.p, two.p, three.p) == six(0.008291, 0.866526, 0.000343)
    assert one.interval == six(0.244377, 1.422290)
    assert two.equivalence_interval == six(-0.451356, 0.518023)
    assert (dunnett_critical(3, 6, 0.10),) == six(2.550605)
    outcomes = [verdict(each, margin=0.5).outcome for each in (one, two, three)]
    assert outcomes == [Outcome.BETTER, Outcome.UNDECIDED, Outcome.BETTER]


def test_the_spread_of_the_baseline() -> None:
    spread = against_baseline(model(*ROWS), "0").spread
    assert spread is not None
    assert not spread.corrects
    assert (spread.f, spread.p) == six(0.215909, 0.814622)
    wide = against_baseline(model((18.6, 22.3, 20.3), *ROWS[1:]), "0")
    assert wide.spread is not None
    assert wide.spread.corrects
    assert (wide.spread.f, wide.spread.p) == six(28.715909, 0.004240)
    assert (wide.spread.variance, wide.spread.nu) == six(0.952222, 2.069940)
    assert (wide.standard_error**2, wide.nu) == six(0.952222, 2.069940)


def test_comparisons_of_all_pairs() -> None:
    found = all_pairs(model(*ROWS))
    assert (found.critical * math.sqrt(2), found.critical * found.standard_error) == six(4.895599, 0.657826)
    assert (found.differences["0", "1"].p, found.differences["2", "3"].p) == six(0.018093, 0.000635)


def test_the_variance_over_sentences() -> None:
    found = sentence_variance(np.array([[0.9, 1.3, 0.4, 1.6], [0.5, 1.2, 0.8, 0.7], [1.1, 1.5, 0.2, 1.2]]))
    assert (found.common, found.of_mean) == six(0.108889, 0.147037)


def test_intervals_over_seeds_and_sentences() -> None:
    def of(mse: float, n: int, nu: float, common: float, of_mean: float) -> tuple[float, float, float]:
        found = seeds_and_sentences(0.0, 2 * mse / n, nu, SentenceVariance(common, of_mean, 1000))
        return found.variance, found.nu, found.half_width

    assert of(0.09, 3, 18, 0.02, 0.05) == six(0.08, 31.604548, 0.576415)
    assert of(0.01, 3, 18, 0.02, 0.05)[:2] == six(0.05, 502.852349)
    assert of(0.25, 2, 1, 0.01, 0.01) == six(0.26, 1.081598, 6.353102)


# Systems -> seeds -> the difference that is found with a probability of 80 %, over sigma: Dunnett, Tukey.
DETECTABLE = {
    2: {2: (16.33, 16.33), 3: (4.62, 4.62), 5: (2.38, 2.38), 8: (1.63, 1.63)},
    3: {2: (7.03, 7.62), 3: (3.57, 3.81), 5: (2.27, 2.40), 8: (1.67, 1.75)},
    10: {2: (4.28, 5.10), 3: (3.16, 3.69), 5: (2.34, 2.69), 8: (1.81, 2.07)},
    20: {2: (4.12, 5.02), 3: (3.20, 3.83), 5: (2.42, 2.87), 8: (1.89, 2.24)},
}


@pytest.mark.parametrize("systems", DETECTABLE)
def test_detectable_differences(systems: int) -> None:
    for seeds, expected in DETECTABLE[systems].items():
        error, nu = math.sqrt(2 / seeds), (systems - 1) * (seeds - 1)
        thresholds = (critical(systems, seeds, procedure=name) for name in ("baseline", "all pairs"))
        found = [detectable_of(error, nu, threshold) for threshold in thresholds]
        assert found == pytest.approx(expected, abs=0.0051)


def test_power_and_seeds() -> None:
    assert (power(0.5, 0.3, 10, 3), power(0.5, 0.3, 10, 10)) == six(0.211253, 0.832967)
    found = detectable_of(0.3 * math.sqrt(2 / 3), 18, critical(10, 3))
    assert (found, *(found * sigma / 0.3 for sigma in sigma_range(0.3, 18))) == six(0.948891, 0.716994, 1.403244)
    assert seeds_needed(0.5, 0.3, 10) == 10


@pytest.mark.parametrize(
    ("looks", "spending"),
    [
        ((3, 5), (0.007616, 0.047595)),
        ((2, 5), (0.000788, 0.049731)),
        ((2, 3, 5), (0.000788, 0.007356, 0.047548)),
    ],
)
def test_levels_of_looks(looks: tuple[int, ...], spending: tuple[float, ...]) -> None:
    assert tuple(obrien_fleming_levels(looks)) == six(*spending)


def test_a_published_order() -> None:
    found = permutation_test(np.array([27.3, 27.5, 27.9, 28.1, 28.6]), np.array([17.0, 17.4, 17.2, 18.1, 18.3]))
    assert (found.agreement, found.p_same) == (8, pytest.approx(5 / 120))
