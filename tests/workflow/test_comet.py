"""Tests of COMET in the workflow: one job per test set and size for studies that use it, none for others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from snakemake_runs import dry_run, job_counts

pytestmark = pytest.mark.slow


@pytest.fixture
def asking(config: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Return arguments for a configuration whose study 'demo' uses COMET; Hugging Face's cache is empty."""
    study = config / "studies" / "demo.yaml"
    study.write_text(study.read_text() + "metrics: [bleu, {comet: {model: lab/tiny}}]\n")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("WORDORDER_COMET_PYTHON", "/nowhere")
    return ["--cores", "1", "--printshellcmds", "--config", f"config_dir={config}"]


def block(text: str, rule: str) -> str:
    return text[text.index(f"rule {rule}:") :].partition("\n\n")[0]


def test_all_models_of_a_size_are_scored_in_one_job(asking: list[str], tmp_path: Path) -> None:
    text = dry_run(tmp_path / "run", "demo", *asking)
    assert job_counts(text)["score_systems"] == 1
    scored = block(text, "score_systems")
    pattern = r"results/models/grammar/\w+/micro/\w+/\d/beam\w+-\w+/"
    assert len(set(re.findall(rf"{pattern}test\.hypotheses", scored))) == 4 * 3
    assert len(set(re.findall(rf"{pattern}evaluation-\w+\.json", scored))) == 4 * 3
    assert "output: results/demo/scores/comet/grammar.micro.test.json" in scored
    assert "model.ckpt" not in scored
    assert "--systems results/demo/scores/comet/grammar.micro.test.json" in block(text, "compare_systems")
    drawn = next(part for part in text.split("\n\n") if "rule draw_figure:" in part and "figures/scores.svg" in part)
    assert "results/demo/scores/comet/grammar.micro.test.json" in drawn.partition("output:")[0]


def test_the_model_is_an_input_once_it_is_there(asking: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "hub" / "models--lab--tiny"
    checkpoint = folder / "snapshots" / "abc" / "checkpoints" / "model.ckpt"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.touch()
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("abc")
    text = dry_run(tmp_path / "run", "evaluate_all", *asking, "study=demo")
    assert job_counts(text)["score_systems"] == 1
    assert str(checkpoint) in block(text, "score_systems")


def test_a_study_that_does_not_ask_has_no_such_job(config: Path, tmp_path: Path) -> None:
    text = dry_run(tmp_path / "run", "demo", "--cores", "1", "--printshellcmds", "--config", f"config_dir={config}")
    assert "score_systems" not in job_counts(text)
    assert "--systems" not in text
