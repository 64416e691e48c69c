"""What was measured of each cell: results/{study}/cells/…/{set}.{measure}.json."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from wordorder.config.models import Report
from wordorder.files import read_object
from wordorder.results.frames import cell_folders, reason

# Of a cell without a file of the measure; nothing of it is ever left out in silence.
MISSING = {"status": "missing"}


def load_measures(
    report: Report, results: Path, measure: str, sets: Callable[[str], list[str]] | None = None
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each cell and set, (dataset, size, encoding, seed, test, status), with what its file says.

    sets: from the name of a dataset to those of its sets; its test sets if missing.
    """
    tests = {dataset.name: dataset.tests for dataset in report.datasets}
    for cell, files in cell_folders(report, results):
        for test in sets(cell["dataset"]) if sets else tests[cell["dataset"]]:
            path = files.folder / f"{test}.{measure}.json"
            found = read_object(path, "status") if path.is_file() else MISSING
            status = found["status"] if found["status"] == "measured" else reason(files, found["status"])
            yield {**cell, "test": test, "status": status}, found
