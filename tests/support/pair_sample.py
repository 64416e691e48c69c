"""A finished study of four encodings and three seeds, for the comparison of any two of them on the page."""

from __future__ import annotations

import shutil
from pathlib import Path

from evaluation_samples import report, write_finished_study
from wordorder.config.pages import Page
from wordorder.data.text import read_lines
from wordorder.files import write_text

RATES = {"sinusoidal": 0.3, "opr": 0.5, "learned": 0.28, "none": 0.9}
SEEDS = [1, 2, 3]


def write_pairs(folder: Path) -> tuple[Page, Path, Path]:
    """Write the study below ``folder``, and return the slice of its page and the folders of results and data."""
    asked = report(list(RATES), SEEDS, tests=("test_1", "test_2"))
    results, data = folder / "results", folder / "data"
    references = write_finished_study(results, asked, RATES)
    raw = data / "pair" / "raw"
    raw.mkdir(parents=True)
    for test in asked.datasets[0].tests:
        lines = list(read_lines(references / f"{test}.target"))
        shutil.copy(references / f"{test}.target", raw / f"{test}.target")
        write_text(raw / f"{test}.source", "".join(f"source {number}\n" for number in range(1, len(lines) + 1)))
    page = Page(
        report=asked,
        tables=["scores", "significance"],
        figures=[],
        source_languages={"pair": "en"},
        target_languages={"pair": "de"},
    )
    return page, results, data
