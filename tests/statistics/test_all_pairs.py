"""Tukey's test of all pairs over seeds."""

from __future__ import annotations

import random
from statistics import variance

import pytest

from wordorder.statistics.all_pairs import tukey_test
from wordorder.statistics.letters import score_groups


def by_seed(*values: float) -> dict[int, float]:
    return dict(enumerate(values, start=1))


# Upper 5 % points of the studentized range as textbooks print them: (systems, seeds, q).
PRINTED = [(3, 4, 3.949), (5, 2, 5.673), (10, 3, 5.008), (2, 6, 3.151)]


@pytest.mark.parametrize(("systems", "seeds", "q"), PRINTED)
def test_the_largest_difference_is_found_where_the_tables_say(systems: int, seeds: int, q: float) -> None:
    base = [float(seed % 2) for seed in range(seeds)]
    for factor, found in ((0.99, False), (1.01, True)):
        step = factor * q * (variance(base) / seeds) ** 0.5
        scores = {"best": by_seed(*(value + step for value in base))}
        scores |= {f"other {number}": by_seed(*base) for number in range(systems - 1)}
        assert (tukey_test(scores)["best", "other 0"] < 0.05) == found


def test_systems_that_are_equal_are_told_apart_as_often_as_it_says() -> None:
    draw = random.Random(3)
    trials = 200
    wrong = 0
    for _ in range(trials):
        scores = {name: by_seed(draw.gauss(20, 0.5), draw.gauss(20, 0.5)) for name in ("a", "b", "c")}
        wrong += min(tukey_test(scores).values()) < 0.05
    assert abs(wrong / trials - 0.05) < 3 * (0.05 * 0.95 / trials) ** 0.5


def test_two_seeds_of_many_systems_are_enough_for_what_is_plain() -> None:
    level = {"a": by_seed(36.2, 35.8), "b": by_seed(35.5, 36.3), "c": by_seed(36.1, 36.0), "d": by_seed(35.6, 36.2)}
    assert score_groups({"none": by_seed(28.0, 28.5), **level}, alpha=0.05) == dict.fromkeys("abcd", "a") | {
        "none": "b"
    }


def test_what_cannot_be_tested_is_in_no_pair() -> None:
    assert tukey_test({}) == tukey_test({"a": by_seed(1, 2)}) == tukey_test({"a": by_seed(1, 2), "b": by_seed(3)}) == {}
    assert tukey_test({"a": by_seed(1, 1), "b": by_seed(3, 3)}) == {}, "no spread"
    assert list(tukey_test({"a": by_seed(1, 2), "b": by_seed(3), "c": by_seed(2, 2, 3)})) == [("a", "c")]
