"""What a record says of the source tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

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
