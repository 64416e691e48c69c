"""The index of a sample study whose cells are in ``cells/DATASET/ENCODING/SIZE/SEED`` of its own folder."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from wordorder.config.models import Report
from wordorder.results.index import write_index


def index_cells(results: Path, report: Report) -> None:
    """Write the index of every cell of ``report``; translations and scores are in the folder of the cell."""
    names = product([data.name for data in report.datasets], report.sizes, report.encodings, report.seeds)
    cells = {
        (dataset, size, encoding, seed): f"cells/{dataset}/{encoding}/{size}/{seed}"
        for dataset, size, encoding, seed in names
    }
    write_index(results, cells, {"": "."}, {data.name: "." for data in report.datasets}, {})
