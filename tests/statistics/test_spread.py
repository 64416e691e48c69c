"""Tests of systems that vary more over the seeds than the others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from wordorder.comparison.verdicts import unstable
from wordorder.statistics.all_pairs import all_pairs, declared_pairs
from wordorder.statistics.blocked import Blocked
from wordorder.statistics.distributions import dunnett_sf, tukey_sf
from wordorder.statistics.dunnett import against_baseline
from wordorder.statistics.resampling import Array
from wordorder.statistics.spread import unstable_rows

# The known answers for a baseline that varies more, in the row of another system.
ROWS = np.array([[20.9, 21.2, 21.3], [18.6, 22.3, 20.3], [20.2, 20.7, 20.1], [21.6, 21.9, 22.3]])
VARIANCE, NU = 0.952222, 2.069940


def model(scores: Array) -> Blocked:
    k, n = scores.shape
    return Blocked(tuple(map(str, range(k))), tuple(range(n)), scores, k)


def test_differences_of_a_system_that_varies_more_use_its_own_variance() -> None:
    found = model(ROWS)
    assert list(found.unstable) == ["1"]
    assert (found.unstable["1"].f, found.unstable["1"].p) == pytest.approx((28.715909, 0.004240), abs=1e-6)
    tested = against_baseline(found, "0")
    own, other = tested.differences["1"], tested.differences["2"]
    assert (own.standard_error**2, own.nu) == pytest.approx((VARIANCE, NU), abs=1e-6)
    assert (other.standard_error, other.nu) == (tested.standard_error, tested.nu) == (found.standard_error, 6)
    assert own.p_single_step == pytest.approx(dunnett_sf(own.t, 3, NU), abs=1e-6)
    half = (own.interval[1] - own.interval[0]) / 2
    assert dunnett_sf(half / own.standard_error, 3, own.nu) == pytest.approx(0.05)


def test_all_pairs_and_declared_pairs_use_it_too() -> None:
    found = model(ROWS)
    pair, error = ("1", "2"), VARIANCE**0.5
    difference = abs(found.difference(*pair))
    assert all_pairs(found).differences[pair].p == pytest.approx(tukey_sf(2**0.5 * difference / error, 4, NU), abs=1e-6)
    declared = declared_pairs(found, [pair, ("2", "3")]).differences
    assert declared[pair].p == pytest.approx(2 * stats.t.sf(difference / error, NU), abs=1e-6)
    assert declared["2", "3"].standard_error == found.standard_error


def test_two_systems_that_vary_more_are_compared_by_their_paired_t_test() -> None:
    random = np.random.default_rng(2)
    scores = random.normal(size=(12, 5))
    scores[[3, 7]] *= 40
    found = model(scores)
    assert sorted(found.unstable) == ["3", "7"]
    tested = declared_pairs(found, [("3", "7")]).differences["3", "7"]
    theirs = stats.ttest_rel(scores[3], scores[7])
    assert (tested.t, tested.p) == (pytest.approx(theirs.statistic), pytest.approx(theirs.pvalue))


def test_a_baseline_that_varies_more_keeps_its_own_check() -> None:
    tested = against_baseline(model(ROWS), "1")
    assert tested.spread is not None
    assert tested.spread.corrects
    assert [each.nu for each in tested.differences.values()] == pytest.approx([NU] * 3, abs=1e-6)


def test_equal_systems_are_rarely_taken_to_vary_more_and_one_with_ten_times_the_spread_nearly_always() -> None:
    random = np.random.default_rng(3)
    equal = [random.normal(size=(8, 3)) for _ in range(600)]
    # A binomial with a probability of 5 % exceeds 7.7 % of 600 in one of a thousand cases.
    assert np.mean([bool(unstable_rows(scores)) for scores in equal]) < 0.077
    for scores in equal[:200]:
        scores[5] *= 10
    assert np.mean([5 in unstable_rows(scores) for scores in equal[:200]]) > 0.85


def test_false_findings_on_a_system_that_varies_more_become_rarer() -> None:
    random = np.random.default_rng(4)
    with_own = with_one = 0
    for _ in range(300):
        scores = random.normal(size=(10, 5))
        scores[1] *= 10
        found = model(scores)
        t, (error, nu) = found.difference("1", "0"), found.error("1", "0")
        with_own += dunnett_sf(t / error, 9, nu) < 0.05
        with_one += dunnett_sf(t / found.standard_error, 9, found.nu) < 0.05
    assert with_one / 300 > 0.15
    assert with_own / 300 < 0.04


@pytest.mark.parametrize("scores", [np.zeros((4, 3)), np.ones((5, 1)), np.zeros((0, 0)), np.ones((2, 3))])
def test_scores_without_variance_or_seeds_name_no_system(scores: Array) -> None:
    assert unstable_rows(scores) == {}


def test_identical_systems_beside_one_that_varies() -> None:
    scores = np.zeros((4, 3))
    scores[2] = 1, 2, 4
    assert list(unstable_rows(scores)) == [2]


def test_results_of_earlier_versions_have_no_such_check() -> None:
    assert unstable({}) == {}


def test_steps_follow_the_p_values_so_that_a_wide_system_does_not_hide_the_others() -> None:
    random = np.random.default_rng(5)
    scores = random.normal(scale=0.3, size=(8, 4))
    scores[1] += np.array([-20, -28, -30, -38])
    scores[2:5] += 8
    tested = against_baseline(model(scores), "0")
    wide, *others = (tested.differences[name] for name in "1234")
    assert list(tested.model.unstable) == ["1"]
    assert abs(wide.t) > max(abs(each.t) for each in others)
    assert all(each.p <= each.p_single_step < wide.p < 0.05 for each in others)
