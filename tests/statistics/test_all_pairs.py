"""Tests of pairs of systems on the seed-blocked model."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
import pytest
from scipy import stats

from wordorder.statistics.all_pairs import Pair, all_pairs, declared_pairs
from wordorder.statistics.blocked import block
from wordorder.statistics.distributions import dunnett_sf, tukey_sf
from wordorder.statistics.dunnett import against_baseline
from wordorder.statistics.letters import score_groups
from wordorder.statistics.over_seeds import holm


def by_seed(*values: float) -> dict[int, float]:
    return dict(enumerate(values, start=1))


def p_values(scores: Mapping[str, Mapping[int, float]]) -> dict[Pair, float]:
    """Return the adjusted p-value of each pair of systems."""
    return {pair: found.p for pair, found in all_pairs(block(scores)).differences.items()}


def test_the_quadrature_agrees_with_scipy() -> None:
    for k, nu in ((3, 2), (3, 8), (10, 9), (20, 38), (5, np.inf)):
        for q in (0.5, 3.0, 6.0, 12.0):
            assert tukey_sf(q, k, nu) == pytest.approx(stats.studentized_range.sf(q, k, nu), abs=1e-9)
            assert dunnett_sf(q, 1, nu) == pytest.approx(2 * stats.t.sf(q, nu))
    for nu in (1.0, 2.07, 3.0):  # the extreme values of early looks with few seeds
        for t in (10.0, 3000.0):
            many = dunnett_sf(t, 2, nu)
            single = dunnett_sf(t, 1, nu)
            assert single < many < 2 * single


@pytest.mark.parametrize("k", [2, 3, 10])
def test_no_statistic_has_no_p_value(k: int) -> None:
    assert np.isnan(tukey_sf(float("nan"), k, 8)) and np.isnan(dunnett_sf(float("nan"), k - 1, 8))


@pytest.mark.parametrize(("systems", "seeds"), [(3, 4), (5, 2), (10, 3)])
def test_a_pair_is_tested_as_scipy_tests_it_once_the_seeds_are_equally_hard(systems: int, seeds: int) -> None:
    random = np.random.default_rng(systems)
    scores = random.normal(size=(systems, seeds))
    scores -= scores.mean(axis=0)
    hard = random.normal(0, 10, seeds)
    found = p_values({str(i): dict(enumerate(row + hard)) for i, row in enumerate(scores)})
    assert len(found) == systems * (systems - 1) / 2
    error = np.sqrt(((scores - scores.mean(axis=1, keepdims=True)) ** 2).sum() / (systems - 1) / (seeds - 1) / seeds)
    for (one, other), p in found.items():
        q = abs(scores[int(one)].mean() - scores[int(other)].mean()) / error
        assert p == pytest.approx(stats.studentized_range.sf(q, systems, (systems - 1) * (seeds - 1)), abs=1e-9)


def test_two_systems_are_compared_by_the_paired_t_test() -> None:
    one, other = [20.0, 20.6, 20.3, 21.0], [20.9, 21.2, 21.3, 21.1]
    p = p_values({"one": by_seed(*one), "other": by_seed(*other)})
    assert p == {("one", "other"): pytest.approx(stats.ttest_rel(one, other).pvalue)}


def test_twenty_systems_take_well_under_a_second() -> None:
    scores = np.random.default_rng(1).normal(size=(20, 3))
    begin = time.process_time()
    found = all_pairs(block({str(i): dict(enumerate(row)) for i, row in enumerate(scores)}))
    against_baseline(found.model, "0")
    assert len(found.differences) == 190
    assert time.process_time() - begin < 1.5  # 0.3 s on an idle core


def test_declared_pairs_are_corrected_by_holm() -> None:
    scores = {"a": by_seed(20, 20.6, 20.3), "b": by_seed(20.9, 21.2, 21.3), "c": by_seed(20.2, 20.7, 20.1)}
    model = block(scores)
    found = declared_pairs(model, [("b", "a"), ("b", "c"), ("a", "lost")])
    single = [float(2 * stats.t.sf(abs(model.difference("b", of)) / model.standard_error, model.nu)) for of in "ac"]
    assert [each.p for each in found.differences.values()] == pytest.approx(
        [holm([*single, None])[0], holm([*single, None])[1]]
    )
    first = found.differences["b", "a"]
    assert first.value > 0
    assert first.p_single_step == pytest.approx(3 * single[0])
    width = stats.t.isf(0.025 / 3, model.nu) * model.standard_error
    assert first.interval == pytest.approx((first.value - width, first.value + width))


def test_two_seeds_of_many_systems_are_enough_for_what_is_plain() -> None:
    level = {"a": by_seed(36.2, 35.8), "b": by_seed(35.5, 36.3), "c": by_seed(36.1, 36.0), "d": by_seed(35.6, 36.2)}
    letters = score_groups(block({"none": by_seed(28.0, 28.5), **level}), alpha=0.05)
    assert letters == dict.fromkeys("abcd", "a") | {"none": "b"}


def test_what_cannot_be_tested_is_in_no_pair() -> None:
    assert p_values({}) == p_values({"a": by_seed(1, 2)}) == p_values({"a": by_seed(1, 2), "b": by_seed(3)}) == {}
    assert p_values({"a": by_seed(1, 1), "b": by_seed(3, 3)}) == {}, "no variance"
    assert list(p_values({"a": by_seed(1, 2), "b": by_seed(3), "c": by_seed(2, 2, 3)})) == [("a", "c")]
