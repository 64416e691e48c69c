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


def only(names: list[str]) -> dict[str, dict[str, list[float]]]:
    return {"short": {name: SHORT[name] for name in names}, "long": {name: LONG[name] for name in names}}


def test_two_encodings_are_compared_by_the_paired_t_test_of_their_shares() -> None:
    names = ["sinusoidal", "alibi"]
    data = retention_table(scores(only(names)), asked(names)).data.set_index("encoding")
    shares = {name: 100 * np.array(LONG[name]) / np.array(SHORT[name]) for name in names}
    differences = shares["alibi"] - shares["sinusoidal"]
    half = stats.t.isf(0.025, 3) * differences.std(ddof=1) / 2
    row = data.loc["alibi"]
    assert row["kept"] == pytest.approx(shares["alibi"].mean()) and row["n"] == 4
    assert row["sd"] == pytest.approx(shares["alibi"].std(ddof=1))
    assert [row["difference"], row["low"], row["high"]] == pytest.approx(
        [differences.mean(), differences.mean() - half, differences.mean() + half], rel=1e-4
    )
    assert row["p"] == pytest.approx(stats.ttest_1samp(differences, 0).pvalue, rel=1e-3)
    assert row["outcome"] == "keeps more"
    assert (row["first"], row["test"]) == ("short", "long")
    assert data.loc["sinusoidal", "outcome"] == "" and np.isnan(data.loc["sinusoidal", "difference"])


def test_a_better_encoding_may_keep_as_much() -> None:
    names = ["sinusoidal", "alibi", "none"]
    data = retention_table(scores(only(names)), asked(names)).data.set_index("encoding")
    assert data["outcome"].to_dict() == {"sinusoidal": "", "alibi": "keeps more", "none": "undecided"}


def test_diverged_and_unfinished_encodings_are_not_compared() -> None:
    names = ["sinusoidal", "alibi", "none"]
    by_test = only(names)
    by_test["short"]["none"] = by_test["long"]["none"] = [10.0, np.nan, 11.0, 10.0]
    by_test["short"]["alibi"] = [0.0, 0.0, 0.0, 19.0]  # a share of nothing is no number
    data = retention_table(scores(by_test), asked(names)).data.set_index("encoding")
    assert data["outcome"].to_dict() == {"sinusoidal": "", "alibi": "not compared", "none": "not compared"}
    assert data["n"].to_dict() == {"sinusoidal": 4, "alibi": 1, "none": 3}


def test_test_sets_are_compared_within_a_decoding() -> None:
    names = ["sinusoidal", "alibi"]
    tests = ("short@beam", "short@greedy", "long@beam", "long@greedy")
    by_test = only(names)
    data = retention_table(scores({name: by_test[name.partition("@")[0]] for name in tests}), asked(names, tests)).data
    assert list(zip(data["first"], data["test"], strict=True)) == [
        ("short@beam", "long@beam"),
        ("short@beam", "long@beam"),
        ("short@greedy", "long@greedy"),
        ("short@greedy", "long@greedy"),
    ]


@pytest.mark.parametrize(
    ("metric", "tests"), [("ter", ("short", "long")), ("comet", ("short", "long")), ("bleu", ("short",))]
)
def test_nothing_to_compare_is_a_sentence(metric: str, tests: tuple[str, ...]) -> None:
    names = ["sinusoidal", "alibi"]
    by_test = {test: only(names)[test] for test in tests}
    table = retention_table(scores(by_test, metric), asked(names, tests).model_copy(update={"metrics": [metric]}))
    assert table.data.empty and "no other test set, or no metric" in table.blocks[0].texts[0][0]


def test_the_command_writes_the_table_of_a_study(tmp_path: Path) -> None:
    small = report(["sinusoidal", "none"], [1, 2, 3])
    write_finished_study(tmp_path, small, {"sinusoidal": 0.2, "none": 0.5})
    prefix = tmp_path / "tables" / "retention"
    line = ["stage", "table", "retention", "--config", small.model_dump_json(), "--results", str(tmp_path)]
    assert main([*line, "--output-prefix", str(prefix)]) == 0
    written = pd.read_csv(f"{prefix}.csv")
    assert list(written["encoding"]) == ["sinusoidal", "none"] * 2, "two metrics"
    assert set(written["test"]) == {"test_2"} and set(written["first"]) == {"test_1"}
    assert "Difference from sinusoidal" in Path(f"{prefix}.md").read_text()


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
