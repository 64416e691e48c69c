"""Tests of slices on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from raises import raises
from small_config import SHIPPED
from wordorder.config.decoding import Decoding
from wordorder.config.load import load_sizes, slice_argument
from wordorder.config.models import Cell, Recipe, Scoring


def test_slice_argument(tmp_path: Path) -> None:
    assert slice_argument('{"beam":4,"alpha":1}', Decoding) == Decoding(beam=4, alpha=1.0)
    (tmp_path / "d.yaml").write_text("beam: 4  # as in the paper\nalpha: 6e-1\n")
    assert slice_argument(f"@{tmp_path}/d.yaml", Decoding) == Decoding(beam=4, alpha=0.6)
    (tmp_path / "d.json").write_text('{"beam": 4}')
    assert slice_argument(f"@{tmp_path}/d.json", Decoding).beam == 4


@pytest.mark.parametrize("entry", [{"type": "opr", "k": 8.0}, {"compose": [{"type": "opr"}, {"type": "relative"}]}])
def test_a_dumped_slice_is_read_back(entry: Any) -> None:
    size = load_sizes(SHIPPED)["micro"]
    cell = Cell(encoding=entry, size=size, recipe=Recipe(max_epochs=1), seed=3)
    assert slice_argument(cell.model_dump_json(), Cell) == cell
    assert Cell.model_validate_json(cell.model_dump_json(exclude_defaults=True)) == cell


def test_mistakes_in_the_encoding_of_a_slice() -> None:
    size = load_sizes(SHIPPED)["micro"]
    cell = Cell(encoding={"type": "opr"}, size=size, recipe=Recipe(max_epochs=1), seed=3)
    with raises("out-of-range", key="encoding.k"):
        slice_argument(cell.model_dump_json().replace('"k":8.0', '"k":0'), Cell)


def test_mistakes_in_a_slice(tmp_path: Path) -> None:
    for text, problem in (
        ('{"beam":4,"nbest":5}', {"code": "invalid-value", "says": "nbest (5) cannot exceed beam (4)"}),
        ("beam=4", {"code": "invalid-json"}),
        ("[]", {"code": "wrong-type"}),
        (f"@{tmp_path}/none.yaml", {"code": "missing-file", "path": tmp_path / "none.yaml"}),
    ):
        with raises(**problem) as caught:
            slice_argument(text, Decoding)
        assert "--config" in str(caught.error) or "path" in problem
    with raises("missing-key", key="target_language"):
        slice_argument('{"metrics":["bleu"]}', Scoring)
    (tmp_path / "d.yaml").write_text("alpha: 1\nbeem: 4\n")
    with raises("unknown-key", path=tmp_path / "d.yaml", line=2, key="beem", suggestion="beam"):
        slice_argument(f"@{tmp_path}/d.yaml", Decoding)
