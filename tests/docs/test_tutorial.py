"""Test that the tutorial shows what its commands print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from guide import blocks
from snakemake_runs import ROOT
from wordorder.tables.summary import summary
from wordorder.workflow.project import make_project


def shown_after(command: str) -> list[str]:
    """Return the non-empty lines of the output that the page shows after a command."""
    page = blocks("tutorial.md")
    (place,) = [at for at, block in enumerate(page) if block.language == "sh" and command in block.text]
    assert page[place + 1].language == "text"
    return [line for line in page[place + 1].text.splitlines() if line]


def printed(folder: Path, *command: str) -> list[str]:
    """Return the non-empty lines that a command prints in a folder."""
    words = [sys.executable, "-m", "wordorder.cli", *command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if line]


def test_the_results_of_the_demo() -> None:
    shown = shown_after("wordorder results demo")
    assert shown == [line for line in summary(ROOT / "results/reference/demo").splitlines() if line]


def test_the_inspection_of_an_encoding(tmp_path: Path) -> None:
    assert shown_after("wordorder inspect opr") == printed(ROOT, "inspect", "opr", "--figure", str(tmp_path / "opr"))


def test_the_validation_of_a_new_project(tmp_path: Path) -> None:
    make_project(tmp_path / "project", ["demo"])
    assert shown_after("wordorder check") == printed(tmp_path / "project", "check")
