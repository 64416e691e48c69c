"""Tests of verdicts on families of comparisons, on scores with known answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from raises import raises
from wordorder.comparison.families import FamilyTest
from wordorder.comparison.levels import Look, changed_comparisons, level_of, looks_file, read_looks, remember_look
from wordorder.config.models import Comparison, Family
from wordorder.config.seeds import Looks
from wordorder.metrics.base import build
from wordorder.statistics.distributions import dunnett_critical, dunnett_sf
from wordorder.statistics.power import detectable_of, power

# The worked example of the statistics' documentation; the first system is the baseline.
KNOWN = {
    "base": [20.0, 20.6, 20.3],
    "one": [20.9, 21.2, 21.3],
    "two": [20.2, 20.7, 20.1],
    "three": [21.6, 21.9, 22.3],
}


def family_test(
    scores: dict[str, list[float]],
    pairs: list[tuple[str, str]] | None = None,
    metric: str = "bleu",
    diverged: frozenset[str] = frozenset(),
    resampled: Any = None,
    **more: Any,
) -> FamilyTest:
    names = list(scores)
    pairs = pairs or [(name, names[0]) for name in names[1:]]
    family = Family(
        encodings=names,
        seeds=more.pop("seeds", [1, 2, 3]),
        baseline=names[0],
        comparisons=[Comparison(system=system, baseline=baseline) for system, baseline in pairs],
        metrics=[metric],
        target_language="de",
        **more,
    )
    cells = {(name, seed): score for name, row in scores.items() for seed, score in enumerate(row, start=1)}
    return FamilyTest(family, build(metric, "de"), cells, resampled or {}, diverged)


def verdicts(test: FamilyTest) -> list[tuple[str, str | None]]:
    found = [test.compare(comparison) for comparison in test.family.comparisons]
    return [(each["outcome"], each["reach"]) for each in found]


def test_comparisons_with_one_baseline_are_a_step_down_dunnett_test() -> None:
    test = family_test(KNOWN)
    found = [test.compare(comparison) for comparison in test.family.comparisons]
    assert [each["test"]["p"] for each in found] == pytest.approx([0.008291, 0.866526, 0.000343], abs=1e-6)
    assert found[0]["test"]["interval"] == pytest.approx((0.244377, 1.422290), abs=1e-6)
    assert verdicts(test) == [
        ("better", "on this test set"),
        ("undecided", "on this test set"),
        ("better", "on this test set"),
    ]
    summary = test.summary
    assert (summary["procedure"], summary["comparisons"], summary["nu"]) == ("dunnett", 3, 6)
    assert summary["baseline_check"] == {
        "f": pytest.approx(0.215909, abs=1e-6),
        "p": pytest.approx(0.814622, abs=1e-6),
        "corrects": False,
    }
    assert power(summary["detectable"], summary["sigma"], 4, 3) == pytest.approx(0.8)
    low, high = summary["detectable_range"]
    assert low < summary["detectable"] < high
    assert (
        power(0.5, summary["sigma"], 4, summary["seeds_needed"])
        >= 0.8
        > power(0.5, summary["sigma"], 4, summary["seeds_needed"] - 1)
    )


def test_a_system_that_varies_more_is_named_and_has_its_own_standard_error() -> None:
    test = family_test(KNOWN | {"two": [18.6, 22.3, 20.3]})
    assert test.summary["unstable"] == {"two": pytest.approx(0.000929, abs=1e-6)}
    one, two, three = (test.compare(comparison) for comparison in test.family.comparisons)
    assert two["test"]["standard_error"] > one["test"]["standard_error"] == three["test"]["standard_error"]
    assert "two varies more than the others" in two["verdict"]
    assert "varies more" not in one["verdict"] + three["verdict"]
    # Its sentence names the difference that its own standard error detects.
    found = detectable_of(
        two["test"]["standard_error"], two["test"]["nu"], dunnett_critical(3, two["test"]["nu"], 0.05)
    )
    assert two["detectable"] == pytest.approx(found) and found > 2 * test.summary["detectable"]
    assert f"find a difference of {found:.2f})" in two["verdict"]


def test_a_baseline_that_varies_more_needs_more_seeds() -> None:
    test = family_test(KNOWN | {"base": [18.6, 22.3, 20.3]}, margin={"bleu": 5.0})
    wide = test.summary
    assert "; base varies more than the others" in test.compare(test.family.comparisons[0])["verdict"]
    assert wide["baseline_check"]["corrects"] and wide["detectable"] > 5.0
    assert wide["seeds_needed"] > 3, "three seeds detect more than the margin only"


def test_a_baseline_is_checked_beside_one_of_two_systems_that_varies_more() -> None:
    rows = {
        "base": [20.0, 20.2, 20.1, 19.9, 20.0],
        "one": [21.0, 21.1, 21.2, 20.9, 21.1],
        "two": [15.0, 25.0, 20.0, 28.0, 12.0],
    }
    summary = family_test(rows, seeds=[1, 2, 3, 4, 5]).summary
    assert list(summary["unstable"]) == ["two"] and summary["baseline_check"] is not None


def test_the_margin_decides_what_is_equivalent() -> None:
    assert verdicts(family_test(KNOWN, margin={"bleu": 0.52}))[1][0] == "equivalent"
    assert verdicts(family_test(KNOWN, margin={"bleu": 0.51}))[1][0] == "undecided"
    outcomes = [outcome for outcome, _ in verdicts(family_test(KNOWN, margin={"bleu": 5.0}))]
    assert outcomes == ["better, within the margin", "equivalent", "better, within the margin"]


def test_of_a_metric_that_counts_errors_less_is_better() -> None:
    assert [outcome for outcome, _ in verdicts(family_test(KNOWN, metric="ter"))] == ["worse", "undecided", "worse"]


def test_pairs_with_several_baselines_are_t_tests_with_holm() -> None:
    test = family_test(KNOWN, [("one", "base"), ("three", "one"), ("two", "base")])
    found = [test.compare(comparison)["test"] for comparison in test.family.comparisons]
    assert test.summary["procedure"] == "declared pairs"
    single = [each["p_single_step"] / 3 for each in found]
    # In the order of p: 3 times the first, then 2 times the second, made monotone.
    assert [each["p"] for each in found[:2]] == pytest.approx([3 * single[0], max(3 * single[0], 2 * single[1])])
    assert single[0] < single[1] and found[1]["p"] < 0.05 < found[2]["p"]
    assert test.summary["baseline_check"] is None


def test_a_system_that_diverged_has_no_verdict_and_still_counts() -> None:
    test = family_test(KNOWN, diverged=frozenset({"two"}))
    assert verdicts(test)[1] == ("untested", None)
    summary = test.summary
    assert (summary["comparisons"], summary["nu"], summary["excluded"]) == (3, 4, {"two": "diverged"})
    broken = family_test(KNOWN, diverged=frozenset({"base"}))
    assert {outcome for outcome, _ in verdicts(broken)} == {"untested"}
    assert broken.summary["problem"] == "baseline diverged" and broken.summary["detectable"] is None


def test_a_seed_that_one_system_lacks_is_dropped_for_all() -> None:
    test = family_test(KNOWN | {"one": [20.9, 21.2]})
    assert (test.summary["seeds"], test.summary["dropped_seeds"]) == ([1, 2], [3])
    assert test.compare(test.family.comparisons[2])["test"]["value"] == pytest.approx(21.75 - 20.3)


def test_identical_runs_and_one_seed_have_no_verdict() -> None:
    same = family_test({"base": [20.0, 21.0, 22.0], "one": [20.5, 21.5, 22.5]})
    assert verdicts(same) == [("untested", None)] and same.summary["problem"] == "no variance"
    single = family_test({"base": [20.0], "one": [25.0]}, seeds=[1])
    assert verdicts(single) == [("untested", None)] and single.summary["problem"] == "fewer than two seeds"


def test_a_verdict_speaks_of_other_sentences_if_they_would_not_change_it() -> None:
    draw = np.random.default_rng(1)
    for spread, reach in ((0.1, "and on other sentences"), (2.0, "on this test set")):
        resampled = {
            (name, seed): score + draw.normal(0, spread, 500)
            for name, row in KNOWN.items()
            for seed, score in enumerate(row, start=1)
        }
        # What sentences add to a system is the same for all its seeds.
        for name in KNOWN:
            shift = draw.normal(0, spread, 500)
            for seed in (1, 2, 3):
                resampled[name, seed] = resampled[name, seed] + shift
        test = family_test(KNOWN, resampled=resampled)
        assert verdicts(test)[2] == ("better", reach)
        assert test.summary["components"]["system_sentence"] == pytest.approx(spread, rel=0.2)


def test_seeds_that_vary_less_than_their_sentences_explain_are_reported() -> None:
    draw = np.random.default_rng(3)
    sigma = family_test(KNOWN).summary["sigma"]
    assert family_test(KNOWN).summary["spread_check"] is None, "without resamples nothing is known of sentences"
    for spread, small in ((sigma, False), (3 * sigma, True)):
        resampled = {
            (name, seed): score + draw.normal(0, spread, 2000)
            for name, row in KNOWN.items()
            for seed, score in enumerate(row, start=1)
        }
        test = family_test(KNOWN, resampled=resampled)
        check = test.summary["spread_check"]
        # On average, a third of the standard deviation has a ninth of the variance: 6 / 9 with 6 degrees of freedom.
        assert check == {"p": pytest.approx(stats.chi2.cdf(6 * (sigma / spread) ** 2, 6), rel=0.2), "small": small}
        said = test.compare(test.family.comparisons[0])["verdict"]
        assert ("3 seeds, which vary suspiciously little)" in said) == small


def test_models_that_have_learned_nothing_are_not_equivalent() -> None:
    nothing = family_test({"base": [0.0, 0.01, 0.0], "one": [0.0, 0.0, 0.02]}, margin={"bleu": 0.5})
    assert verdicts(nothing) == [("untested", None)]
    assert nothing.compare(nothing.family.comparisons[0])["verdict"] == (
        "one against base: untested (no score above the margin)."
    )
    poor = {"base": [0.3, 0.7, 0.4], "one": [0.35, 0.68, 0.4]}
    assert verdicts(family_test(poor, margin={"bleu": 0.5})) == [("equivalent", "on this test set")]
    assert verdicts(family_test(poor, margin={"bleu": 0.9}, metric="bleu")) == [("untested", None)]
    assert verdicts(family_test(poor, margin={"ter": 0.9}, metric="ter")) != [("untested", None)]


def test_declared_looks_have_their_own_levels() -> None:
    looks = Looks(looks=[3, 5])
    assert level_of(0.05, [1, 2, 3], looks).level == pytest.approx(0.007616, abs=1e-6)
    last = level_of(0.05, [1, 2, 3, 4, 5], looks.model_copy(update={"until": 5}), [[1, 2, 3]])
    assert (last.level, last.exact) == (pytest.approx(0.047595, abs=1e-6), True)
    test = family_test(KNOWN, looks=looks)
    assert verdicts(test)[0][0] == "undecided", "p = 0.0083 is not below 0.0076"
    assert test.summary["level"]["looks"] == [3, 5]


@pytest.mark.parametrize(
    ("seeds", "looks", "earlier"),
    [
        ([1, 2, 3, 4, 5], None, [[1, 2, 3]]),
        ([1, 2, 3], None, [[4, 5, 6]]),
        ([1, 2, 3, 4, 5], Looks(looks=[3, 5], until=5, declared=False), []),
        ([1, 2, 3], Looks(looks=[3, 5]), [[4, 5, 6]]),
    ],
)
def test_after_looks_that_were_not_declared_no_level_is_exact(
    seeds: list[int], looks: Looks | None, earlier: list[list[int]]
) -> None:
    found = level_of(0.05, seeds, looks, earlier)
    assert (found.level, found.exact) == (0.05, False)


def look(systems: str, *comparisons: str) -> Look:
    return Look(seeds=[1, 2, 3], systems=[*systems], comparisons=[(pair[0], pair[1]) for pair in comparisons])


@pytest.mark.parametrize(
    ("earlier", "declared", "changed"),
    [
        ([], ["ba"], []),
        ([look("abc", "ba", "ca")], ["ba", "ca"], []),
        ([look("abc", "ba")], ["ba", "ca"], ["ca"]),
        ([look("abc", "ba", "ca")], ["ba"], ["ca"]),
        ([look("ab", "ba")], ["ba", "ca"], []),
        ([look("ab", "ba", "ca")], ["ba", "ca"], []),
        ([look("ab", "ba"), look("abc", "ba", "ca")], ["ba", "ca"], []),
        ([look("abc", "ba"), look("abc", "ba", "ca")], ["ba", "ca"], ["ca"]),
        ([look("abc", "ba"), look("abc", "ba", "ca")], ["ba"], []),
        ([look("abc", "ba", "ca")], ["ba", "cb"], ["ca", "cb"]),
        ([look("ab", "ba")], ["ab"], []),
        ([Look(seeds=[1, 2])], ["ba"], []),
    ],
    ids=[
        "the first look",
        "the same comparisons",
        "one was added",
        "one was removed",
        "one with a new system",
        "one that waited for its system",
        "later looks at it",
        "one was added, and stays",
        "one was added, and removed",
        "another baseline",
        "the other direction",
        "a file of an earlier version",
    ],
)
def test_comparisons_that_were_changed_after_their_scores_were_known(
    earlier: list[Look], declared: list[str], changed: list[str]
) -> None:
    found = changed_comparisons([(pair[0], pair[1]) for pair in declared], earlier)
    assert sorted("".join(pair) for pair in found) == changed


def test_missing_runs_loosen_no_level_of_declared_looks() -> None:
    looks = Looks(looks=[3, 5])
    planned, missing = level_of(0.05, [1, 2, 3], looks), level_of(0.05, [1, 3], looks)
    assert missing.level < planned.level and not missing.exact
    last = looks.model_copy(update={"until": 5})
    taken = [level_of(0.05, [1, 3], looks), level_of(0.05, [1, 2, 3], looks, [[1, 3]])]
    taken.append(level_of(0.05, [1, 2, 3, 4, 5], last, [[1, 3], [1, 2, 3]]))
    assert [each.exact for each in taken] == [False] * 3
    # Three looks at a sum of normal numbers find something by chance as often as the level says.
    steps = np.random.default_rng(5).normal(size=(200_000, 5)).cumsum(axis=1)
    found = [
        2 * stats.norm.sf(np.abs(steps[:, n - 1]) / n**0.5) < each.level
        for n, each in zip((2, 3, 5), taken, strict=True)
    ]
    assert np.any(found, axis=0).mean() == pytest.approx(0.05, abs=0.003)


def test_more_seeds_are_judged_at_the_level_of_the_last_look() -> None:
    first = family_test(KNOWN, looks=Looks(looks=[3, 5]), margin={"bleu": 0.2}).summary
    assert first["level"]["last"] == pytest.approx(0.047595, abs=1e-6)
    needed, sigma, last = first["seeds_needed"], first["sigma"], first["level"]["last"]
    assert power(0.2, sigma, 4, needed, alpha=last) >= 0.8 > power(0.2, sigma, 4, needed - 1, alpha=last)


def test_looking_again_at_the_same_seeds_changes_nothing() -> None:
    found = level_of(0.05, [1, 2], None, [[1, 2]])
    assert (found.level, found.exact, found.looks) == (0.05, True, [2])
    assert level_of(0.05, [2, 1], None, [[1, 2]]).exact, "their order does not matter"
    looks = Looks(looks=[3, 5])
    assert level_of(0.05, [3, 1, 2], looks, [[1, 2, 3]]) == level_of(0.05, [1, 2, 3], looks)


def test_looks_are_remembered_beside_the_comparison(tmp_path: Path) -> None:
    path = looks_file(tmp_path / "pair.tiny.test.json")
    assert read_looks(path) == []
    first, second = look("ab", "ba"), look("abc", "ba", "ca")
    for each in (first, second, first):
        remember_look(path, each)
    assert read_looks(path) == [first, second]
    path.write_text('{"seeds": 3}')
    with raises("damaged-file", path=path):
        read_looks(path)


def test_systems_that_no_comparison_names_estimate_the_variance_only() -> None:
    test = family_test(KNOWN, [("one", "base"), ("two", "base")])
    assert (test.summary["nu"], test.summary["comparisons"]) == (6, 2)
    assert test.summary["sigma"] == pytest.approx(0.0541667**0.5, abs=1e-6)
    assert list(test.test.differences) == ["one", "two"]
    found = test.compare(test.family.comparisons[0])["test"]
    assert found["t"] == pytest.approx(4.385290, abs=1e-6)
    assert found["p_single_step"] == pytest.approx(dunnett_sf(4.385290, 2, 6), abs=1e-6)
    assert found["interval"][1] - found["value"] == pytest.approx(dunnett_critical(2, 6, 0.05) * 0.190029, abs=1e-5)
    lost = family_test(KNOWN | {"wild": [1.0, 2.0, 3.0]}, [("one", "base")], diverged=frozenset(["wild"]))
    assert (lost.summary["nu"], lost.summary["comparisons"]) == (6, 1)
