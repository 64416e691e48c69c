"""Load our counterparts of published numbers: scores, parameters, memory and alignment rates, in one data frame."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from wordorder.config.alignments import gold_split
from wordorder.config.models import Report
from wordorder.config.published_scores import ALIGNMENT, MEMORY, PARAMETERS, PublishedScores, Shown
from wordorder.files import read_object
from wordorder.metrics.base import metric
from wordorder.published.statuses import Status
from wordorder.results.frames import cell_folders, load_scores
from wordorder.results.index import CellFiles

# Factors from the units of our files to those of the papers: millions, GB and per cent.
_UNITS = {PARAMETERS: 1e-6, MEMORY: 1e-9, **dict.fromkeys(ALIGNMENT, 100.0)}


def load_printed(
    report: Report, results: str | Path, tables: Sequence[tuple[Shown, PublishedScores]] = ()
) -> pd.DataFrame:
    """Load scores and other quantities in the units of the papers.

    Args:
        report: The reported part of the study's configuration.
        results: The folder of the study's results.
        tables: The published tables; their columns other than scores determine the other quantities.

    Returns:
        The columns of :func:`wordorder.results.frames.load_scores`. Other quantities have a row per trained cell, with
        the number as ``score``, the status "measured" or "not measured", and an empty ``test`` if the quantity belongs
        to no test set.
    """
    scores = load_scores(report, results)
    scores["score"] *= scores["metric"].map({name: metric(name).published_scale for name in report.metrics})
    quantities = pd.DataFrame(_quantities(report, Path(results), tables))
    return scores if quantities.empty else pd.concat([scores, quantities], ignore_index=True)


def _quantities(report: Report, results: Path, tables: Sequence[tuple[Shown, PublishedScores]]) -> list[dict[str, Any]]:
    wanted = dict.fromkeys(
        (*shown.place(column), column.metric)
        for shown, table in tables
        for column in table.columns
        if not column.is_score
    )
    rows = []
    for cell, files in cell_folders(report, results):
        if not files.record.is_file():
            continue
        for dataset, test, quantity in wanted:
            if dataset != cell["dataset"]:
                continue
            split = test if test in report.tests[dataset] else gold_split(test)
            found = _found(quantity, files, split)
            score = None if found is None else found * _UNITS[quantity]
            # Runs on CPUs, for example, have no measured GPU memory.
            status = Status.NOT_MEASURED.label if score is None else "measured"
            rows.append(cell | {"test": test, "metric": quantity, "score": score, "status": status})
    return rows


def _found(quantity: str, files: CellFiles, split: str) -> float | None:
    """Return a quantity of a cell in the units of its files; None if it was not measured."""
    record = read_object(files.record, "status")
    alignment = files.measure("alignment")
    found: float | None = None
    if quantity == PARAMETERS:
        found = record.get("parameters", {}).get("total")
    elif quantity == MEMORY:
        found = record.get("efficiency", {}).get("used", {}).get("gpu_memory_bytes")
    elif alignment.is_file():
        found = read_object(alignment, "sets")["sets"].get(split, {}).get(quantity)
    return found
