"""The table of controls: an encoding, the same parameters without order, and the baseline."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evaluation_samples import report, write_study
from little_study import Workspace
from raises import raises
from wildcards import Wildcards
from wordorder.cli.main import main
from wordorder.comparison.levels import level_of
from wordorder.config.pages import CONTROLS, Controls
from wordorder.config.seeds import Looks
from wordorder.files import write_json
from wordorder.report.build import build_controls_table
from wordorder.tables.controls import controls_table
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.models import ModelRules
from wordorder.workflow.store import SliceStore
from wordorder.workflow.studies import StudyRules
from wordorder.workflow.study_slices import controls_of, page_slice

NAMES = ["sinusoidal", "learned", "learned_control", "relative", "relative_control"]
RATES = dict(zip(NAMES, (0.3, 0.15, 0.35, 0.2, 0.5), strict=True))
SEEDS = [1, 2, 3]
ASKED = Controls(
    report=report(NAMES, SEEDS, tests=("test_1",)),
    controls={"learned_control": "learned", "relative_control": "relative"},
)


def write_tests(results: Path, *, exact: bool = True) -> None:
    """Write the part of a file of significance tests that the table reads."""
    content = {"size": "tiny", "test": "test_1", "cells": [], "not_scored": []}
    family = {"margin": 1.5, "level": {"exact": exact}}
    metrics = {"bleu": {"family": family, "comparisons": []}, "chrf++": {"family": None, "comparisons": []}}
    write_json(results / "significance/pair.tiny.test_1.json", content | {"metrics": metrics})


def test_differences_and_intervals_are_those_of_the_seed_blocked_model(tmp_path: Path) -> None:
    write_study(tmp_path, ASKED.report, RATES)
    write_tests(tmp_path)
    table = build_controls_table(ASKED, tmp_path)
    rows = table.data[table.data["metric"] == "bleu"]
    assert list(zip(rows["encoding"], rows["comparison"], strict=True)) == [
        (name, what) for name in ("learned", "relative") for what in ("encoding - control", "control - baseline")
    ]
    config = ASKED.report.model_dump_json()
    prefix = tmp_path / "tables/scores"
    line = ["stage", "table", "scores", "--config", config, "--results", str(tmp_path), "--output-prefix", str(prefix)]
    assert main(line) == 0
    scores = pd.read_csv(f"{prefix}.csv").query("metric == 'bleu'").set_index("encoding")
    by_seed = scores[[f"seed {seed}" for seed in SEEDS]].to_numpy()
    residual = by_seed - by_seed.mean(1, keepdims=True) - by_seed.mean(0, keepdims=True) + by_seed.mean()
    nu = (len(NAMES) - 1) * (len(SEEDS) - 1)
    error = np.sqrt(2 * (residual**2).sum() / nu / len(SEEDS))
    half = stats.t.isf(0.05 / 2 / 4, nu) * error  # four comparisons
    for row in rows.to_dict("records"):
        ends = (row["encoding"], row["control"])
        one, other = ends if row["comparison"] == "encoding - control" else (row["control"], row["baseline"])
        difference = scores["mean"][one] - scores["mean"][other]
        assert row["difference"] == pytest.approx(difference)
        assert (row["low"], row["high"]) == pytest.approx((difference - half, difference + half))
        assert row["margin"] == 1.5 and row["encoding_parameters"] == row["encoding_parameters"]
    assert rows["outcome"].iloc[0].startswith("better")
    shown = pd.DataFrame(table.blocks[0].texts, columns=table.blocks[0].columns)
    assert list(shown["Encoding"]) == ["learned", "relative"] * 2, "two metrics"
    assert shown["Encoding − control"].iloc[0] == f"{rows['difference'].iloc[0]:+.2f}"


@pytest.mark.parametrize("exact", [True, False])
def test_the_notes_say_when_an_undeclared_look_leaves_no_exact_level(tmp_path: Path, exact: bool) -> None:
    write_study(tmp_path, ASKED.report, RATES)
    write_tests(tmp_path, exact=exact)
    notes = build_controls_table(ASKED, tmp_path).notes
    assert any("no level is exact" in note for note in notes) is not exact


def test_a_lost_control_is_not_compared(tmp_path: Path) -> None:
    write_study(tmp_path, ASKED.report, {name: RATES[name] for name in NAMES if name != "relative_control"})
    write_tests(tmp_path)
    table = build_controls_table(ASKED, tmp_path)
    rows = table.data
    assert "tests (relative_control: fewer than two seeds): pair/tiny on test_1, BLEU" in table.notes[-1]
    lost = rows[(rows["control"] == "relative_control") & (rows["metric"] == "bleu")]
    assert list(lost["outcome"]) == ["untested"] * 2 and lost["difference"].isna().all()
    kept = rows[(rows["control"] == "learned_control") & (rows["metric"] == "bleu")]
    assert kept["difference"].notna().all()


def test_a_note_names_the_seeds_that_the_tests_do_not_use(tmp_path: Path) -> None:
    write_study(tmp_path, ASKED.report, RATES)
    write_tests(tmp_path)
    assert not any("Not used" in note for note in build_controls_table(ASKED, tmp_path).notes)
    (tmp_path / "cells/pair/learned/tiny/2/test_1.scores.json").unlink()
    assert "Not used in the tests (dropped seeds: 2)" in build_controls_table(ASKED, tmp_path).notes[-1]


def test_a_dropped_seed_changes_the_level_of_declared_looks(tmp_path: Path) -> None:
    looks = Looks(looks=[2, 3], until=3)
    looked = ASKED.model_copy(update={"report": ASKED.report.model_copy(update={"looks": looks})})
    write_study(tmp_path, ASKED.report, RATES)
    write_tests(tmp_path)
    (tmp_path / "cells/pair/learned/tiny/2/test_1.scores.json").unlink()
    usual, wider = (build_controls_table(asked, tmp_path).data.query("metric == 'bleu'") for asked in (ASKED, looked))
    nu, level = len(NAMES) - 1, level_of(0.05, [1, 3], looks).level
    ratio = stats.t.isf(level / 2 / 4, nu) / stats.t.isf(0.05 / 2 / 4, nu)
    assert level < level_of(0.05, SEEDS, looks).level
    assert list(wider["high"] - wider["low"]) == pytest.approx(list(ratio * (usual["high"] - usual["low"])))


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    workspace = Workspace(tmp_path)
    workspace.write()
    controlled = "learned: {type: learned, table: 99}\nmine: {type: learned, table: 99, control: 8}\n"
    controlled += "other: {type: learned, table: 50, control: 8}\n"
    both = "{compose: [{type: opr}, {type: relative, clip: 4%s}]}"
    controlled += f"both: {both % ''}\nboth_control: {both % ', control: 3'}\n"
    workspace.change("encodings.yaml", "sinusoidal:", f"{controlled}sinusoidal:")
    workspace.folder.mkdir()
    monkeypatch.chdir(workspace.folder)
    return workspace


def test_controls_are_found_by_what_they_say(workspace: Workspace) -> None:
    names = "[opr, sinusoidal, learned, mine, other, both, both_control]"
    workspace.change("studies/little.yaml", "[opr, sinusoidal]", names)
    configuration = Configuration(workspace.config)
    study = configuration.study("little")
    assert controls_of(study, configuration) == {"mine": "learned", "both_control": "both"}
    rules = StudyRules(configuration, ModelRules(configuration, SliceStore(is_main=True)))
    tables = [Path(file).stem for file in rules.tables(study) if file.endswith(".csv")]
    assert tables == ["scores", "significance", "variance", "parameters", CONTROLS, "credibility"]
    job = Wildcards(study="little", table=CONTROLS)
    assert Controls.model_validate_json(rules.table_slice(job)).controls == controls_of(study, configuration)
    assert rules.table_inputs(job) == rules.evaluations(study) + rules.significance_files(study)
    assert '"controls":{"controls":' in page_slice(study, configuration)


def test_a_study_without_controls_has_no_such_table(workspace: Workspace) -> None:
    configuration = Configuration(workspace.config)
    study = configuration.study("little")
    rules = StudyRules(configuration, ModelRules(configuration, SliceStore(is_main=True)))
    assert not any(CONTROLS in file for file in rules.tables(study))
    with raises("no-controls", key="encodings", says="'controls'"):
        rules.table_slice(Wildcards(study="little", table=CONTROLS))


def test_parameters_are_those_of_the_models_of_one_size(tmp_path: Path) -> None:
    both = ASKED.report.model_copy(update={"sizes": ["tiny", "large"]})
    records = pd.DataFrame(
        [
            {"dataset": "pair", "size": size, "encoding": name, "seed": 1, "parameters": count}
            for size, count in (("tiny", 2e6), ("large", 9e6))
            for name in NAMES
        ]
    )
    cells = records.drop(columns="parameters").assign(test="test_1", metric="bleu", score=20.0, status="scored")
    table = controls_table(cells, records, [], ASKED.model_copy(update={"report": both}))
    counts = table.data.groupby("size")["encoding_parameters"].unique()
    assert {size: list(found) for size, found in counts.items()} == {"tiny": [2e6], "large": [9e6]}
