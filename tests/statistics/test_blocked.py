"""Tests of which scores the seed-blocked model uses, and of its verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
from scipy import stats

from wordorder.statistics.blocked import Difference, block
from wordorder.statistics.distributions import dunnett_sf
from wordorder.statistics.dunnett import against_baseline
from wordorder.statistics.seeds_and_sentences import BothRandom
from wordorder.statistics.verdicts import Outcome, Reach, verdict

SCORES = {
    "base": {1: 20.0, 2: 20.6, 3: 20.3},
    "one": {1: 20.9, 2: 21.2, 3: 21.3},
    "two": {1: 20.2, 2: 20.7, 3: 20.1},
    "three": {1: 21.6, 2: 21.9, 3: 22.3},
}


def without(system: str, *seeds: int) -> dict[str, Mapping[int, float]]:
    return {**SCORES, system: {seed: score for seed, score in SCORES[system].items() if seed not in seeds}}


def test_a_missing_seed_is_dropped_for_all() -> None:
    found = block(without("two", 2), seeds=[1, 2, 3])
    assert (found.seeds, found.dropped_seeds, found.declared, found.excluded) == ((1, 3), (2,), 4, {})
    assert found.scores == pytest.approx(np.array([[20.0, 20.3], [20.9, 21.3], [20.2, 20.1], [21.6, 22.3]]))
    assert block(SCORES, seeds=[1, 2, 3, 4]).dropped_seeds == (4,)
    assert block(SCORES, seeds=[3, 1]).seeds == (3, 1)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (block(without("two", 2), diverged=["two"]), "diverged"),
        (block(without("two", 2, 3)), "fewer than two seeds"),
        (block(without("two", 1, 2, 3)), "fewer than two seeds"),
    ],
)
def test_a_system_without_a_verdict_leaves_the_variance_but_counts(found, reason) -> None:  # type: ignore[no-untyped-def]
    rest = block({name: of for name, of in SCORES.items() if name != "two"})
    assert found.excluded == {"two": reason}
    assert (found.mse, found.nu, found.dropped_seeds) == (pytest.approx(rest.mse), rest.nu, ())
    with_two, alone = against_baseline(found, "base"), against_baseline(rest, "base")
    assert list(with_two.differences) == ["one", "three"]
    assert (with_two.m, alone.m) == (3, 2)
    for name, steps in (("three", 3), ("one", 2)):
        each = with_two.differences[name]
        assert each.p == pytest.approx(dunnett_sf(each.t, steps, rest.nu))
        assert each.p > alone.differences[name].p
        assert each.interval[0] < alone.differences[name].interval[0]


def test_diverged_systems_are_always_named_in_the_same_order() -> None:
    names = [f"system {number}" for number in range(20)]
    found = block({name: {1: 1.0, 2: 2.0} for name in "ab"}, diverged=frozenset(names))
    assert list(found.excluded) == sorted(names)


def test_why_nothing_is_tested() -> None:
    for scores, diverged, problem in (
        ({name: {1: of[1]} for name, of in SCORES.items()}, (), "fewer than two seeds"),
        ({"base": SCORES["base"]}, (), "fewer than two systems"),
        ({"base": {1: 1.0, 2: 2.0}, "one": {1: 2.0, 2: 3.0}}, (), "no variance"),
        (SCORES, ("base",), "baseline diverged"),
        (without("base", 1, 2), (), "baseline unfinished"),
        (without("base", 1, 2, 3), (), "baseline unfinished"),
        ({"base": {1: 1.0, 2: 2.0}, "one": {2: 2.0, 3: 3.0}}, (), "fewer than two seeds"),
        ({**SCORES, "one": {**SCORES["one"], 2: math.nan}}, (), "scores are not finite"),
    ):
        found = against_baseline(block(scores, diverged=diverged), "base")
        assert found.problem == problem, scores
        assert found.differences == {}


def test_two_systems_are_compared_by_the_paired_t_test() -> None:
    found = against_baseline(block({name: SCORES[name] for name in ("base", "one")}), "base")
    system, baseline = (list(SCORES[name].values()) for name in ("one", "base"))
    theirs = stats.ttest_rel(system, baseline)
    each, interval = found.differences["one"], theirs.confidence_interval()
    assert found.spread is None, "of two systems neither can be told to vary more"
    assert (each.t, each.p) == (pytest.approx(theirs.statistic), pytest.approx(theirs.pvalue))
    assert each.interval == pytest.approx((interval.low, interval.high))


def test_the_test_is_scipys_if_seeds_are_equally_hard() -> None:
    # Without effects of seeds only the degrees of freedom differ, k (n - 1) instead of (k - 1) (n - 1).
    random = np.random.default_rng(1)
    scores = random.normal(size=(4, 2000))
    scores[1] += 0.08
    scores -= scores.mean(axis=0)
    theirs = stats.dunnett(*scores[1:], control=scores[0], rng=2)
    found = against_baseline(block({str(i): dict(enumerate(row)) for i, row in enumerate(scores)}), "0")
    scale = math.sqrt(3 / 4)
    assert [each.t for each in found.differences.values()] == pytest.approx(list(scale * theirs.statistic), rel=1e-3)
    assert [dunnett_sf(t, 3, 4 * 1999) for t in theirs.statistic] == pytest.approx(list(theirs.pvalue), abs=1e-3)


def difference(value: float, p: float, half_width: float) -> Difference:
    interval = (value - half_width, value + half_width)
    return Difference(value, 0.1, 6.0, value / 0.1, p, p, (-9.0, 9.0), interval)


def both(low: float, high: float) -> BothRandom:
    return BothRandom(1.0, 5.0, (high - low) / 2, (low, high))


@pytest.mark.parametrize(
    ("value", "p", "half_width", "lower_is_better", "outcome"),
    [
        (0.6, 0.01, 0.2, False, Outcome.BETTER),
        (-0.6, 0.01, 0.2, False, Outcome.WORSE),
        (0.6, 0.01, 0.2, True, Outcome.WORSE),
        (-0.6, 0.01, 0.2, True, Outcome.BETTER),
        (0.2, 0.01, 0.1, False, Outcome.BETTER_WITHIN),
        (-0.2, 0.01, 0.1, False, Outcome.WORSE_WITHIN),
        (-0.2, 0.01, 0.1, True, Outcome.BETTER_WITHIN),
        (0.2, 0.05, 0.1, False, Outcome.EQUIVALENT),
        (0.2, 0.05, 0.31, False, Outcome.UNDECIDED),
        (-0.2, 0.05, 0.31, True, Outcome.UNDECIDED),
        (0.2, 0.05, 0.3, False, Outcome.UNDECIDED),  # the interval must lie inside, not at the margin
    ],
)
def test_verdicts(value: float, p: float, half_width: float, lower_is_better: bool, outcome: Outcome) -> None:
    found = verdict(difference(value, p, half_width), margin=0.5, lower_is_better=lower_is_better)
    assert (found.outcome, found.reach) == (outcome, Reach.THIS_TEST_SET)


def test_a_verdict_applies_to_other_sentences_if_their_interval_agrees() -> None:
    for value, interval, reach in (
        (0.6, both(0.1, 1.1), Reach.OTHER_SENTENCES),
        (0.6, both(-0.1, 1.3), Reach.THIS_TEST_SET),
        (-0.6, both(-1.1, -0.1), Reach.OTHER_SENTENCES),
        (-0.6, both(0.1, 1.1), Reach.THIS_TEST_SET),
    ):
        assert verdict(difference(value, 0.01, 0.2), margin=0.5, both_random=interval).reach == reach
    assert verdict(None, margin=0.5).outcome == Outcome.UNTESTED
    undecided = verdict(difference(0.6, 0.2, 0.9), margin=0.5, both_random=both(0.1, 1.1))
    assert (undecided.outcome, undecided.reach) == (Outcome.UNDECIDED, Reach.THIS_TEST_SET)
