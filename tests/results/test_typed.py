"""Tests of results with values of wrong types: an error names the file and the key, and no table changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evaluation_samples import report, write_study
from raises import raises
from wordorder.files import read_json, write_json
from wordorder.report.build import build_table

ASKED = report(["none"], [1, 2], ("test",))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    write_study(folder, ASKED, {"none": 0.2})
    return folder


@pytest.mark.parametrize(
    ("table", "file", "key", "value"),
    [
        ("scores", "test.scores.json", "metrics.bleu.score", "20"),
        ("scores", "test.scores.json", "metrics.bleu.score", True),
        ("scores", "test.scores.json", "metrics.bleu.score", float("inf")),
        ("scores", "test.scores.json", "metrics.bleu.signature", 1),
        ("scores", "test.scores.json", "status", "fine"),
        ("scores", "test.scores.json", "metrics", []),
        ("parameters", "record.json", "status", "done"),
        ("parameters", "record.json", "parameters.total", 1.5),
        ("parameters", "record.json", "seconds", "120"),
        ("parameters", "record.json", "best_valid_perplexity", []),
        ("parameters", "record.json", "efficiency", None),
        ("parameters", "record.json", "data", []),
        ("parameters", "record.json", "cell", "none"),
    ],
)
def test_a_value_of_another_type_is_said(results: Path, table: str, file: str, key: str, value: Any) -> None:
    path = results / "cells/pair/none/tiny/1" / file
    before, content = read_json(path), read_json(path)
    *parents, last = key.split(".")
    where = content
    for name in parents:
        where = where[name]
    where[last] = value
    write_json(path, content)
    try:
        with raises("invalid-value", path=path, key=key):
            build_table(table, ASKED, results)
    finally:
        write_json(path, before)
