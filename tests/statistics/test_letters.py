from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from wordorder.statistics.all_pairs import all_pairs
from wordorder.statistics.blocked import block
from wordorder.statistics.letters import letter_display, score_groups

NAMES = ["a", "b", "c", "d", "e", "f"]
PAIRS = list(combinations(NAMES, 2))


@given(st.sets(st.sampled_from(PAIRS)), st.permutations(NAMES))
def test_two_systems_share_a_letter_if_and_only_if_they_do_not_differ_significantly(
    different: set[tuple[str, str]], ranked: list[str]
) -> None:
    letters = letter_display(ranked, sorted(different))
    for one, other in PAIRS:
        assert bool(set(letters[one]) & set(letters[other])) == ((one, other) not in different)
    groups = {letter: {name for name in NAMES if letter in letters[name]} for letter in set("".join(letters.values()))}
    assert not any(one < other for one in groups.values() for other in groups.values()), "a letter says nothing new"
    assert "a" in letters[ranked[0]]


def test_letters_of_a_manual_example() -> None:
    assert letter_display(["x", "y", "z"], []) == {"x": "a", "y": "a", "z": "a"}
    assert letter_display(["x", "y", "z"], [("x", "z")]) == {"x": "a", "y": "ab", "z": "b"}
    assert letter_display(["x", "y", "z"], [("y", "x"), ("z", "x")]) == {"x": "a", "y": "b", "z": "b"}
    assert letter_display([], []) == {}


SCORES = {
    "low": {1: 30.0, 2: 30.4, 3: 29.6, 4: 30.4},
    "high": {1: 31.4, 2: 31.2, 3: 31.6, 4: 31.8},
    "between": {1: 31.1, 2: 30.7, 3: 30.3, 4: 31.1},
    "one seed": {1: 20.0},
}


def test_groups_are_those_of_the_test_of_all_pairs() -> None:
    p = {pair: found.p for pair, found in all_pairs(block(SCORES)).differences.items()}
    assert list(p) == [("low", "high"), ("low", "between"), ("high", "between")], "of one seed nothing can be tested"
    assert p["low", "high"] < 0.05 < min(p["low", "between"], p["high", "between"])
    assert score_groups(block(SCORES), alpha=0.05) == {"high": "a", "between": "ab", "low": "b"}
    assert score_groups(block(SCORES), alpha=0.05, lower_is_better=True) == {"low": "a", "between": "ab", "high": "b"}
    known = block({name: SCORES[name] for name in ("low", "high", "between")})
    t = known.difference("between", "low") / known.standard_error
    assert 2 * stats.t.sf(t, known.nu) < 0.05, "without a correction for the number of pairs it would be told apart"
    without = score_groups(block(SCORES, diverged=["high"]), alpha=0.05)
    assert without == {"low": "a", "between": "a"}, "a diverged system has no letter"
    assert score_groups(block({"low": SCORES["low"], "one seed": {1: 20.0}}), alpha=0.05) == {}


def test_scores_that_do_not_vary_have_no_letters() -> None:
    assert score_groups(block({"one": {1: 20.0, 2: 20.0}, "other": {1: 25.0, 2: 25.0}}), alpha=0.05) == {}


def test_systems_that_were_not_run_count_among_those_that_are_compared() -> None:
    level = {"one": {1: 20.0, 2: 20.2, 3: 20.1}, "other": {1: 20.5, 2: 20.6, 3: 20.8}}
    p = [all_pairs(block(scores)).differences["one", "other"].p for scores in (level, level | {"not run": {}})]
    assert p[0] < p[1]
    assert score_groups(block(level), alpha=p[1]) == {"other": "a", "one": "b"}
    assert score_groups(block(level | {"not run": {}}), alpha=p[1]) == {"one": "a", "other": "a"}
