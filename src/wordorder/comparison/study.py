"""Comparisons on the test sets of a study."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from wordorder.comparison.levels import Look
from wordorder.comparison.significance import compare
from wordorder.config.models import Family, Report
from wordorder.results.frames import systems_metrics, systems_path
from wordorder.results.index import read_index
from wordorder.results.translations import raw


def compare_in_study(
    family: Family,
    report: Report,
    results: Path,
    data: Path,
    *,
    dataset: str,
    size: str,
    test: str,
    earlier: Sequence[Look] = (),
) -> dict[str, Any]:
    """Test every declared comparison on one test set of a study; see :func:`.significance.compare`.

    Args:
        family: The comparisons.
        report: The study.
        results: The folder of the study's results.
        data: The folder of the datasets.
        dataset: The dataset.
        size: The size of the models.
        test: The test set.
        earlier: The earlier looks at this test set, in their order.
    """
    index = read_index(results)
    translations = {
        (name, seed): index.cell(dataset, size, name, seed).hypotheses(test)
        for name, seed in product(family.encodings, family.seeds)
    }
    systems = [systems_path(results, name, dataset, size, test) for name in systems_metrics(report)]
    return compare(family, translations, size, test, raw(data, dataset, test, "target"), systems, earlier)
