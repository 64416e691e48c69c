"""Test that studies share models, translations and scores, and that jobs outlive the study that required them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from little_study import Workspace
from snakemake_runs import ROOT, dry_run, outputs, snakemake
from wordorder.files import read_json

pytestmark = [pytest.mark.xdist_group("finished_study"), pytest.mark.slow]  # one process, so that the study is run once

MORE = "name: more\nbased_on: little\ntitle: One encoding more\nencodings: [opr, sinusoidal, none, opr_again]\n"
OTHER = """
name: other
based_on: little
title: Other questions to the same models
tests: [test, other]
metrics: [chrf]
decoding:
  same: {beam: 2, max_length_a: 0, max_length_b: 10}
  wide: {beam: 3, max_length_a: 0, max_length_b: 10}
"""


def stamps(folder: Path, pattern: str) -> dict[Path, tuple[int, bytes]]:
    """Return the modification times and contents of files."""
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in sorted(folder.glob(pattern))}


def run(study: Workspace, target: str, name: str) -> dict[str, list[str]]:
    """Run a target of a study, check it against a dry-run, and return the first outputs of its jobs."""
    arguments = [target, *study.arguments()[1:], f"study={name}"]
    foretold = outputs(dry_run(study.folder, *arguments))
    done = snakemake(study.folder, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert outputs(done.stderr) == foretold
    return foretold


def test_studies_share_models_translations_and_scores(study: Workspace) -> None:
    models = study.folder / "results/models"
    trained, translated = stamps(models, "**/1/*.*"), stamps(models, "**/beam*/*.hypotheses")
    study.change("encodings.yaml", "sinusoidal:", "none: {type: none}\nopr_again: {type: opr, k: 8.0}\nsinusoidal:")
    (study.config / "studies/more.yaml").write_text(MORE)
    (study.config / "studies/other.yaml").write_text(OTHER)

    # One encoding more, and one that is another name of a known one: only the new model is trained and evaluated.
    assert run(study, "evaluate_all", "more") == {
        "train_model": [study.cell("none", "model.pt", study="more")],
        "evaluate_model": [study.evaluation("none", study="more")],
    }
    index = read_json(study.folder / "results/more/models.json")["cells"]
    assert index["pair/mini/opr_again/1"] == index["pair/mini/opr/1"]

    # Other metrics, test sets and decodings of the models of 'little' train nothing.
    ran = run(study, "tables", "other")
    assert ran["evaluate_model"] == sorted(
        study.evaluation(name, study="other", decoding=own)
        for name in ("opr", "sinusoidal")
        for own in ("same", "wide")
    )
    assert not {"train_model", "train_subword", "clean_shard"} & set(ran)
    # Neither the models nor the translations of the decoding that was there have been written again.
    assert trained.items() <= stamps(models, "**/1/*.*").items()
    assert len(translated) == 2 and translated.items() <= stamps(models, "**/beam*/*.hypotheses").items()
    for name, metrics in {"little": {"bleu", "chrf++"}, "other": {"chrf"}}.items():
        decoding = "same" if name == "other" else ""
        scores = read_json(study.folder / study.scores("opr", study=name, decoding=decoding))
        assert set(scores["metrics"]) == metrics
    table = pd.read_csv(study.folder / "results/other/tables/scores.csv")
    assert set(table["test"]) == {"test@same", "test@wide", "other@same", "other@wide"}
    assert set(table["encoding"]) == {"opr", "sinusoidal"} and table["mean"].notna().all()
    page = (study.folder / "results/other/tables/scores.md").read_text()
    assert all(name in page for name in ("test@same", "test@wide", "other@same", "other@wide"))
    assert study.would_run() == {}, "the first study is as finished as before"


def job(study: Workspace, rule: str, folder: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run one job in a separate process, as an executor for a cluster starts it."""
    names = ("dataset", "encoding", "size", "digest", "seed")
    wildcards = dict(zip(names, folder.split("/")[2:], strict=True)) | more
    named = ",".join(f"{name}={value}" for name, value in wildcards.items())
    options = ["--force", "--force-use-threads", "--target-files-omit-workdir-adjustment", "--ignore-incomplete"]
    options += ["--max-inventory-time", "0", "--nocolor", "--notemp", "--no-hooks", "--nolock", "--attempt", "1"]
    options += ["--target-jobs", f"{rule}:{named}", "--allowed-rules", rule, "--cores", "1", "--mode", "remote"]
    return snakemake(study.folder, *options, "--config", f"config_dir={study.config}")


def start_and_kill(study: Workspace, name: str, written: Path) -> None:
    """Start a study, and kill Snakemake when it has written a slice and submits its first jobs."""
    arguments = ["evaluate_all", *study.arguments()[1:], f"study={name}"]
    command = [sys.executable, "-m", "snakemake", "--directory", study.folder, *arguments]
    process = subprocess.Popen(
        [str(part) for part in command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 120
        while not written.exists():
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize("change", ["edited", "removed"])
def test_jobs_of_a_study_that_was_edited_or_removed_meanwhile(study: Workspace, change: str) -> None:
    path = study.config / "studies/gone.yaml"
    path.write_text("name: gone\nbased_on: little\nencodings: [opr]\nbaseline: opr\nrecipe: {max_updates: 12}\n")
    folder, evaluation = study.model_folder("opr", study="gone"), study.evaluation("opr", study="gone")
    cell = (study.folder / folder).parent / "cell.json"
    start_and_kill(study, "gone", study.folder / "results/gone/models.json")
    if change == "removed":
        path.unlink()
    else:
        path.write_text(path.read_text().replace("12", "14").replace("opr", "sinusoidal"))

    if change == "edited":
        content = cell.read_text()
        cell.write_text(content.replace('"max_updates":12', '"max_updates":13'))
        refused = job(study, "train_model", folder)
        assert refused.returncode != 0 and str(Path(folder).parent) in refused.stderr
        assert "wordorder: error: " in refused.stderr and "Traceback" not in refused.stderr
        assert not (study.folder / folder / "record.json").exists()
        cell.write_text(content)
        return
    trained = job(study, "train_model", folder)
    assert trained.returncode == 0, trained.stdout + trained.stderr
    record: dict[str, Any] = read_json(study.folder / folder / "record.json")
    assert record["updates"] == 12 and record["cell"]["recipe"]["max_updates"] == 12
    decoding, label = evaluation.split("/")[-2:]
    evaluated = job(study, "evaluate_model", folder, decoding=decoding, evaluation=label.removesuffix(".json"))
    assert evaluated.returncode == 0, evaluated.stdout + evaluated.stderr
    assert set(read_json(study.folder / evaluation)["tests"]) == {"test"}
