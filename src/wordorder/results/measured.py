"""The measurements of analyses on models: ``{"sets": {SET: …}}`` per cell, or one file for all models of a size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from wordorder.config.models import Report
from wordorder.files import demand, read_object
from wordorder.results.frames import cell_folders, reason

# Status of a cell or set without measurements, which is listed nevertheless.
MISSING = {"status": "missing"}


def joint_measure_path(results: Path, analysis: str, dataset: str, size: str) -> Path:
    """Return the file of what an analysis has measured on all models of a dataset and size together."""
    return results / "measures" / analysis / f"{dataset}.{size}.json"


def load_measures(
    report: Report, results: Path, analysis: str, sets: Callable[[str], list[str]] | None = None
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each cell and set, (dataset, size, encoding, seed, test, status), with what was measured.

    Args:
        report: The study.
        results: The folder of the study's results.
        analysis: The name of the analysis.
        sets: From the name of a dataset to the names of its sets; its test sets if missing.
    """
    for cell, files in cell_folders(report, results):
        path = files.measure(analysis)
        measured: dict[str, Any] = read_object(path, "sets")["sets"] if path.is_file() else {}
        for test in sets(cell["dataset"]) if sets else report.tests[cell["dataset"]]:
            found = measured.get(test, MISSING)
            demand(path, found, "status")
            status = found["status"] if found["status"] == "measured" else reason(files, found["status"])
            yield {**cell, "test": test, "status": status}, found


def load_joint_measure(results: Path, analysis: str, dataset: str, size: str) -> dict[str, Any] | None:
    """Return what was measured on all models of a dataset and size; None without a file."""
    path = joint_measure_path(results, analysis, dataset, size)
    return read_object(path) if path.is_file() else None
