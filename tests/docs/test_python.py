"""Run the blocks of pages with Python code in one process, and compare what they print with the page."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from guide import DOCS, blocks
from snakemake_runs import ROOT


@pytest.mark.parametrize("page", ["python.md", "statistics.md"])
def test_the_page_prints_what_it_shows(page: str) -> None:
    own = blocks(page)
    code = "\n".join(each.text for each in own if each.language == "python")
    shown = "".join(each.text for each in own if each.language == "text")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert numbers_rounded(done.stdout) == numbers_rounded(shown)


def test_the_notebook_runs() -> None:
    notebook = DOCS / "examples" / "first_look.ipynb"
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    environment = os.environ | {"MPLBACKEND": "agg"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=notebook.parent, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "opr is better than sinusoidal" in done.stdout


def numbers_rounded(text: str) -> list[str]:
    """Split a text into words, with numbers to one digit, because training magnifies rounding."""
    return [f"{float(word):.1f}" if re.fullmatch(r"-?[\d.]+", word) else word for word in text.split()]


def test_every_name_of_the_api_is_on_the_page() -> None:
    text = (DOCS / "python.md").read_text("utf-8")
    import wordorder

    assert [name for name in wordorder.__all__ if name not in text] == ["__version__"]
