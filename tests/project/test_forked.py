"""Tests of the jobs that forked processes run in the tests of the workflow: they are what the command itself is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from forked import with_forked_jobs

SCRIPT = 'cd "$1"; {}; echo "status $?"'


def run(command: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    words = ["bash", "-c", SCRIPT.format(command), "bash", str(folder)]
    return subprocess.run(words, env=environment | {"PATH": path}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "command",
    [
        "wordorder --version",
        "wordorder nonsense",
        "WORDORDER_ERRORS=json wordorder check 'a study' --root nowhere",
        "wordorder stage gather-text --inputs a b --output c && cat c",
        "wordorder stage gather-text --inputs b missing --output c 2>&1 | cat >&2",
    ],
)
def test_output_status_folder_and_variables_are_those_of_the_command(command: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"ein {name} – ß\n", encoding="utf-8")
    itself = run(command, tmp_path, dict(os.environ))
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    (tmp_path / "c").unlink(missing_ok=True)
    forked = run(command, tmp_path, with_forked_jobs(os.environ))
    assert (forked.stdout, forked.stderr) == (itself.stdout, itself.stderr)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files
    assert "status" in itself.stdout


def test_a_killed_job_has_the_status_of_its_signal(tmp_path: Path) -> None:
    plugin = tmp_path / "encodings" / "kills.py"
    plugin.parent.mkdir()
    plugin.write_text("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    environment = with_forked_jobs(os.environ | {"WORDORDER_PLUGINS": str(tmp_path)})
    assert run("wordorder inspect kills", tmp_path, environment).stdout == "status 137\n"
