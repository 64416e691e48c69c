"""A finished study of four encodings, one without files and one with a diverged training, and its tables."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

from evaluation_samples import (
    family,
    report,
    translations,
    write_study,
)
from wordorder.cli.main import main
from wordorder.comparison.significance import compare
from wordorder.config.models import Report
from wordorder.files import write_json

RATES = {"none": 0.6, "opr+rpr": 0.3, "learned_t5": 0.2}
ENCODINGS = [*RATES, "null"]
SEEDS = [1, 2, 3]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results, asked = tmp_path_factory.mktemp("study"), report(ENCODINGS, SEEDS)
    references = write_study(results, asked, RATES, diverged=("learned_t5", 2))
    for test in asked.datasets[0].tests:
        compared = family(ENCODINGS, SEEDS)
        files = translations(results, compared, test)
        found = compare(compared, files, "tiny", test, references / f"{test}.target")
        write_json(results / "significance" / f"pair.tiny.{test}.json", found)
    return results


@pytest.fixture
def study(written: Path, tmp_path: Path) -> Report:
    """Copy the study to ``tmp_path``, where a test may change it."""
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    return report(ENCODINGS, SEEDS)


def table(name: str, asked: Report, results: Path) -> tuple[pd.DataFrame, str, str]:
    prefix = results / "tables" / name
    command = ["stage", "table", name, "--config", asked.model_dump_json(), "--results", str(results)]
    assert main([*command, "--output-prefix", str(prefix)]) == 0
    data = pd.read_csv(f"{prefix}.csv", keep_default_na=False, na_values=[""])
    markdown, latex = (Path(f"{prefix}.{suffix}").read_text(encoding="utf-8") for suffix in ("md", "tex"))
    return data, markdown, latex


def cells_of(markdown: str) -> list[list[str]]:
    """The rows of the first table, the heading first and without the rule below it."""
    rows = [line.strip("|").split("|") for line in markdown.split("\n\n")[1].splitlines()]
    return [[cell.strip() for cell in row] for number, row in enumerate(rows) if number != 1]
