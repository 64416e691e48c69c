"""Tests of what a record states about the source tree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from training_runs import TrainingRun, cell, write_reversals
from wordorder.training.record import git_commit


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name in ("src/wordorder/code.py", "results/reference/table.csv"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("first\n")
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for arguments in (["init", "--quiet"], ["add", "--all"], [*who, "commit", "--quiet", "--message", "first"]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    return tmp_path


def test_the_commit_says_whether_the_sources_were_changed(repository: Path) -> None:
    here = repository / "src/wordorder"
    commit = git_commit(here)
    assert commit is not None and len(commit) == 40
    (repository / "results/reference/table.csv").write_text("second\n")
    (here / "new.py").touch()
    assert git_commit(here) == commit, "neither results nor what git does not know"
    (here / "code.py").write_text("second\n")
    assert git_commit(here) == f"{commit}+"


def test_outside_a_repository_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert git_commit(tmp_path) is None


def test_the_commit_is_that_of_the_start(tmp_path: Path) -> None:
    corpora = [write_reversals(tmp_path / split, pairs=30, seed=1) for split in ("train", "valid")]
    run = TrainingRun(tmp_path, cell(max_epochs=1), *corpora)
    # The working copy is updated as soon as the training has a state.
    code = (
        "import sys; from pathlib import Path;"
        "from wordorder.cli.main import main; from wordorder.training import record;"
        "record.git_commit = lambda here: 'updated' if Path(sys.argv[1]).exists() else 'started';"
        "sys.exit(main(sys.argv[2:]))"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "state"), *run.words()], check=True)
    assert (tmp_path / "state").exists() and run.record()["git_commit"] == "started"


def test_no_value_of_the_environment_is_in_any_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "plantedsecret0123456789"
    for name in ("API_TOKEN", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "SLURM_JOB_COMMENT", "WORDORDER_SECRET"):
        monkeypatch.setenv(name, secret)
    monkeypatch.setenv("https_proxy", f"http://user:{secret}@127.0.0.1:1")
    corpora = [write_reversals(tmp_path / split, pairs=30, seed=1) for split in ("train", "valid")]
    run = TrainingRun(tmp_path, cell(max_epochs=1), *corpora)
    assert secret not in run.finish()
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert {"model.pt", "record.json", "metrics.jsonl"} <= {file.name for file in files}
    assert [file for file in files if secret.encode() in file.read_bytes()] == []
