"""Tests of the evidence for claims: pairs over seeds, slopes and gains."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from scipy import stats

from wordorder.published.evidence import (
    Evidence,
    Family,
    Found,
    gain_evidence,
    seeds_to_decide,
    slope_evidence,
    together,
)

CLEAR = {"good": [30.0, 30.3, 30.1, 30.2], "bad": [20.0, 20.2, 20.3, 20.0], "same": [30.1, 30.1, 30.2, 30.2]}


def family(one: str, other: str, **more: Any) -> Family:
    values = {name: dict(enumerate(scores, start=1)) for name, scores in CLEAR.items()}
    return Family("here", values, [(one, other)], {}, **more)


def only(evidence: list[Evidence]) -> Evidence:
    (found,) = evidence
    return found


@pytest.mark.parametrize(
    ("tested", "found"),
    [
        (family("good", "bad"), Found.CONFIRMED),
        (family("bad", "good"), Found.CONTRADICTED),
        (family("bad", "good", lower_is_better=True), Found.CONFIRMED),
        (family("good", "same", margin=1.0), Found.EQUIVALENT),
        (family("good", "same", margin=1e-6), Found.UNDECIDED),
        (family("good", "same", margin=1.0, relation="not worse"), Found.CONFIRMED),
        (family("bad", "good", margin=1.0, relation="not worse"), Found.CONTRADICTED),
        (family("good", "absent"), Found.NOT_RUN),
        (family("good", "bad", relation="better in every seed"), Found.CONFIRMED),
        (family("good", "same", relation="better in every seed"), Found.CONTRADICTED),
        (family("bad", "good", relation="better in every seed", lower_is_better=True), Found.CONFIRMED),
    ],
)
def test_an_ordered_pair_is_decided_over_seeds(tested: Family, found: Found) -> None:
    assert only(tested.evidence(0.05)).found is found


def test_a_claim_about_every_seed_is_undecided_while_a_seed_is_missing() -> None:
    def decided(one: dict[int, float], *seeds: int) -> Evidence:
        values = {"one": one, "other": {1: 20.0, 2: 20.0, 3: 20.0}}
        return only(
            Family("", values, [("one", "other")], {}, relation="better in every seed", seeds=seeds).evidence(1)
        )

    few = decided({1: 21.0, 2: 22.0})
    assert (few.found, few.needed) == (Found.UNDECIDED, 3)
    assert few.note == "better in 2 of 2 seeds; the number is the least difference; without seed 3"
    none_has_them = decided({1: 21.0, 2: 22.0, 3: 23.0}, 1, 2, 3, 4, 5)
    assert none_has_them.found is Found.UNDECIDED and none_has_them.note.endswith("; without seeds 4 and 5")
    assert decided({1: 21.0, 2: 19.0}).found is Found.CONTRADICTED
    assert decided({1: 21.0, 2: 22.0, 3: 23.0}, 1, 2, 3).found is Found.CONFIRMED


def test_the_seeds_that_would_decide_are_those_of_the_published_difference() -> None:
    values = {"one": {1: 20.0, 2: 21.0}, "other": {1: 20.2, 2: 20.6}}
    pair = ("one", "other")
    few = only(Family("here", values, [pair], {pair: 2.0}).evidence(0.05))
    many = only(Family("here", values, [pair], {pair: 0.5}).evidence(0.05))
    unknown = only(Family("here", values, [pair], {}).evidence(0.05))
    assert few.needed and many.needed and 2 < few.needed < many.needed
    assert unknown.found is Found.UNDECIDED and unknown.needed  # for a difference as large as ours
    assert seeds_to_decide([few, many]) == f"{many.needed:,}"
    assert seeds_to_decide([few, replace(many, needed=None)]) == "more than 1,000"
    assert seeds_to_decide([replace(few, needed=None, units=1)]) == "at least 2"
    assert seeds_to_decide([Evidence(Found.NOT_RUN, "", "")]) == "a first run"


def test_a_system_without_numbers_says_why() -> None:
    values = {"one": {1: 20.0, 2: 21.0}, "other": {}}
    found = only(Family("here", values, [("one", "other")], {}, lacks={"other": "diverged"}).evidence(0.05))
    assert (found.found, found.note) == (Found.NOT_RUN, "other diverged")


def test_a_pair_of_which_one_system_cannot_be_tested_says_why() -> None:
    values = {"one": {1: 20.0}, "two": {1: 21.0, 2: 22.0, 3: 21.5}, "three": {1: 20.0, 2: 22.0, 3: 21.1}}
    first, _ = Family("here", values, [("one", "two"), ("two", "three")], {}).evidence(0.05)
    assert first.found is Found.UNDECIDED and first.note == "one: fewer than two seeds"


def test_the_seeds_that_would_decide_are_those_of_a_pair_that_varies_more() -> None:
    values = {
        "wild": {1: 10.0, 2: 25.0, 3: 14.0, 4: 22.0},
        **{name: {seed: 20.0 + 0.1 * (seed * at % 3) for seed in (1, 2, 3, 4)} for at, name in enumerate("abcd", 1)},
    }
    wild = only(Family("here", values, [("wild", "a")], {("wild", "a"): 2.0}).evidence(0.05))
    assert wild.low is not None and wild.high is not None and wild.needed is not None
    error = (wild.high - wild.low) / 2 / stats.t.isf(0.025, 3)  # that of the wild system's own spread
    assert wild.needed > 4 * (stats.norm.isf(0.025) * error / 2.0) ** 2, "as many as its own interval demands"


def test_numbers_without_spread_are_what_they_are_and_one_seed_decides_nothing() -> None:
    memory = {"small": {1: 6.4, 2: 6.4}, "large": {1: 6.8, 2: 6.8}}
    pair = ("small", "large")
    assert only(Family("", memory, [pair], {}, lower_is_better=True).evidence(0.05)).found is Found.CONFIRMED
    assert only(Family("", memory, [pair], {}).evidence(0.05)).found is Found.CONTRADICTED
    bottom = {"small": {1: 0.0, 2: 0.0}, "large": {1: 0.0, 2: 0.0}}  # scores that cannot be lower, for example
    assert only(Family("", bottom, [pair], {}, exact=False).evidence(0.05)).found is Found.UNDECIDED
    single = {"small": {1: 6.4}, "large": {1: 6.8}}
    assert only(Family("", single, [pair], {}).evidence(0.05)).found is Found.UNDECIDED


def test_a_slope_is_decided_over_seeds() -> None:
    def decided(*slopes: float, rises: bool = True) -> Found:
        return slope_evidence("here", "score", slopes, rises=rises, level=0.05).found

    assert decided(1.0, 1.1, 0.9) is Found.CONFIRMED
    assert decided(1.0, 1.1, 0.9, rises=False) is Found.CONTRADICTED
    assert decided(1.0, -1.1, 0.9) is Found.UNDECIDED
    assert decided(1.0) is Found.UNDECIDED
    assert decided(1.0, 1.1, math.nan) is Found.UNDECIDED
    assert decided(1.0, 1.1, math.inf, rises=False) is Found.UNDECIDED
    near = slope_evidence("here", "score", [1.0, 0.1, 0.5], rises=True, level=0.05)
    assert near.needed is not None and near.needed > 3


def test_a_gain_is_larger_than_another_over_seeds() -> None:
    def decided(larger: list[float], smaller: list[float]) -> Evidence:
        return gain_evidence("here", "gains", larger, smaller, published=0.5, level=0.05)

    assert decided([1.0, 1.1, 0.9], [0.1, 0.0, 0.2]).found is Found.CONFIRMED
    assert decided([0.1, 0.0, 0.2], [1.0, 1.1, 0.9]).found is Found.CONTRADICTED
    unclear = decided([1.0, 0.0, 0.5], [0.2, 0.9, 0.1])
    assert unclear.found is Found.UNDECIDED and unclear.needed is not None and unclear.needed > 3
    assert decided([1.0], [0.1]).found is Found.UNDECIDED


def test_all_evidence_together_is_as_weak_as_its_weakest_part() -> None:
    def all_of(*found: Found) -> Found:
        return together([Evidence(each, "", "") for each in found])

    assert all_of(Found.CONFIRMED, Found.CONFIRMED) is Found.CONFIRMED
    assert all_of(Found.CONFIRMED, Found.CONTRADICTED, Found.UNDECIDED) is Found.CONTRADICTED
    assert all_of(Found.CONFIRMED, Found.UNDECIDED, Found.EQUIVALENT) is Found.UNDECIDED
    assert all_of(Found.CONFIRMED, Found.NOT_RUN) is Found.UNDECIDED
    assert all_of(Found.CONFIRMED, Found.EQUIVALENT) is Found.EQUIVALENT
    assert all_of(Found.NOT_RUN, Found.NOT_RUN) is Found.NOT_RUN


def test_more_seeds_than_did_not_decide_are_needed() -> None:
    values = {
        name: {seed: 20.0 + 0.3 * ((seed * at) % 5 - 2) for seed in range(1, 6)} for at, name in enumerate("abcd", 1)
    }
    found = only(Family("here", values, [("a", "b")], {("a", "b"): 30.0}).evidence(0.05))
    assert found.found is Found.UNDECIDED and found.needed == 6


def test_models_that_have_learned_nothing_decide_nothing() -> None:
    values = {"one": {1: 0.02, 2: 0.05, 3: 0.03}, "other": {1: 0.04, 2: 0.03, 3: 0.06}}
    asked = Family("here", values, [("one", "other")], {}, margin=0.5, relation="not worse")
    found = only(asked.evidence(0.05))
    assert found.found is Found.UNDECIDED and "no score above the margin" in found.note


def test_slopes_and_gains_that_are_equal_up_to_rounding_have_no_spread() -> None:
    equal = [0.1 + 0.2, 0.3, 0.3]
    assert equal[0] != equal[1]
    assert slope_evidence("", "", equal, rises=True, level=0.05).found is Found.UNDECIDED
    gain = gain_evidence("", "", equal, [0.1, 0.1, 0.1], published=None, level=0.05)
    assert gain.found is Found.UNDECIDED and gain.p is None


def test_the_interval_of_a_gain_has_the_level_of_its_test() -> None:
    gains = [1.0, 1.2, 1.4], [0.0, 0.1, 0.3]
    usual, strict = (gain_evidence("", "", *gains, published=None, level=level) for level in (0.05, 0.001))
    assert strict.low < usual.low < usual.high < strict.high


def test_the_seeds_for_a_gain_are_those_that_find_the_published_one() -> None:
    gains = [1.0, 1.9, 0.1], [0.9, 0.1, 1.6]
    ours, theirs = (gain_evidence("", "", *gains, published=published, level=0.05) for published in (None, 1.0))
    assert ours.found is theirs.found is Found.UNDECIDED
    assert theirs.needed is not None and (ours.needed is None or ours.needed > theirs.needed)
