"""The table of retention: which share of its score an encoding keeps on the test sets after the first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evaluation_samples import report, write_finished_study
from little_study import Workspace
from wildcards import Wildcards
from wordorder.cli.main import main
from wordorder.config.models import Report
from wordorder.tables.retention import retention_table
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.models import ModelRules
from wordorder.workflow.store import SliceStore
from wordorder.workflow.studies import StudyRules

SEEDS = [1, 2, 3, 4]
# Scores of the seeds on a test set with short sentences, and on one with long ones.
SHORT = {"sinusoidal": [20.0, 21.0, 19.0, 20.0], "alibi": [18.0, 19.0, 18.5, 18.0], "none": [10.0, 9.0, 11.0, 10.0]}
LONG = {"sinusoidal": [8.0, 9.0, 7.5, 8.1], "alibi": [12.0, 12.9, 12.0, 12.1], "none": [4.0, 3.7, 4.3, 4.1]}


def asked(names: list[str], tests: tuple[str, ...] = ("short", "long")) -> Report:
    return report(names, SEEDS, tests=tests).model_copy(update={"metrics": ["bleu"]})


def scores(by_test: dict[str, dict[str, list[float]]], metric: str = "bleu") -> pd.DataFrame:
    rows: list[dict[str, Any]] = [
        {"dataset": "pair", "size": "tiny", "encoding": name, "seed": seed, "test": test, "metric": metric}
        | {"score": score, "status": "diverged" if np.isnan(score) else "scored", "signature": ""}
        for test, of in by_test.items()
        for name, values in of.items()
        for seed, score in enumerate(values, 1)
    ]
    return pd.DataFrame(rows)


def declared(pairs: list[tuple[str, str]], procedure: str = "dunnett", test: str = "long") -> list[dict[str, Any]]:
    """Return what the table reads of the significance tests of the scores."""
    comparisons = [{"system": system, "baseline": baseline} for system, baseline in pairs]
    family = {"procedure": procedure, "level": {"level": 0.05, "exact": True}}
    metrics = {name: {"family": family, "comparisons": comparisons} for name in ("bleu", "ter", "comet")}
    return [{"dataset": "pair", "size": "tiny", "test": test, "metrics": metrics}]


ALL = [("alibi", "sinusoidal"), ("none", "sinusoidal")]


def only(names: list[str]) -> dict[str, dict[str, list[float]]]:
    return {"short": {name: SHORT[name] for name in names}, "long": {name: LONG[name] for name in names}}


def test_two_encodings_are_compared_by_the_paired_t_test_of_their_shares() -> None:
    names = ["sinusoidal", "alibi"]
    data = retention_table(scores(only(names)), declared(ALL[:1]), asked(names)).data.set_index("system")
    shares = {name: 100 * np.array(LONG[name]) / np.array(SHORT[name]) for name in names}
    differences = shares["alibi"] - shares["sinusoidal"]
    half = stats.t.isf(0.025, 3) * differences.std(ddof=1) / 2
    row = data.loc["alibi"]
    assert [row["kept"], row["baseline_kept"]] == pytest.approx(
        [of.mean() for of in (shares["alibi"], shares["sinusoidal"])]
    )
    assert [row["difference"], row["low"], row["high"]] == pytest.approx(
        [differences.mean(), differences.mean() - half, differences.mean() + half], rel=1e-4
    )
    assert row["p"] == pytest.approx(stats.ttest_1samp(differences, 0).pvalue, rel=1e-3)
    assert row["outcome"] == "keeps more"
    assert (row["first"], row["test"]) == ("short", "long")


def test_a_better_encoding_may_keep_as_much() -> None:
    names = ["sinusoidal", "alibi", "none"]
    data = retention_table(scores(only(names)), declared(ALL), asked(names)).data.set_index("system")
    assert data["outcome"].to_dict() == {"alibi": "keeps more", "none": "undecided"}


def test_encodings_without_a_comparison_only_add_to_the_estimate_of_the_variance() -> None:
    names = ["sinusoidal", "alibi", "none"]
    (row,) = retention_table(scores(only(names)), declared(ALL[:1]), asked(names)).data.to_dict("records")
    shares = np.array([100 * np.array(LONG[name]) / np.array(SHORT[name]) for name in names])
    residual = shares - shares.mean(1, keepdims=True) - shares.mean(0, keepdims=True) + shares.mean()
    half = stats.t.isf(0.025, 6) * np.sqrt(2 * (residual**2).sum() / 6 / 4)
    assert row["high"] - row["low"] == pytest.approx(2 * half, rel=1e-4)


def test_declared_pairs_are_compared_by_t_tests_with_holms_correction() -> None:
    names = ["sinusoidal", "alibi", "none"]
    pairs = [("sinusoidal", "alibi"), ("none", "alibi")]
    data = retention_table(scores(only(names)), declared(pairs, "declared pairs"), asked(names)).data
    shares = np.array([100 * np.array(LONG[name]) / np.array(SHORT[name]) for name in names])
    residual = shares - shares.mean(1, keepdims=True) - shares.mean(0, keepdims=True) + shares.mean()
    error = np.sqrt(2 * (residual**2).sum() / 6 / 4)
    p = 2 * stats.t.sf(abs(shares[[0, 2]].mean(1) - shares[1].mean()) / error, 6)
    first, second = np.argsort(p)
    p[first] *= 2
    p[second] = max(p)
    assert list(data["p"]) == pytest.approx(list(p))
    assert list(data["outcome"]) == ["keeps less"] * 2


@pytest.mark.parametrize("procedure", ["dunnett", "declared pairs"])
def test_models_that_have_learned_nothing_are_not_compared(procedure: str) -> None:
    names, tested = ["sinusoidal", "alibi", "none"], declared(ALL, procedure)
    for problem, outcomes in ((None, {"keeps more", "undecided"}), ("no score above the margin", {"not compared"})):
        tested[0]["metrics"]["bleu"]["family"]["problem"] = problem
        data = retention_table(scores(only(names)), tested, asked(names)).data
        assert set(data["outcome"]) == outcomes


def test_shares_of_a_test_set_on_which_nothing_was_learned_are_not_compared() -> None:
    names, tested = ["sinusoidal", "alibi", "none"], [*declared(ALL), *declared(ALL, test="short")]
    tested[1]["metrics"]["bleu"]["family"]["problem"] = "no score above the margin"
    assert set(retention_table(scores(only(names)), tested, asked(names)).data["outcome"]) == {"not compared"}


def test_diverged_and_unfinished_encodings_are_not_compared() -> None:
    names = ["sinusoidal", "alibi", "none"]
    by_test = only(names)
    by_test["short"]["none"] = by_test["long"]["none"] = [10.0, np.nan, 11.0, 10.0]
    by_test["short"]["alibi"] = [0.0, 0.0, 0.0, 19.0]  # a share of nothing is no number
    table = retention_table(scores(by_test), declared(ALL), asked(names))
    assert list(table.data["outcome"]) == ["not compared"] * 2
    shown = pd.DataFrame(table.blocks[0].texts, columns=table.blocks[0].columns)
    assert [cell.partition("(")[2] for cell in shown["System's share (%)"]] == ["n = 1 of 4)", "n = 3 of 4)"]


def test_notes_say_which_seeds_and_encodings_the_tests_do_not_use() -> None:
    names = ["sinusoidal", "alibi", "none"]
    by_test = only(names)
    by_test["long"]["alibi"] = [12.0, np.nan, 12.0, 12.1]  # diverged
    by_test["long"]["none"] = [np.nan, 4.0, 4.0, 4.0]
    found = pd.concat([scores(by_test), scores(by_test, "chrf++")])
    found.loc[found["encoding"] == "none", "status"] = "missing"
    found.loc[found["encoding"] == "alibi", "status"] = "diverged"
    (file,) = declared(ALL)
    file["metrics"]["chrf++"] = file["metrics"]["bleu"]
    wanted = asked(names).model_copy(update={"metrics": ["bleu", "chrf++"]})
    lost = "alibi: diverged; dropped seeds: 1"
    assert retention_table(found, [file], wanted).notes[-1] == (
        f"Not used in the tests ({lost}): pair/tiny on long, BLEU; pair/tiny on long, chrF++."
    )
    notes = retention_table(scores(only(names)), declared(ALL), asked(names)).notes
    assert not any("Not used" in note for note in notes)


def test_a_baseline_that_diverged_is_the_reason_for_no_test() -> None:
    names = ["sinusoidal", "alibi", "none"]
    by_test = {test: of | {"sinusoidal": [np.nan] * 4} for test, of in only(names).items()}
    table = retention_table(scores(by_test), declared(ALL), asked(names))
    assert "(sinusoidal: diverged; no test: baseline diverged)" in table.notes[-1]


def test_test_sets_are_compared_within_a_decoding() -> None:
    names = ["sinusoidal", "alibi"]
    tests = ("short@beam", "short@greedy", "long@beam", "long@greedy")
    by_test = only(names)
    compared = [file for test in tests for file in declared(ALL[:1], test=test)]
    found = scores({name: by_test[name.partition("@")[0]] for name in tests})
    data = retention_table(found, compared, asked(names, tests)).data
    assert list(data["first"]) == ["short@beam", "short@greedy"]
    assert list(data["test"]) == ["long@beam", "long@greedy"]


@pytest.mark.parametrize(
    ("metric", "tests"), [("ter", ("short", "long")), ("comet", ("short", "long")), ("bleu", ("short",))]
)
def test_nothing_to_compare_is_a_sentence(metric: str, tests: tuple[str, ...]) -> None:
    names = ["sinusoidal", "alibi"]
    by_test = {test: only(names)[test] for test in tests}
    wanted = asked(names, tests).model_copy(update={"metrics": [metric]})
    table = retention_table(scores(by_test, metric), declared(ALL[:1]), wanted)
    assert table.data.empty and "outcome" in table.data.columns, "the CSV keeps its heading"
    assert "no other test set, or no metric" in table.blocks[0].texts[0][0]


def test_the_command_writes_the_table_of_a_study(tmp_path: Path) -> None:
    small = report(["sinusoidal", "none"], [1, 2, 3])
    write_finished_study(tmp_path, small, {"sinusoidal": 0.2, "none": 0.5})
    prefix = tmp_path / "tables" / "retention"
    line = ["stage", "table", "retention", "--config", small.model_dump_json(), "--results", str(tmp_path)]
    assert main([*line, "--output-prefix", str(prefix)]) == 0
    written = pd.read_csv(f"{prefix}.csv")
    assert list(written["system"]) == ["none"] * 2, "two metrics"
    assert set(written["test"]) == {"test_2"} and set(written["first"]) == {"test_1"}
    assert "Baseline's share (%)" in Path(f"{prefix}.md").read_text()


def test_a_study_asks_for_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace(tmp_path)
    workspace.write()
    workspace.change("studies/little.yaml", "seeds:", "tables: [scores, retention]\nseeds:")
    configuration = Configuration(workspace.config)
    study = configuration.study("little")
    rules = StudyRules(configuration, ModelRules(configuration, SliceStore(is_main=True)))
    assert "results/little/tables/retention.csv" in rules.tables(study)
    job = Wildcards(study="little", table="retention")
    assert rules.table_inputs(job) == rules.evaluations(study) + rules.significance_files(study)
