"""A user's metric is one file in a folder that WORDORDER_PLUGINS names; nothing else has to know its name.

Each command runs in a process of its own, as a user's does, so that other tests do not see the metric.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evaluation_samples import family, report, translations, write_study
from guide import plugin
from wordorder.config.models import metric_name
from wordorder.files import read_json

ROOT = Path(__file__).parents[2]
METRICS: list[Any] = ["bleu", {"length_error": {"unit": "characters"}}]
ENCODINGS, SEEDS = ["base", "good"], [1, 2, 3]

STUDY = """
name: own_metric
title: A metric of our own
based_on: demo
metrics: [bleu, {length_error: {UNIT}}]
"""

# A metric without statistics of sentences.
LONGEST = """
from wordorder.metrics.base import TextMetric, register

@register("longest")
class Longest(TextMetric):
    label = "Longest"
    decomposes = False
    signature = "longest|version:1"

    def corpus_score(self, hypotheses, references):
        return float(max(map(len, hypotheses))), {}
"""


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """Return a folder with the metric of docs/extending.md."""
    folder = tmp_path / "own"
    (folder / "metrics").mkdir(parents=True)
    (folder / "metrics" / "length_error.py").write_text(plugin("metrics"), encoding="utf-8")
    return folder


def run(*commands: list[str], plugins: Path) -> subprocess.CompletedProcess[str]:
    """Run wordorder commands, one after another until one fails."""
    code = "import json, sys; from wordorder.cli.main import main; sys.exit(any(map(main, json.loads(sys.argv[1]))))"
    environment = os.environ | {"WORDORDER_PLUGINS": str(plugins), "WORDORDER_ERRORS": "json"}
    arguments = [sys.executable, "-c", code, json.dumps(commands)]
    return subprocess.run(arguments, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("unit: characters", None),
        ("unit: syllables", {"code": "unknown-choice", "key": "metrics[1].length_error.unit"}),
        ("units: words", {"code": "unknown-key", "key": "metrics[1].length_error.units", "suggestion": "unit"}),
    ],
)
def test_a_study_may_name_it_and_its_settings_are_checked(
    settings: str, said: dict[str, str] | None, tmp_path: Path, plugins: Path
) -> None:
    study = tmp_path / "own_metric.yaml"
    study.write_text(STUDY.replace("UNIT", settings))
    done = run(["check", str(study)], plugins=plugins)
    assert (done.returncode == 0) == (said is None), done.stderr
    assert said is None or (said | {"line": 5}).items() <= json.loads(done.stderr).items()


def test_it_is_unknown_without_the_folder(tmp_path: Path) -> None:
    study = tmp_path / "own_metric.yaml"
    study.write_text(STUDY.replace("UNIT", ""))
    (tmp_path / "plugins").mkdir()
    done = run(["check", str(study)], plugins=tmp_path / "plugins")
    assert done.returncode == 1
    error = json.loads(done.stderr)
    assert (error["code"], error["key"], error["found"]) == ("unknown-name", "metrics[1]", "length_error")


def evaluated(results: Path, metrics: Sequence[Any], plugins: Path) -> dict[str, str]:
    """Score, compare and tabulate a study by these metrics; returns the printed tables by name."""
    asked, shown = family(ENCODINGS, SEEDS), report(ENCODINGS, SEEDS, ("test_1",))
    target = str(write_study(results, shown, {"base": 0.5, "good": 0.1}) / "test_1.target")
    files = translations(results, asked, "test_1")
    scoring = json.dumps({"metrics": metrics, "target_language": "de"})
    commands = []
    for (encoding, seed), path in files.items():
        lines = path.read_text(encoding="utf-8").splitlines()
        longer = "!" * (10 + seed) if encoding == "base" else ""  # in every sentence, by more in each seed
        path.write_text("".join(f"{line}{longer}\n" for line in lines), encoding="utf-8")
        output = str(path.with_name("test_1.scores.json"))
        commands.append(["stage", "score", "--config", scoring, "--hypotheses", str(path)])
        commands[-1] += ["--references", target, "--output", output]
    compared = json.dumps(asked.model_dump(mode="json") | {"metrics": metrics})
    commands.append(["stage", "compare", "--config", compared, "--size", "tiny", "--test", "test_1"])
    commands[-1] += [
        "--references",
        target,
        "--output",
        str(results / "significance" / "pair.tiny.test_1.json"),
        *map(str, files.values()),
    ]
    names = [metric_name(metric) for metric in metrics]
    slice_ = json.dumps(shown.model_dump(mode="json") | {"metrics": names})
    prefixes = {name: results / "tables" / name for name in ("scores", "significance")}
    for name, prefix in prefixes.items():
        commands.append(["stage", "table", name, "--config", slice_, "--results", str(results)])
        commands[-1] += ["--output-prefix", str(prefix)]
    done = run(*commands, plugins=plugins)
    assert done.returncode == 0, done.stderr
    return {name: prefix.with_suffix(".md").read_text(encoding="utf-8") for name, prefix in prefixes.items()}


def test_it_is_scored_compared_and_shown_with_its_direction(tmp_path: Path, plugins: Path) -> None:
    tables = evaluated(tmp_path, METRICS, plugins)
    assert "test_1 Length error ↓" in tables["scores"]
    assert "- Length error: length_error|unit:characters|version:1" in tables["scores"]
    data = pd.read_csv(tmp_path / "tables" / "scores.csv").set_index(["encoding", "metric"])
    # Kept to one decimal in print, in full in the data.
    assert f"| {data.loc[('base', 'length_error'), 'mean']:.1f} ± " in tables["scores"]
    entry = read_json(tmp_path / "significance" / "pair.tiny.test_1.json")["metrics"]["length_error"]["comparisons"][0]
    assert entry["t_test"]["mean_difference"] < 0
    for row in entry["seeds"]:
        scores = read_json(tmp_path / f"cells/pair/good/tiny/{row['seed']}/test_1.scores.json")["metrics"]
        assert row["system"] == pytest.approx(scores["length_error"]["score"])
        low, high = row["confidence_interval"]
        assert low <= row["difference"] <= high
        assert 0 < row["bootstrap"]["p"] < 0.1 and 0 < row["randomisation"]["p"] < 0.1
        assert row["sign"]["better"] > row["sign"]["worse"], "shorter errors are better"
    assert entry["stratified"]["p"] < 0.05
    assert "| Length error | good     | base       | -" in tables["significance"]


def test_one_without_sentence_statistics_is_tested_over_seeds_only(tmp_path: Path) -> None:
    folder = tmp_path / "plugins" / "metrics"
    folder.mkdir(parents=True)
    (folder / "longest.py").write_text(LONGEST)
    tables = evaluated(tmp_path / "results", ["longest"], plugins=tmp_path / "plugins")
    assert "test_1 Longest " in tables["scores"]
    found = read_json(tmp_path / "results" / "significance" / "pair.tiny.test_1.json")["metrics"]["longest"]
    (entry,) = found["comparisons"]
    assert found["signature"] == "longest|version:1"
    assert entry["t_test"]["n"] == 3 and entry["t_test"]["mean_difference"] is not None
    assert entry["stratified"] is None and all(row["p"] is None for row in entry["seeds"])
