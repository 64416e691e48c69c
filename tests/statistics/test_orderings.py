"""The permutation test of published orders."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from wordorder.statistics import orderings
from wordorder.statistics.orderings import Order, OrderOutcome, PairOutcome, order_outcomes, pair_outcome
from wordorder.statistics.orderings import permutation_test as order_test

NAN = float("nan")


def test_it_is_the_exact_test_of_kendalls_tau() -> None:
    published, ours = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), np.array([1.0, 3.0, 2.0, 4.0, 6.0, 5.0])
    found = order_test(published, ours)
    theirs = stats.kendalltau(published, ours, alternative="greater", method="exact")
    assert found.agreement == pytest.approx(theirs.statistic * 15)
    assert found.p_same == pytest.approx(theirs.pvalue)
    back = order_test(published, -ours)
    assert (back.agreement, back.p_reversed) == (-found.agreement, pytest.approx(found.p_same))


def test_many_systems_are_permuted_at_random(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(4)
    published, ours = np.arange(7.0), random.permutation(7) + 0.0
    exact = order_test(published, ours)
    monkeypatch.setattr(orderings, "EXACT", 5)
    drawn = order_test(published, ours)
    assert drawn.agreement == exact.agreement
    assert drawn.p_same != exact.p_same
    assert drawn.p_same == pytest.approx(exact.p_same, abs=0.02)
    perfect = order_test(published, published, samples=199)
    assert perfect.p_same <= 3 / 200, "the observed order counts as a permutation"
    assert perfect.p_same >= 1 / 200


def test_ties_and_missing_scores_count_nothing() -> None:
    found = order_test(np.array([1.0, 1.0, 2.0, NAN]), np.array([3.0, 1.0, 4.0, 2.0]))
    assert found.agreement == 2  # of the pairs with a published order both are in it
    assert order_test(np.array([1.0, 2.0, 3.0]), np.array([5.0, 5.0, 5.0])) == Order(
        3, 0, 1.0, 1.0, pytest.approx(1 / 6)
    )


def test_a_table_permutes_its_systems_in_all_columns_at_once() -> None:
    published = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 4.0, 3.0]])
    ours = np.array([[1.0, 3.0, 2.0, 4.0], [2.0, 1.0, 4.0, 3.0]])

    def agreement(order: tuple[int, ...]) -> int:
        total = 0
        for one, other in zip(published, ours[:, list(order)], strict=True):
            total += sum(
                int(np.sign(one[i] - one[j]) * np.sign(other[i] - other[j])) for i in range(4) for j in range(i)
            )
        return total

    found = order_test(published, ours)
    by_chance = [agreement(order) for order in permutations(range(4))]
    assert found.agreement == agreement((0, 1, 2, 3)) == 8
    assert found.p_same == pytest.approx(np.mean([each >= 8 for each in by_chance]))
    assert found.p_reversed == pytest.approx(np.mean([each <= 8 for each in by_chance]))


def test_an_unrelated_order_is_rarely_reproduced() -> None:
    random = np.random.default_rng(5)
    p_values = [order_test(np.arange(6.0), random.permutation(6)).p_same for _ in range(300)]
    assert np.mean([p <= 0.05 for p in p_values]) == pytest.approx(0.04, abs=0.03)


def test_outcomes_are_corrected_over_columns_in_each_direction() -> None:
    first, second = Order(6, 13, 0.02, 0.99, 1 / 720), Order(6, 11, 0.03, 0.98, 1 / 720)
    assert order_outcomes([first]) == [OrderOutcome.REPRODUCED]
    assert order_outcomes([first, second]) == [OrderOutcome.REPRODUCED, OrderOutcome.REPRODUCED]
    third = Order(6, 9, 0.2, 0.9, 1 / 720)
    assert order_outcomes([first, second, third]) == [OrderOutcome.NOT_SHOWN] * 3
    assert order_outcomes([Order(6, -13, 0.99, 0.02, 1 / 720)]) == [OrderOutcome.REVERSED]
    three = Order(3, 3, 1 / 6, 1.0, 1 / 6)
    assert order_outcomes([three]) == [OrderOutcome.TOO_FEW], "of six permutations none can have a p of 5 %"
    four = Order(4, 6, 1 / 24, 1.0, 1 / 24)
    assert order_outcomes([four]) == [OrderOutcome.REPRODUCED]
    assert order_outcomes([four, four]) == [OrderOutcome.TOO_FEW] * 2
    seven = Order(7, 21, 1 / 5040, 1.0, 1 / 5040)
    assert order_outcomes([four, seven]) == [OrderOutcome.REPRODUCED] * 2, "Holm's second p-value is not corrected"


def test_equal_published_scores_and_systems_of_one_column_leave_fewer_orders() -> None:
    ours = np.array([1.0, 2.0, 3.0, 4.0])
    equal = order_test(np.array([27.3, 27.3, 27.5, 28.0]), ours)
    assert (equal.agreement, equal.p_same, equal.least) == (5, pytest.approx(2 / 24), pytest.approx(2 / 24))
    assert order_outcomes([equal]) == [OrderOutcome.TOO_FEW]
    apart = order_test(np.array([[1.0, 2.0, NAN, NAN], [NAN, NAN, 1.0, 2.0]]), np.array([ours, ours]))
    assert apart.p_same == apart.least == 0.25 and order_outcomes([apart]) == [OrderOutcome.TOO_FEW]
    assert order_outcomes([order_test(ours, np.array([1.0, 3.0, 2.0, 4.0]))]) == [OrderOutcome.NOT_SHOWN]


def test_pairs() -> None:
    assert pair_outcome(0.02, same_order=True, columns=1) == PairOutcome.CONFIRMED
    assert pair_outcome(0.02, same_order=False, columns=1) == PairOutcome.CONTRADICTED
    assert pair_outcome(0.02, same_order=True, columns=3) == PairOutcome.NOT_TOLD_APART


def test_columns_that_lack_different_systems_agree_independently() -> None:
    published = np.array([[1.0, 2.0, 3.0, NAN, NAN, NAN], [NAN, NAN, NAN, 1.0, 2.0, 3.0]])
    assert order_test(published, published) == Order(6, 6, pytest.approx(1 / 36), 1.0, pytest.approx(1 / 36))
    ours = np.array([[1.0, 2.0, 3.0, 9.0, NAN, NAN], [NAN, 5.0, NAN, 1.0, 2.0, 3.0]])
    assert order_test(published, ours) == order_test(published, published), "systems of one side only change nothing"
