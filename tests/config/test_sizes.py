"""Two kinds of shapes in one file: each has its own keys, and mistakes are told of the kind that is meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from raises import raises
from wordorder.config.load import load_sizes, slice_argument
from wordorder.config.models import Cell, LSTMSize, Recipe, Size

TRANSFORMER = "{encoder_layers: 0, decoder_layers: 1, dim: 4, ffn_dim: 4, heads: 2, dropout: 0}"


def test_the_kinds_are_told_apart(tmp_path: Path) -> None:
    named = TRANSFORMER.replace("{", "{architecture: transformer, ")
    (tmp_path / "sizes.yaml").write_text(
        f"a: {TRANSFORMER}\nb: {{architecture: lstm, layers: 2, dim: 4, dropout: 0}}\nc: {named}\n"
    )
    sizes = load_sizes(tmp_path)
    assert sizes["a"] == sizes["c"] == Size(encoder_layers=0, decoder_layers=1, dim=4, ffn_dim=4, heads=2, dropout=0)
    assert sizes["b"] == LSTMSize(architecture="lstm", layers=2, dim=4, dropout=0)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (TRANSFORMER.replace("0, d", "-1, d"), {"code": "out-of-range", "key": "own.encoder_layers"}),
        (
            TRANSFORMER.replace("{", "{layers: 1, "),
            {"code": "unknown-key", "key": "own.layers", "suggestion": "encoder_layers"},
        ),
        ("{architecture: lstm, layers: 2, dim: 5, dropout: 0}", {"code": "invalid-value", "key": "own"}),
        (
            "{architecture: lstm, layers: 2, dim: 4, dropout: 0, heads: 2}",
            {"code": "unknown-key", "key": "own.heads"},
        ),
        (
            "{architecture: lstm, layer: 2, dim: 4, dropout: 0}",
            {"code": "unknown-key", "key": "own.layer", "suggestion": "layers"},
        ),
        (
            "{architecture: lstn, layers: 2, dim: 4, dropout: 0}",
            {"code": "unknown-choice", "key": "own.architecture", "suggestion": "lstm"},
        ),
        ("{architecture: [lstm], layers: 2}", {"code": "unknown-choice", "key": "own.architecture"}),
        ("3", {"code": "wrong-type", "key": "own"}),
    ],
)
def test_mistakes_are_told_of_the_kind_that_is_meant(tmp_path: Path, text: str, problem: dict[str, str]) -> None:
    (tmp_path / "sizes.yaml").write_text(f"own: {text}\n")
    with raises(path=tmp_path / "sizes.yaml", line=1, **problem):
        load_sizes(tmp_path)


def test_a_wrong_key_within_a_cell() -> None:
    cell = '{"encoding": {"type": "none"}, "recipe": {"max_updates": 1}, "seed": 1, "size": %s}'
    with raises("unknown-key", key="size.heads"):
        slice_argument(cell % '{"architecture": "lstm", "layers": 1, "dim": 2, "dropout": 0, "heads": 1}', Cell)
    with raises("missing-key", key="size.ffn_dim"):
        slice_argument(cell % '{"encoder_layers": 1, "decoder_layers": 1, "dim": 2, "heads": 1, "dropout": 0}', Cell)


def test_a_direction_alone_may_have_an_odd_size() -> None:
    LSTMSize(architecture="lstm", layers=1, dim=5, dropout=0, bidirectional=False)
    with pytest.raises(ValidationError):
        LSTMSize(architecture="lstm", layers=1, dim=5, dropout=0)


def test_the_slice_of_a_transformer_is_what_it_was_before_there_were_other_kinds() -> None:
    size = Size(encoder_layers=2, decoder_layers=1, dim=4, ffn_dim=8, heads=2, dropout=0.1)
    assert set(size.model_dump()) == {"encoder_layers", "decoder_layers", "dim", "ffn_dim", "heads", "dropout"}
    for own in (size, LSTMSize(architecture="lstm", layers=1, dim=4, dropout=0.1, input_feeding=True)):
        cell = Cell(encoding={"type": "none"}, size=own, recipe=Recipe(max_updates=1), seed=0)
        assert slice_argument(cell.model_dump_json(), Cell) == cell
