"""Check the files of a study for the keys that the page needs, before anything is built from them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from wordorder.config.models import Report
from wordorder.errors import WordorderError
from wordorder.files import first_missing, read_json
from wordorder.results.frames import cell_folders, significance_path

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
    """Check that the files of a study have the keys that the page needs.

    Records and scores may be missing: the page lists unfinished cells. Files of significance tests must exist.

    Args:
        report: The reported part of the study's configuration.
        results: The folder of the study's results.

    Raises:
        WordorderError: A file lacks a key, or a file of significance tests does not exist.
    """
    for cell, files in cell_folders(report, results):
        _check_if_present(files.record, _RECORD, "a training record")
        for test in report.tests[cell["dataset"]]:
            _check_if_present(files.scores(test), _SCORES, "a file of scores")
    for names in report.compared:
        _check_tests(significance_path(results, *names))


def _check_if_present(path: Path, keys: Iterable[str], what: str) -> None:
    if path.is_file():
        _require(path, read_json(path), keys, what)


def _check_tests(path: Path) -> None:
    content = read_json(path)
    _require(path, content, _TESTS, "a file of significance tests")
    for metric, tested in content["metrics"].items():
        _require(path, tested, _METRIC, f"the metric '{metric}'")
        if tested["comparisons"]:
            _require(path, tested["family"], _FAMILY, f"the family of '{metric}'")
        for entry in tested["comparisons"]:
            _require(path, entry, _COMPARISON, f"each comparison by '{metric}'")


def _require(path: Path, content: Any, keys: Iterable[str], what: str) -> None:
    if (key := first_missing(content, keys)) is not None:
        raise WordorderError(
            f"{path} has no '{key}', which {what} must have. The file was edited, or another version of wordorder "
            "wrote it. Delete it and run the study again.",
            code="wrong-version",
            path=path,
            key=key,
        )
