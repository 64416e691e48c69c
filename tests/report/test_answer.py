"""Tests of the answer of a study in words."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pair_sample import write_pairs
from wordorder.config.pages import Page
from wordorder.files import read_json, write_json
from wordorder.report import overview, records
from wordorder.report.answer import Answer, _Family, answer
from wordorder.report.build import build_table
from wordorder.report.overview import Alike
from wordorder.statistics.power import power, seeds_needed
from wordorder.tables.credibility import credibility_items

Sample = tuple[Page, Path, Path]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return write_pairs(tmp_path_factory.mktemp("pairs"))


@pytest.fixture
def sample(written: Sample, tmp_path: Path) -> Sample:
    """Return a copy that a test may change."""
    asked, results, data = written
    return asked, *(shutil.copytree(folder, tmp_path / folder.name) for folder in (results, data))


def of(sample: Sample) -> Answer:
    asked, results, _ = sample
    alike = overview.alike(asked.report, build_table("scores", asked.report, results).data)
    return answer(asked.report, results, records.load(asked, results), credibility_items(asked.report, results), alike)


def change(sample: Sample, edit: Any) -> None:
    """Edit every file of tests."""
    for path in (sample[1] / "significance").glob("*.json"):
        content = read_json(path)
        for tested in content["metrics"].values():
            edit(tested)
        write_json(path, content)


def test_every_declared_comparison_is_answered(sample: Sample) -> None:
    said = of(sample)
    tested = read_json(sample[1] / "significance" / "pair.tiny.test_1.json")["metrics"]["bleu"]
    (line,) = [line for line in said.found if line.startswith("On test_1, by BLEU: ")]
    phrases = {"better": "better than", "worse": "worse than", "undecided": "undecided against"}
    for entry in tested["comparisons"]:
        value = f"{entry['system']} ({entry['test']['value']:+.2f})".replace("-", "−")
        after = line[line.index(value) :].partition(";")[0]
        assert phrases[entry["outcome"].partition(",")[0]] in after
    assert "(−" in line and any(line.startswith("chrF++ gives the same outcome") for line in said.found)


def test_the_number_of_seeds_is_that_of_the_statistics(sample: Sample) -> None:
    said = " ".join(of(sample).surer)
    for test in ("test_1", "test_2"):
        family = read_json(sample[1] / "significance" / f"pair.tiny.{test}.json")["metrics"]["bleu"]["family"]
        assert f"3 seeds find a difference of {family['detectable']:.2f} BLEU with 80 % probability" in said
        needed, half = family["seeds_needed"], seeds_needed(family["detectable"] / 2, family["sigma"], 4, m=3)
        assert needed and half
        assert (
            f"In each system, half of this difference needs {half:,} seeds ({half - 3:,} more); "
            f"the margin, 0.50 BLEU, needs {needed:,} seeds ({needed - 3:,} more)."
        ) in said


def family_of(sample: Sample) -> _Family:
    found = read_json(sample[1] / "significance" / "pair.tiny.test_1.json")["metrics"]["bleu"]
    return _Family("", "bleu", found["comparisons"], found["family"])


def test_without_a_margin_the_seeds_for_half_of_the_detectable_difference_are_named(sample: Sample) -> None:
    change(sample, lambda tested: tested["family"].update(margin=None, seeds_needed=None))
    family = family_of(sample)
    difference, sigma = family.summary["detectable"] / 2, family.summary["sigma"]
    needed = family.seeds_for(difference)
    assert needed is not None
    assert power(difference, sigma, 4, needed, m=3) >= 0.8 > power(difference, sigma, 4, needed - 1, m=3)
    assert f"In each system, half of this difference needs {needed} seeds ({needed - 3} more)." in of(sample).surer


def test_the_procedure_and_level_of_the_family_decide_the_number_of_seeds(sample: Sample) -> None:
    family = family_of(sample)
    own = {"procedure": "declared pairs", "comparisons": 5, "level": {"level": 0.01}}
    pairs = replace(family, summary=family.summary | own)
    wanted = seeds_needed(1.0, family.power.sigma, 4, alpha=0.01, procedure="declared pairs", m=5)
    assert pairs.seeds_for(1.0) == wanted != family.seeds_for(1.0)


def test_the_number_of_seeds_is_that_of_systems_that_vary_no_more_than_the_others(sample: Sample) -> None:
    family = family_of(sample)
    steady, varying = family.comparisons[0], family.comparisons[1]
    spoilt = varying | {"test": varying["test"] | {"standard_error": 1e-3, "nu": 2.0}}
    own = replace(
        family,
        comparisons=[spoilt, steady],
        summary=family.summary | {"unstable": {varying["system"]: 0.001}},
    )
    assert own.power == family.power and own.seeds_for(1.0) == family.seeds_for(1.0)
    # Of declared pairs, the baseline may be the one that varies more.
    pairs = [spoilt | {"system": "rope", "baseline": varying["system"]}, steady]
    assert replace(own, comparisons=pairs).power.sigma == family.power.sigma
    assert replace(own, comparisons=pairs[:1]).power.sigma < family.power.sigma


def test_more_than_ten_thousand_seeds_and_enough_seeds_are_said(sample: Sample) -> None:
    change(sample, lambda tested: tested["family"].update(seeds_needed=None))
    assert "the margin, 0.50 BLEU, needs more than 10,000 seeds." in " ".join(of(sample).surer)
    change(sample, lambda tested: tested["family"].update(seeds_needed=2))
    assert "These seeds are enough to find the margin, 0.50 BLEU." in of(sample).surer


def test_models_without_scores_are_counted_beside_the_requirements(sample: Sample) -> None:
    (before,) = [line for line in of(sample).sure if line.startswith("7 of 7 requirements")]
    next(path for path in sorted(sample[1].rglob("*.scores.json"))).unlink()
    assert not any(line.startswith("7 of 7 requirements") for line in of(sample).sure)
    (line,) = [line for line in of(sample).sure if line.startswith("6 of 7 requirements")]
    assert line.startswith(before.replace("7 of", "6 of", 1).removesuffix(".")) and " 1 of " in line


def test_what_makes_it_less_sure_is_said(sample: Sample) -> None:
    change(sample, lambda tested: tested["family"].update(spread_check=None, unstable={}))
    assert not any(doubt in line for line in of(sample).sure for doubt in ("no level", "varies more", "vary less"))

    def doubt(tested: dict[str, Any]) -> None:
        tested["family"]["level"]["exact"] = False
        tested["family"]["baseline_check"] = {"f": 9.0, "p": 0.01, "corrects": True}
        tested["family"]["unstable"] = {"opr": 0.001}
        tested["family"]["spread_check"] = {"p": 0.01, "small": True}
        for entry in tested["comparisons"]:
            entry["reach"] = "on this test set"

    larger = "A larger test set would show whether the outcomes hold for other sentences."
    change(sample, lambda tested: [entry.update(outcome="undecided") for entry in tested["comparisons"]])
    assert larger not in of(sample).surer, "what is undecided needs seeds first"
    change(sample, lambda tested: [entry.update(outcome="worse") for entry in tested["comparisons"]])
    change(sample, doubt)
    said = of(sample)
    assert any("no level is exact" in line for line in said.sure)
    assert any("The baseline varies more" in line for line in said.sure)
    assert any("opr varies more over the seeds" in line for line in said.sure)
    assert sum(" by BLEU, " in line and "the seeds vary less than the sentences" in line for line in said.sure) == 1
    assert any(", none would also be expected on other sentences" in line for line in said.sure)
    assert larger in said.surer
    luck = "On test_1, more seeds would show whether the outcomes are luck: these vary suspiciously little."
    assert luck in said.surer
    assert ", on this test set only)" in said.found[0]
    change(sample, lambda tested: [entry.update(reach="and on other sentences") for entry in tested["comparisons"]])
    assert "on this test set only" not in of(sample).found[0]


def test_cells_that_are_missing_are_counted(sample: Sample) -> None:
    (sample[1] / "cells" / "pair" / "opr" / "tiny" / "2" / "record.json").unlink()
    assert "1 of 12 cells are missing (1 not trained)." in of(sample).sure


def test_opposite_outcomes_by_another_metric_are_counted(sample: Sample) -> None:
    for path in (sample[1] / "significance").glob("*.json"):
        content = read_json(path)
        for name, outcome in (("bleu", "better"), ("chrf++", "worse")):
            for entry in content["metrics"][name]["comparisons"]:
                entry["outcome"] = outcome
        write_json(path, content)
    assert "chrF++ gives the same outcome for 0 of 6 comparisons, and the opposite one for 6." in of(sample).found


def test_a_problem_is_said_instead_of_a_verdict(sample: Sample) -> None:
    def only_one(tested: dict[str, Any]) -> None:
        tested["family"]["problem"] = "fewer than two seeds"
        for entry in tested["comparisons"]:
            entry.update(outcome="untested", test=None, reach=None)

    change(sample, only_one)
    said = of(sample)
    assert "On test_1, by BLEU: opr, learned and none are not tested against sinusoidal." in said.found
    assert "No verdict on test_1 by BLEU: fewer than two seeds." in said.sure
    assert said.surer == [f"On {test}: finish at least two seeds of each system." for test in ("test_1", "test_2")]


def test_a_family_of_which_nothing_could_be_tested_gives_no_verdict(sample: Sample) -> None:
    """Each compared system has diverged, but two systems that are not compared give the family a spread."""

    def untest(tested: dict[str, Any]) -> None:
        for entry in tested["comparisons"]:
            entry.update(outcome="untested", test=None, reach=None)

    change(sample, untest)
    said = of(sample)
    assert not any(line.startswith("The verdicts rest on") for line in said.sure)
    assert said.surer == [f"On {test}, no comparison could be tested." for test in ("test_1", "test_2")]


def test_the_first_metric_is_that_of_the_study_whatever_the_order_in_the_files(sample: Sample) -> None:
    asked, results, data = sample
    turned = asked.model_copy(update={"report": asked.report.model_copy(update={"metrics": ["chrf++", "bleu"]})})
    assert any(line.startswith("On test_1, by BLEU: ") for line in of(sample).found)
    said = of((turned, results, data)).found
    assert said[0].startswith("On test_1, by chrF++: ") and any(line.startswith("BLEU gives") for line in said)


def test_problems_beyond_the_first_ones_are_counted(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordorder.report.answer.PLACES", 1)
    change(sample, lambda tested: tested["family"].update(problem="no variance"))
    first, more, *rest = of(sample).sure
    assert first == "No verdict on test_1 by BLEU: no variance."
    assert more == "No verdict on 3 more pairs of a test set and a metric."
    assert not any("No verdict" in line for line in rest)


def test_without_declared_comparisons_the_best_means_answer(sample: Sample) -> None:
    change(sample, lambda tested: tested.update(comparisons=[], family=None))
    said = of(sample)
    assert said.found[0] == "The study declares no comparisons."
    assert said.found[1].startswith("On test_1, by BLEU, ") and "has the best mean" in said.found[1]
    assert said.surer == []


def test_all_systems_that_share_a_letter_with_the_best_are_named(sample: Sample) -> None:
    """The best system has two letters, because it uses its own spread."""
    change(sample, lambda tested: tested.update(comparisons=[], family=None))
    asked, results, _ = sample
    alike = [Alike("test_1", "BLEU", {"a": ["opr", "none"], "b": ["opr", "learned"], "c": ["learned", "sinusoidal"]})]
    items = credibility_items(asked.report, results)
    (line,) = answer(asked.report, results, records.load(asked, results), items, alike).found[1:]
    assert "opr has the best mean; no significant difference from it was found for none and learned." in line


def test_the_best_mean_is_that_of_encodings_that_could_be_tested(sample: Sample) -> None:
    change(sample, lambda tested: tested.update(comparisons=[], family=None))
    asked, results, _ = sample
    alike = overview.alike(asked.report, build_table("scores", asked.report, results).data)
    best = next(iter(alike[0].groups.values()))[0]
    without = [
        replace(each, groups={letter: [name for name in own if name != best] for letter, own in each.groups.items()})
        for each in alike
    ]
    items = credibility_items(asked.report, results)
    said = answer(asked.report, results, records.load(asked, results), items, without).found[1]
    assert f"has the best mean of those that could be tested (all but {best})" in said


def test_the_difference_that_seeds_find_is_of_systems_that_vary_no_more_than_the_others(sample: Sample) -> None:
    words = "between systems that vary no more than the others"

    def undecided(tested: dict[str, Any]) -> None:
        tested["comparisons"][0].update(outcome="undecided")

    change(sample, undecided)
    assert not any(words in said for said in of(sample).surer)
    change(sample, lambda tested: tested["family"].update(unstable={"none": 0.001}))
    assert any(words in said for said in of(sample).surer)


def test_a_difference_within_the_margin_is_said_to_be_small(sample: Sample) -> None:
    change(sample, lambda tested: tested["comparisons"][0].update(outcome="worse, within the margin"))
    (line,) = [line for line in of(sample).found if line.startswith("On test_1, by BLEU: ")]
    assert ", within the margin)" in line and line.count("within the margin") == 1


def test_many_systems_are_counted_and_several_baselines_named(sample: Sample) -> None:
    def repeat(tested: dict[str, Any]) -> None:
        tested["comparisons"] = [tested["comparisons"][0] | {"outcome": "worse"}] * 7

    change(sample, repeat)
    (line,) = [line for line in of(sample).found if line.startswith("On test_1, by BLEU: ")]
    assert line.count("opr (") == 4 and line.endswith(" and 3 more are worse than sinusoidal.")
    change(sample, lambda tested: tested["comparisons"][0].update(baseline="none"))
    (line,) = [line for line in of(sample).found if line.startswith("On test_1, by BLEU: ")]
    assert "opr (against none) (" in line and line.endswith(" are worse.")


def test_more_seeds_are_judged_at_the_level_of_the_last_look(sample: Sample) -> None:
    family = family_of(sample)
    look = replace(family, summary=family.summary | {"level": {"level": 0.0076, "last": 0.0476}})
    now, last = (seeds_needed(1.0, family.power.sigma, 4, alpha=alpha, m=3) for alpha in (0.0076, 0.0476))
    assert look.seeds_for(1.0) == last != now


def test_the_confidence_is_that_of_the_family_with_the_highest_level(sample: Sample) -> None:
    path = sample[1] / "significance" / "pair.tiny.test_1.json"
    content = read_json(path)
    for tested in content["metrics"].values():
        tested["family"]["level"]["level"] = 0.01
    write_json(path, content)
    assert any("hold with 95 % confidence" in line for line in of(sample).sure)


def test_as_many_seeds_as_the_margin_needs_are_enough(sample: Sample) -> None:
    change(sample, lambda tested: tested["family"].update(seeds_needed=3))
    assert "These seeds are enough to find the margin, 0.50 BLEU." in of(sample).surer


def test_of_a_metric_that_counts_errors_the_lowest_mean_comes_first(sample: Sample) -> None:
    asked, results, _ = sample
    scores = build_table("scores", asked.report, results).data
    rows = scores[(scores["metric"] == "bleu") & (scores["test"] == "test_1")].assign(metric="ter", group="a")
    (found,) = overview.alike(asked.report, rows)
    assert found.groups == {"a": list(rows.sort_values("mean")["encoding"])}


def test_the_drawn_margin_is_around_zero(sample: Sample) -> None:
    asked, results, _ = sample
    drawn = [each.whisker for of in overview.comparisons(asked.report, results) for each in of.verdicts if each.whisker]
    margins = [(whisker.margin, whisker.zero) for whisker in drawn if whisker.margin]
    assert margins and all(low <= zero <= high and low < high for (low, high), zero in margins)
