from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from wordorder.statistics.all_pairs import tukey_test
from wordorder.statistics.effect import agreement
from wordorder.statistics.letters import letter_display, score_groups

NAMES = ["a", "b", "c", "d", "e", "f"]
PAIRS = list(combinations(NAMES, 2))


@given(st.sets(st.sampled_from(PAIRS)), st.permutations(NAMES))
def test_two_systems_share_a_letter_if_and_only_if_they_were_not_told_apart(
    different: set[tuple[str, str]], ranked: list[str]
) -> None:
    letters = letter_display(ranked, sorted(different))
    for one, other in PAIRS:
        assert bool(set(letters[one]) & set(letters[other])) == ((one, other) not in different)
    groups = {letter: {name for name in NAMES if letter in letters[name]} for letter in set("".join(letters.values()))}
    assert not any(one < other for one in groups.values() for other in groups.values()), "a letter says nothing new"
    assert "a" in letters[ranked[0]]


def test_letters_by_hand() -> None:
    assert letter_display(["x", "y", "z"], []) == {"x": "a", "y": "a", "z": "a"}
    assert letter_display(["x", "y", "z"], [("x", "z")]) == {"x": "a", "y": "ab", "z": "b"}
    assert letter_display(["x", "y", "z"], [("y", "x"), ("z", "x")]) == {"x": "a", "y": "b", "z": "b"}
    assert letter_display([], []) == {}


SCORES = {
    "low": {1: 30.0, 2: 30.4, 3: 29.6, 4: 30.4},
    "high": {1: 31.4, 2: 31.8, 3: 31.0, 4: 31.8},
    "between": {1: 30.7, 2: 31.1, 3: 30.3, 4: 31.1},
    "one seed": {1: 20.0},
}


def test_groups_are_those_of_the_test_of_all_pairs() -> None:
    p = tukey_test(SCORES)
    assert list(p) == [("low", "high"), ("low", "between"), ("high", "between")], "of one seed nothing can be tested"
    assert p["low", "high"] < 0.05 < min(p["low", "between"], p["high", "between"])
    assert score_groups(SCORES, alpha=0.05) == {"high": "a", "between": "ab", "low": "b"}
    assert score_groups(SCORES, alpha=0.05, lower_is_better=True) == {"low": "a", "between": "ab", "high": "b"}
    # Without a correction for the number of pairs this one would be told apart, too.
    assert stats.ttest_ind(list(SCORES["low"].values()), list(SCORES["between"].values())).pvalue < 0.05
    assert score_groups({"low": SCORES["low"], "one seed": {1: 20.0}}, alpha=0.05) == {}


# Differences at which the paper's Table 2 (as its authors publish it, appendix/main_thresholds.tex of MT-Thresholds)
# expects people to agree in 55, 60, 65, … per cent.
PRINTED = {
    "bleu": [0.52, 0.78, 1.06, 1.39, 1.79, 2.34, 3.35],
    "chrf": [0.33, 0.54, 0.76, 1.00, 1.28, 1.63, 2.12, 3.05],
    "comet": [0.10, 0.18, 0.26, 0.35, 0.45, 0.56, 0.71, 0.94, 1.53],
}


@pytest.mark.parametrize("metric", list(PRINTED))
def test_agreement_is_what_the_paper_prints(metric: str) -> None:
    for step, difference in enumerate(PRINTED[metric]):
        scale = 100 if metric == "comet" else 1
        low, high = (
            agreement(metric, (difference + rounding) / scale, "Unbabel/wmt22-comet-da") for rounding in (-0.005, 0.005)
        )
        assert low is not None and high is not None
        assert low - 1e-9 <= 0.55 + 0.05 * step <= high + 1e-9
    assert agreement(metric, -PRINTED[metric][2] / scale, "wmt22-comet-da") == pytest.approx(0.65, abs=0.002)


def test_agreement_knows_its_limits() -> None:
    assert agreement("bleu", 0.0) == agreement("bleu", 0.2) == 0.5
    assert agreement("bleu", 99.0) == pytest.approx(0.8833, abs=1e-4)
    for metric in ("chrf++", "ter", "bleu_legacy"):
        assert agreement(metric, 1.0) is None
    assert agreement("comet", 0.01, "Unbabel/wmt20-comet-da") is None
