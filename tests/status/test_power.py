"""Tests of ``wordorder power``: the number of seeds that a study needs."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from raises import raises
from snakemake_runs import ROOT
from wordorder.cli.main import main
from wordorder.config.seeds import Looks
from wordorder.files import read_json, write_json
from wordorder.statistics.power import seeds_needed
from wordorder.status.power import power_text, spreads
from wordorder.tables.summary import read_table
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.models import cell_files

CONFIG = ROOT / "config"
CONFIGURATION = Configuration(CONFIG)


def measured(results: Path, study: str, sigmas: dict[str, float]) -> None:
    """Write the comparisons of a study of three seeds and four systems, with a standard deviation for each test set."""
    for test, sigma in sigmas.items():
        family = {"procedure": "dunnett", "comparisons": 3, "seeds": [1, 2, 3], "sigma": sigma, "nu": 6}
        tested = {"signature": "x", "family": family | {"level": {"level": 0.05}}, "comparisons": []}
        content = {"size": "micro", "test": test, "cells": [], "not_scored": [], "metrics": {"bleu": tested}}
        write_json(results / study / "significance" / f"grammar.micro.{test}.json", content)


def test_a_stated_spread_is_that_of_the_declared_family(tmp_path: Path) -> None:
    demo = CONFIGURATION.study("demo")
    (spread,) = spreads(demo, CONFIGURATION, tmp_path, metric="bleu", sigma=0.3)
    assert (spread.systems, spread.comparisons, spread.seeds, spread.level) == (4, 3, 3, 0.05)
    assert math.isinf(spread.nu) and spread.range == (0.3, 0.3)
    assert spread.needed(0.5, 0.3) == seeds_needed(0.5, 0.3, 4)
    looks = demo.model_copy(update={"seeds": Looks(looks=[3, 5])})
    (spread,) = spreads(looks, CONFIGURATION, tmp_path, metric="bleu", sigma=0.3)
    assert spread.level == pytest.approx(0.007616, abs=1e-6)
    pairs = CONFIGURATION.study("crosslingual")
    (spread,) = spreads(pairs, CONFIGURATION, tmp_path, metric="bleu", sigma=0.3)
    assert (spread.procedure, spread.systems, spread.comparisons) == ("declared pairs", 6, 5)


def test_the_assumed_family_is_that_of_one_size() -> None:
    """The study has another encoding at its other size."""
    study = CONFIGURATION.study("xlpe_no_encoder").model_copy(update={"comparisons": []})
    assert (len(study.encodings), study.baseline) == (5, "sinusoidal_decoder")
    (spread,) = spreads(study, CONFIGURATION, Path(), metric="bleu", sigma=0.3)
    assert (spread.procedure, spread.systems, spread.comparisons) == ("baseline", 4, 3)


def test_families_that_differ_are_named_with_their_places(tmp_path: Path) -> None:
    measured(tmp_path, "demo", {"test": 0.25})
    demo = CONFIGURATION.study("demo")
    (first,) = spreads(demo, CONFIGURATION, tmp_path, metric="bleu")
    other = replace(first, place="grammar, large, test", comparisons=1, systems=2, nu_now=2)
    alone = power_text(demo, CONFIGURATION, tmp_path, 0.5, [first, replace(first, place="elsewhere")])
    assert "in a family of 3 comparisons of 4 systems. In parentheses" in alone
    both = power_text(demo, CONFIGURATION, tmp_path, 0.5, [first, other])
    places = "3 comparisons of 4 systems (grammar, micro, test) or 1 comparison of 2 systems (grammar, large, test)"
    assert f"in a family of {places}. In parentheses" in both


def test_after_a_run_the_spread_is_that_of_the_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured(tmp_path, "demo", {"test": 0.25})
    (spread,) = spreads(CONFIGURATION.study("demo"), CONFIGURATION, tmp_path, metric="bleu")
    low, high = spread.range
    assert (spread.sigma, spread.systems) == (0.25, 4) and low < 0.25 < high
    options = ["--difference", "0.5", "--results", str(tmp_path), "--root", str(CONFIG)]
    assert main(["power", "demo", *options]) == 0
    printed = capsys.readouterr().out
    needed = [spread.needed(0.5, sigma) for sigma in (0.25, low, high)]
    assert f"{needed[0]} ({needed[1]} to {needed[2]})" in printed
    assert f"With {needed[0]} seeds the study has {4 * (needed[0] or 0)} training" in printed
    assert "estimated" in printed
    assert main(["power", "demo", *options, "--json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert (record["seeds_needed"], record["seeds_needed_interval"]) == (needed[0], needed[1:])
    assert (record["sigma"], record["seeds"], record["detectable"]) == (0.25, 3, spread.detectable())


def test_a_system_that_varies_more_does_not_give_the_spread(tmp_path: Path) -> None:
    measured(tmp_path, "demo", {"test": 0.25})
    (path,) = (tmp_path / "demo" / "significance").glob("*.json")
    content = read_json(path)
    tests = {"opr": {"standard_error": 0.01, "nu": 2.0}, "learned": {"standard_error": 0.3, "nu": 6.0}}
    content["metrics"]["bleu"]["family"]["unstable"] = {"opr": 0.001}
    rest = {"value": 0.1, "t": 0.1, "p": 0.9, "interval": [-1.0, 1.0], "equivalence_interval": [-1.0, 1.0]}
    content["metrics"]["bleu"]["comparisons"] = [
        {"system": name, "baseline": "sinusoidal", "test": rest | test} for name, test in tests.items()
    ]
    write_json(path, content)
    (spread,) = spreads(CONFIGURATION.study("demo"), CONFIGURATION, tmp_path, metric="bleu")
    assert (spread.sigma, spread.nu) == (pytest.approx(0.3 * math.sqrt(3 / 2)), 6)


@pytest.mark.parametrize(("name", "corrected"), [("xlpe_mini", 0), ("seeds_matter", 1)])
def test_before_a_run_the_spread_is_that_of_the_reference_run(name: str, corrected: int) -> None:
    """The numbers are those of the committed tables, also for a baseline that varies more than the other systems."""
    study, results = CONFIGURATION.study(name), ROOT / "results"
    found = {spread.place: spread for spread in spreads(study, CONFIGURATION, results, metric="bleu")}
    table = read_table(results / "reference" / name / "tables" / "significance.csv")
    found_corrected = 0
    for (dataset, size, test), rows in table[table["metric"] == "bleu"].groupby(["dataset", "size", "test"]):
        row = rows.loc[rows["standard_error"].idxmin()]  # not of a system that varies more
        spread = found.pop(f"{dataset}, {size}, {test} (reference run)")
        found_corrected += row["baseline_check_p"] < 0.05
        assert spread.detectable() == pytest.approx(row["detectable"])
        assert spread.power(row["detectable"]) == pytest.approx(0.8)
        needed = None if math.isnan(row["seeds_for_margin"]) else row["seeds_for_margin"]
        assert spread.needed(row["margin"], spread.sigma) == needed
        expected = (len(study.encodings), len(study.seed_numbers), pytest.approx(row["nu"]))
        assert (spread.systems, spread.seeds, spread.nu) == expected
    assert found_corrected == corrected and not found


def test_the_spread_may_be_that_of_another_study(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["power", "opr", "--difference", "0.5", "--like", "opr_mini", "--root", str(CONFIG)]) == 0
    assert "opr_mini: mini_ende, micro, test (reference run)" in capsys.readouterr().out


def test_a_spread_that_is_too_small_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured(tmp_path, "demo", {"test": 0.25})
    options = ["power", "demo", "--difference", "0.5", "--results", str(tmp_path), "--root", str(CONFIG)]
    doubt = "this σ is probably too small, and so is the number of seeds"
    assert main(options) == 0 and doubt not in capsys.readouterr().out
    path = tmp_path / "demo" / "significance" / "grammar.micro.test.json"
    content = read_json(path)
    content["metrics"]["bleu"]["family"]["spread_check"] = {"p": 0.01, "small": True}
    write_json(path, content)
    assert main(options) == 0 and doubt in capsys.readouterr().out


def test_another_study_lends_its_largest_spread(tmp_path: Path) -> None:
    measured(tmp_path, "demo", {"test": 0.25})
    other = CONFIGURATION.study("crosslingual")
    (spread,) = spreads(other, CONFIGURATION, tmp_path, metric="bleu", like=CONFIGURATION.study("demo"))
    assert (spread.sigma, spread.nu, spread.systems) == (0.25, 6, 6)


def test_the_cost_is_that_of_the_trainings_that_are_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_json(tmp_path / "data/grammar/binary/train/meta.json", {"vocabulary_size": 500, "target_tokens": 36_000})
    record = {"target_tokens_per_second": 10.0, "precision": "fp32", "device": "cuda"}
    write_json(tmp_path / "models/grammar/none/micro/0/1/record.json", record)
    demo = CONFIGURATION.study("demo")
    assert demo.recipe.max_epochs is not None
    options = ["--results", str(tmp_path), "--root", str(CONFIG)]
    assert main(["power", "demo", "--difference", "0.5", "--sigma", "0.3", *options]) == 0
    hours = 4 * (seeds_needed(0.5, 0.3, 4) or 0) * demo.recipe.max_epochs
    assert f"{hours:,.1f} GPU-hours" in capsys.readouterr().out


def test_a_cost_is_that_of_all_families_and_encodings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo, options = CONFIGURATION.study("demo"), ["--results", str(tmp_path), "--root", str(CONFIG)]
    first = demo.model_copy(update={"encodings": ["none"]})
    for files in cell_files(first, CONFIGURATION, tmp_path).values():
        write_json(files.record, {"target_tokens_per_second": 10.0, "precision": "fp32", "device": "cpu"})
    assert main(["power", "demo", "--difference", "100", "--sigma", "0.3", *options]) == 0
    said = capsys.readouterr().out
    assert "With 2 seeds the study has 8 training runs; 6 remain" in said, "a third seed of one replaces no other"
    measured(tmp_path, "demo", {"test": 0.01})
    (small,) = spreads(demo, CONFIGURATION, tmp_path, metric="bleu")
    said = power_text(demo, CONFIGURATION, tmp_path, 0.5, [small, replace(small, sigma=1000.0)])
    assert "More than 10,000 seeds would be needed in 1 of 2 families." in said and "training runs" not in said


def test_what_cannot_be_computed_is_an_error(tmp_path: Path) -> None:
    demo = CONFIGURATION.study("demo")
    with raises("no-spread", path=tmp_path / "demo"):
        spreads(demo, CONFIGURATION, tmp_path, metric="bleu")
    with raises("unknown-metric", key="--metric", found="ter"):
        spreads(demo, CONFIGURATION, tmp_path, metric="ter", sigma=0.3)


@pytest.mark.parametrize("options", [["--difference", "0"], ["--difference", "0.5", "--sigma", "-1"]])
def test_a_difference_and_a_spread_are_positive(
    options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORDORDER_ERRORS", "json")
    assert main(["power", "demo", *options, "--root", str(CONFIG)]) == 1
    error = json.loads(capsys.readouterr().err)
    assert (error["code"], error["key"], error["found"]) == ("out-of-range", options[-2], float(options[-1]))


def test_one_source_of_the_standard_deviation_is_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORDORDER_ERRORS", "json")
    words = ["power", "demo", "--difference", "0.5", "--sigma", "0.3", "--like", "demo", "--root", str(ROOT / "config")]
    assert main(words) == 1
    error = json.loads(capsys.readouterr().err)
    assert (error["code"], error["key"]) == ("conflicting-options", "--sigma")


def test_the_seeds_that_are_needed_are_judged_at_the_last_look(tmp_path: Path) -> None:
    looks = CONFIGURATION.study("demo").model_copy(update={"seeds": Looks(looks=[3, 5])})
    (spread,) = spreads(looks, CONFIGURATION, tmp_path, metric="bleu", sigma=0.3)
    assert spread.last_level == pytest.approx(0.047595, abs=1e-6)
    assert spread.needed(0.5, 0.3) == seeds_needed(0.5, 0.3, 4, alpha=spread.last_level)
