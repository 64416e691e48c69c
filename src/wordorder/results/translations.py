"""The translations of a study with their references. Cells without translations are listed with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from wordorder.config.models import Analysed
from wordorder.data.text import read_lines
from wordorder.errors import WordorderError
from wordorder.metrics.scores import read_pair
from wordorder.results.frames import CELL, cell_folders, reason
from wordorder.results.index import CellFiles, text_of

# The first columns of every row of an analysis: its cell and its test set.
CELL_TEST = [*CELL, "test"]


@dataclass(frozen=True, slots=True)
class Translation:
    """One cell's translation of a test set: detokenised ``lines``, none unless ``status`` is "scored"."""

    cell: dict[str, Any]  # keys: CELL_TEST
    lines: list[str]
    status: str


@dataclass(frozen=True, slots=True)
class TranslatedSet:
    """A test set with its raw references and the translation of every cell, in the report's order."""

    dataset: str
    name: str
    references: list[str]
    translations: list[Translation]


def read_test_sets(analysed: Analysed, results: Path, data: Path) -> Iterator[TranslatedSet]:
    """Read each test set of each dataset of a study.

    Args:
        analysed: The study.
        results: The folder of the study.
        data: The folder of the datasets.

    Yields:
        The test sets.

    Raises:
        WordorderError: A translation and its references differ in their numbers of lines.
    """
    for dataset in analysed.report.datasets:
        cells = [(cell, own) for cell, own in cell_folders(analysed.report, results) if cell["dataset"] == dataset.name]
        for test in dataset.tests:
            path = raw(data, dataset.name, test, "target")
            translations = [_read({**cell, "test": test}, own, path) for cell, own in cells]
            yield TranslatedSet(dataset.name, test, list(read_lines(path)), translations)


def raw(data: Path, dataset: str, test: str, what: str) -> Path:
    """Return a file of a test set before any preprocessing: ``what`` is source, target or trees."""
    return data / dataset / "raw" / f"{text_of(test)}.{what}"


def _read(cell: dict[str, Any], files: CellFiles, references: Path) -> Translation:
    path = files.hypotheses(cell["test"])
    if not path.is_file():
        return Translation(cell, [], "missing")
    lines, _ = read_pair(path, references)
    return Translation(cell, lines, "scored" if lines else reason(files, "no hypotheses"))


def check_count(found: int, test: TranslatedSet, path: Path, what: str) -> None:
    """Raise WordorderError unless there are as many ``what`` in ``path`` as the test set has references."""
    if found != len(test.references):
        raise WordorderError(
            f"{path} has {found} {what}, but the test set '{test.name}' of '{test.dataset}' has "
            f"{len(test.references)} references. Prepare the test set again.",
            code="different-lengths",
            path=path,
        )


def with_spread(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """Add columns ``mean`` and ``sd`` of ``value`` over seeds, and ``seeds``, the number of seeds with a value.

    The rows of a group differ only in seed, status, signature and ``value``. sd divides by seeds - 1; a single seed has
    none.
    """
    keys = [name for name in frame.columns if name not in ("seed", "status", "signature", value)]
    groups = frame.groupby(keys, sort=False, dropna=False)[value]
    return frame.assign(mean=groups.transform("mean"), sd=groups.transform("std"), seeds=groups.transform("count"))
