"""Tests of two kinds of shapes in one file: each has its own keys, and errors name the intended kind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from guide import plugin
from raises import raises
from wordorder.config.load import load_sizes, size_names, slice_argument
from wordorder.config.models import Cell, Recipe
from wordorder.errors import WordorderError
from wordorder.model.architectures.lstm import LSTMSize
from wordorder.model.architectures.prefix_lm import PrefixLMSize
from wordorder.model.architectures.transformer import TransformerSize
from wordorder.registry import registry_of

TRANSFORMER = "{encoder_layers: 0, decoder_layers: 1, dim: 4, ffn_dim: 4, heads: 2, dropout: 0}"


def test_the_kinds_are_distinguished(tmp_path: Path) -> None:
    named = TRANSFORMER.replace("{", "{architecture: transformer, ")
    (tmp_path / "sizes.yaml").write_text(
        f"a: {TRANSFORMER}\nb: {{architecture: lstm, layers: 2, dim: 4, dropout: 0}}\nc: {named}\n"
    )
    sizes = load_sizes(tmp_path)
    assert (
        sizes["a"]
        == sizes["c"]
        == TransformerSize(encoder_layers=0, decoder_layers=1, dim=4, ffn_dim=4, heads=2, dropout=0)
    )
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
            {"code": "unknown-name", "key": "own.architecture", "suggestion": "lstm"},
        ),
        ("{architecture: [lstm], layers: 2}", {"code": "wrong-type", "key": "own.architecture"}),
        ("3", {"code": "wrong-type", "key": "own"}),
    ],
)
def test_mistakes_refer_to_the_intended_kind(tmp_path: Path, text: str, problem: dict[str, str]) -> None:
    (tmp_path / "sizes.yaml").write_text(f"own: {text}\n")
    with raises(path=tmp_path / "sizes.yaml", line=1, **problem):
        load_sizes(tmp_path)


def test_a_wrong_key_within_a_cell() -> None:
    cell = '{"encoding": {"type": "none"}, "recipe": {"max_updates": 1}, "seed": 1, "size": %s}'
    with raises("unknown-key", key="size.heads"):
        slice_argument(cell % '{"architecture": "lstm", "layers": 1, "dim": 2, "dropout": 0, "heads": 1}', Cell)
    with raises("missing-key", key="size.ffn_dim"):
        slice_argument(cell % '{"encoder_layers": 1, "decoder_layers": 1, "dim": 2, "heads": 1, "dropout": 0}', Cell)


def test_a_single_direction_may_have_an_odd_size() -> None:
    LSTMSize(architecture="lstm", layers=1, dim=5, dropout=0, bidirectional=False)
    with pytest.raises(ValidationError):
        LSTMSize(architecture="lstm", layers=1, dim=5, dropout=0)


def test_a_slice_is_read_again_as_the_same_size() -> None:
    sizes = (
        TransformerSize(encoder_layers=2, decoder_layers=1, dim=4, ffn_dim=8, heads=2, dropout=0.1),
        LSTMSize(architecture="lstm", layers=1, dim=4, dropout=0.1, input_feeding=True),
        PrefixLMSize(architecture="prefix_lm", layers=1, dim=4, ffn_dim=8, heads=2, dropout=0.1),
    )
    for own in sizes:
        cell = Cell(encoding={"type": "none"}, size=own, recipe=Recipe(max_updates=1), seed=0)
        assert slice_argument(cell.model_dump_json(), Cell) == cell
        # Without defaults a slice means the same.
        short = cell.model_dump_json(exclude_defaults=True)
        assert ("architecture" in short) is not isinstance(own, TransformerSize)
        assert slice_argument(short, Cell) == cell


@pytest.mark.parametrize(
    "statement",
    ["import wordorder.config.schema", "from wordorder.config.load import size_names; assert 'tiny' in size_names()"],
)
def test_names_are_read_without_pytorch(statement: str) -> None:
    program = f"import sys; {statement}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parents[2], check=True)


@pytest.mark.parametrize("line", ['architecture: str = "own"', 'architecture: Literal["own"] = "own"'])
def test_the_default_of_an_own_architecture_is_its_name(line: str, tmp_path: Path, plugins: Path) -> None:
    write_architecture(plugins, line)
    (tmp_path / "sizes.yaml").write_text(f"a: {TRANSFORMER.replace('{', '{architecture: own, ')}\n")
    size = load_sizes(tmp_path)["a"]
    assert type(size).__name__ == "OwnSize"
    cell = Cell(encoding={"type": "none"}, size=size, recipe=Recipe(max_updates=1), seed=0)
    assert slice_argument(cell.model_dump_json(exclude_defaults=True), Cell) == cell


@pytest.mark.parametrize("line", ["architecture: str", 'architecture: Literal["own", "other"]'])
def test_an_own_architecture_without_a_name_is_refused(line: str, plugins: Path) -> None:
    file = write_architecture(plugins, line)
    with raises("unnamed-member", path=file, key="architecture", says="OwnSize"):
        registry_of("architectures").names()


def write_architecture(plugins: Path, line: str) -> Path:
    """Write the architecture of docs/extending.md with another line that names it."""
    text, old = plugin("architectures").replace("SharedEncoder", "Own"), 'architecture: Literal["shared_encoder"]'
    assert old in text
    file = plugins / "architectures/own.py"
    file.write_text(text.replace(old, line))
    return file


def test_names_do_not_depend_on_what_they_stand_for(tmp_path: Path) -> None:
    (tmp_path / "sizes.yaml").write_text("b: {architecture: unheard_of}\na: 3\n")
    assert size_names(tmp_path) == ["b", "a"]
    (tmp_path / "sizes.yaml").write_text("- a\n")
    with pytest.raises(WordorderError):
        size_names(tmp_path)
