"""Tests of the tables of significance tests and of variances."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evaluation_samples import (
    family,
    report,
    translations,
    write_finished_study,
    write_study,
)
from raises import raises
from table_samples import cells_of, table
from wordorder.cli.main import main
from wordorder.comparison.significance import compare
from wordorder.config.models import Report
from wordorder.config.seeds import Looks
from wordorder.files import read_json, write_json
from wordorder.results.frames import load_significance
from wordorder.tables.comparisons import COMPONENTS, significance_table


def test_all_signatures_of_a_metric_stand_below(study: Report, tmp_path: Path) -> None:
    files = load_significance(study, tmp_path)
    files[1]["metrics"]["bleu"]["signature"] = "tok:zh"
    (note,) = [note for note in significance_table(files, study).notes if note.startswith("BLEU: ")]
    assert note.startswith("BLEU: nrefs:1|") and note.endswith(" and tok:zh")


def test_significance(study: Report, tmp_path: Path) -> None:
    data, markdown, _ = table("significance", study, tmp_path)
    assert len(data) == 3 * 2 * 2  # comparisons x tests x metrics
    entry = read_json(tmp_path / "significance" / "pair.tiny.test_1.json")["metrics"]["bleu"]["comparisons"][0]
    row = data.iloc[0]
    assert (row["system"], row["baseline"], row["metric"]) == ("opr+rpr", "none", "bleu")
    test = entry["t_test"]
    assert row["mean_difference"] == pytest.approx(test["mean_difference"])
    assert [row["ci_low"], row["ci_high"]] == pytest.approx(test["confidence_interval"])
    assert (row["t_test_p"], row["holm_p"]) == pytest.approx((test["p"], test["p_holm"]))
    assert row["bootstrap p seed 3"] == pytest.approx(entry["seeds"][2]["p"])
    assert row["verdict"] == entry["verdict"]
    cells = cells_of(markdown)[1]
    found, family_of = entry["test"], read_json(tmp_path / "significance" / "pair.tiny.test_1.json")["metrics"]["bleu"]
    assert cells[5] == f"{found['value']:+.2f}" and cells[-1] == "better, on this test set and on other sentences"
    assert (row["outcome"], row["reach"]) == ("better", "and on other sentences")
    assert [row["low"], row["high"]] == pytest.approx(found["interval"])
    assert (row["p"], row["detectable"]) == pytest.approx((found["p"], family_of["family"]["detectable"]))
    tested = data.dropna(subset=["detectable"])
    assert ((tested["high"] - tested["low"]) / 2 < tested["detectable"]).all(), "a shorter interval finds more"
    stratified = entry["stratified"]
    spread = stratified["spread"]["difference"]
    assert [row["stratified_p"], row["optimiser_sd"]] == [stratified["p"], pytest.approx(spread["optimiser_sd"])]
    _, verdicts, families, others = markdown.split("Pair German→English: ")
    assert verdicts.startswith("differences and verdicts") and others.startswith("other tests")
    first = [cell.strip() for cell in families.splitlines()[4].strip("|").split("|")]
    assert first[3:6] == ["Dunnett, step-down", "3", "3"] and "learned_t5: diverged" in first[-1]
    cells = [cell.strip() for cell in others.splitlines()[4].strip("|").split("|")]
    assert cells[9:12] == [
        f"{spread['optimiser_sd']:.2f}",
        f"{spread['test_set_sd']:.2f}",
        f"{100 * entry['agreement']:.0f} %",
    ]
    assert row["sign better seed 2"] == entry["seeds"][1]["sign"]["better"]
    assert "pair/learned_t5/tiny seed 2 on test_1 (no hypotheses)" in markdown
    assert "null against none: untested" in data["verdict"].str.cat()


def test_what_could_not_be_tested_has_no_expected_human_agreement(study: Report, tmp_path: Path) -> None:
    """The seeds of a diverged system that survive have scores, and so a difference."""
    data, markdown, _ = table("significance", study, tmp_path)
    own = data[(data["metric"] == "bleu") & (data["test"] == "test_1")].set_index("system")
    assert own.loc["learned_t5", "outcome"] == "untested" and pd.notna(own.loc["learned_t5", "mean_difference"])
    assert own["human_agreement"].notna().to_dict() == {"opr+rpr": True, "learned_t5": False, "null": False}
    others = markdown.split("Pair German→English: ")[3].splitlines()
    cells = [cell.strip() for cell in others[5].strip("|").split("|")]
    assert (cells[3], cells[11]) == ("learned_t5", "–")


def test_doubts_about_a_family_are_noted(study: Report, tmp_path: Path) -> None:
    files = load_significance(study, tmp_path)
    families = [tested["family"] for file in files for tested in file["metrics"].values()]
    for each in families:
        each.update(spread_check=None, unstable={})
    doubts = (
        *("no level is exact, and false findings", "the baseline check has p below 0.05"),
        *("names a system that varies more", "a note says that σ is too small"),
    )
    before = significance_table(files, study)
    assert not any(doubt in note for note in before.notes for doubt in doubts)
    families[0]["level"]["exact"] = False
    families[0]["baseline_check"] = {"f": 9.0, "p": 0.01, "corrects": True}
    families[0]["unstable"] = {"opr+rpr": 0.00456}
    families[0]["spread_check"] = {"p": 0.0123, "small": True}
    after = significance_table(files, study)
    assert all(sum(doubt in note for note in after.notes) == 1 for doubt in doubts)
    notes = [row["Notes"].main for row in after.blocks[1].rows]
    assert "exact; opr+rpr varies more (p = 0.0046); σ is too small (p = 0.012)" in notes[0]
    assert "σ" not in "".join(notes[1:])
    families[0]["changed"] = [["opr", "none"]]
    (row, *_) = significance_table(files, study).blocks[1].rows
    assert "opr and none changed after the scores were known" in row["Notes"].main


def test_the_note_names_the_confidence_that_decides_equivalence(study: Report, tmp_path: Path) -> None:
    files = load_significance(study, tmp_path)
    families = [tested["family"] for file in files for tested in file["metrics"].values()]
    assert "the simultaneous 90 % interval is within the margin" in significance_table(files, study).notes[0]
    families[0]["level"]["level"] = 0.007616  # the first of two looks, after three of five seeds
    assert "the simultaneous 98.5 or 90 % interval is" in significance_table(files, study).notes[0]
    looks = study.model_copy(update={"looks": Looks(looks=[3, 5])})
    assert "the simultaneous 98.5 % interval is" in significance_table([], looks).notes[0]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("family.sigma", "0.5"),
        ("family.level.exact", "no"),
        ("family.spread_check", {"p": 0.3}),
        ("comparisons.0.test.p", "0.03"),
        ("comparisons.0.test.interval", "0.1 to 0.2"),
        ("comparisons.0.verdict", None),
        ("comparisons.0.t_test", []),
        ("comparisons.0.both", "no"),
    ],
)
def test_a_damaged_number_of_a_significance_test_is_said(study: Report, tmp_path: Path, key: str, value: Any) -> None:
    path = tmp_path / "significance/pair.tiny.test_1.json"
    content = read_json(path)
    where = content["metrics"]["bleu"]
    *parents, last = [int(each) if each.isdigit() else each for each in key.split(".")]
    for name in parents:
        where = where[name]
    assert last in where
    where[last] = value
    write_json(path, content)
    with raises("invalid-value", path=path, says=f"metrics.bleu.{key}"):
        load_significance(study, tmp_path)


def test_variance_components_are_those_of_the_comparison(study: Report, tmp_path: Path) -> None:
    data, markdown, _ = table("variance", study, tmp_path)
    assert len(data) == 2 * 2  # tests x metrics
    tested = read_json(tmp_path / "significance" / "pair.tiny.test_2.json")["metrics"]["chrf++"]["family"]
    row = data[(data["test"] == "test_2") & (data["metric"] == "chrf++")].iloc[0]
    components = {name: tested["components"][name] for name in COMPONENTS}
    assert {name: row[name] for name in components} == pytest.approx(components)
    assert cells_of(markdown)[4][3:] == [f"{value:.2f}" for value in components.values()]


def change_families(results: Path, changes: dict[tuple[str, str], Any]) -> None:
    """Write other problems of (test set, metric), which then has no components of variance."""
    for (test, metric), problem in changes.items():
        path = results / "significance" / f"pair.tiny.{test}.json"
        content = read_json(path)
        content["metrics"][metric]["family"] |= {"problem": problem, "components": None}
        write_json(path, content)


ALL_FAMILIES = list(itertools.product(("test_1", "test_2"), ("bleu", "chrf++")))


def test_variances_that_are_lost_on_some_test_sets_are_named(study: Report, tmp_path: Path) -> None:
    changes = dict.fromkeys(ALL_FAMILIES[2:], "no score above the margin") | {ALL_FAMILIES[0]: "no variance"}
    change_families(tmp_path, changes)
    data, markdown, _ = table("variance", study, tmp_path)
    assert data[["test", "metric"]].to_numpy().tolist() == [["test_1", "chrf++"]]
    assert "- Not estimated (no variance): pair/tiny on test_1, BLEU.\n" in markdown
    lost = "pair/tiny on test_2, BLEU; pair/tiny on test_2, chrF++"
    assert f"- Not estimated (no score above the margin): {lost}.\n" in markdown


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        ("no score above the margin", "Not estimated: no score above the margin."),
        (None, "Not estimated: no statistics of sentences."),
        ("fewer than two seeds", "Fewer than two systems with two seeds were compared."),
    ],
)
def test_a_study_without_variances_says_why(study: Report, tmp_path: Path, problem: str | None, said: str) -> None:
    change_families(tmp_path, dict.fromkeys(ALL_FAMILIES, problem))
    data, markdown, _ = table("variance", study, tmp_path)
    assert data.empty and cells_of(markdown)[1] == [said]
    command = ["stage", "figure", "variance", "--config", study.model_dump_json(), "--results", str(tmp_path)]
    assert main([*command, "--output-prefix", str(tmp_path / "figures/variance")]) == 0
    drawing = (tmp_path / "figures/variance.svg").read_text()
    assert f"{said[0].lower()}{said[1:-1]}" in drawing


def test_a_study_without_comparisons_has_empty_significance(tmp_path: Path) -> None:
    asked = report(["none"], [1], ("test_1",))
    references = write_study(tmp_path, asked, {"none": 0.5})
    asked_family = family(["none"], [1])
    files = translations(tmp_path, asked_family, "test_1")
    found = compare(asked_family, files, "tiny", "test_1", references / "test_1.target")
    write_json(tmp_path / "significance" / "pair.tiny.test_1.json", found)
    _, markdown, latex = table("significance", asked, tmp_path)
    assert "No comparisons" in markdown
    assert "No comparisons" in latex


def test_a_size_without_comparisons_has_no_family(tmp_path: Path) -> None:
    """A size with one encoding only has nothing to compare."""
    asked = report(["null", "learned"], [1, 2], tests=("test_1",))
    references = write_finished_study(tmp_path, asked, {"null": 0.4, "learned": 0.1})
    lone = family(["null", "learned"], [1, 2], samples=20).among(["null"])
    assert (lone.encodings, lone.comparisons) == ([], [])
    found = compare(lone, {}, "lone", "test_1", references / "test_1.target")
    write_json(tmp_path / "significance/pair.lone.test_1.json", found)
    both = asked.model_copy(update={"sizes": ["tiny", "lone"], "only": {"lone": ["null"]}})
    (alone, again) = (significance_table(load_significance(each, tmp_path), each) for each in (asked, both))
    assert again.csv == alone.csv and again.blocks == alone.blocks


def test_missing_significance_is_said(study: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "significance" / "pair.tiny.test_2.json").unlink()
    command = ["stage", "table", "significance", "--config", study.model_dump_json(), "--results", str(tmp_path)]
    assert main([*command, "--output-prefix", str(tmp_path / "t")]) == 1
    assert "pair.tiny.test_2.json does not exist" in capsys.readouterr().err
