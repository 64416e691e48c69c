"""What the page relies on in the files of a study, looked at before anything is made of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from wordorder.config.models import Report
from wordorder.errors import WordorderError
from wordorder.files import first_missing, read_json
from wordorder.results.frames import cell_folders

_RECORD = ("status", "data.train", "vocabulary_size", "cell.recipe")
_SCORES = ("status", "metrics", "target_language", "hypotheses.sha256", "references.sha256")
_TESTS = ("size", "test", "cells", "metrics", "not_scored", "settings.alpha", "settings.paired_test")
_METRIC = ("signature", "family", "comparisons")
_FAMILY = ("level.exact", "margin", "detectable", "detectable_range", "baseline_check", "components")
_T_TEST = ("n", "mean_difference", "confidence_interval", "p", "p_holm", "note")
_COMPARISON = (
    *("system", "baseline", "seeds", "stratified", "agreement"),
    *("test", "both", "outcome", "reach", "verdict"),
    *(f"t_test.{key}" for key in _T_TEST),
)


def check(report: Report, results: Path) -> None:
    """Raise WordorderError for a record, a file of scores or a file of tests that lacks what every such file has.

    A cell without a record or without scores is not finished, which the page says. A file of tests must be there.
    """
    tests = {dataset.name: dataset.tests for dataset in report.datasets}
    for cell, files in cell_folders(report, results):
        _check_if_there(files.record, _RECORD, "a training record")
        for test in tests[cell["dataset"]]:
            _check_if_there(files.scores(test), _SCORES, "a file of scores")
    for dataset in report.datasets:
        for size in report.sizes:
            for test in dataset.tests:
                _check_tests(results / "significance" / f"{dataset.name}.{size}.{test}.json")


def _check_if_there(path: Path, keys: Iterable[str], what: str) -> None:
    if path.is_file():
        _demand(path, read_json(path), keys, what)


def _check_tests(path: Path) -> None:
    content = read_json(path)
    _demand(path, content, _TESTS, "a file of tests of significance")
    for metric, tested in content["metrics"].items():
        _demand(path, tested, _METRIC, f"the metric '{metric}'")
        if tested["comparisons"]:
            _demand(path, tested["family"], _FAMILY, f"the family of '{metric}'")
        for entry in tested["comparisons"]:
            _demand(path, entry, _COMPARISON, f"each comparison by '{metric}'")


def _demand(path: Path, content: Any, keys: Iterable[str], what: str) -> None:
    if (key := first_missing(content, keys)) is not None:
        raise WordorderError(
            f"{path} has no '{key}', which {what} has. It was changed, or another version wrote it: delete it and run "
            "the study again.",
            code="wrong-version",
            path=path,
        )
