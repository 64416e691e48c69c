"""Tests of wordorder.config.load: every mistake in a list of entries has a code, a line and a key."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from raises import raises
from small_config import Problems, found
from wordorder.config.load import (
    encoding_names,
    load_aligners,
    load_dataset,
    load_encodings,
    load_recipes,
    load_reorderers,
    load_sizes,
    load_study,
    study_names,
)


def test_the_correct_files_load(root: Path) -> None:
    study = load_study("mini", root)
    assert study.recipe.learning_rate == 0.002 and study.recipe.adam_betas == (0.9, 0.98)
    assert study == load_study(root / "studies/mini.yaml", root)
    assert load_dataset("pair", root).target_language == "no"
    assert load_dataset("toy", root).test_names == ["test", "hard"]
    assert study_names(root) == ["mini"]


def test_unknown_study_and_dataset(root: Path) -> None:
    with raises("unknown-name", path=root / "studies", found="mimi", expected=["mini"], suggestion="mini"):
        load_study("mimi", root)
    with raises("unknown-name", path=root / "datasets", found="toi", suggestion="toy"):
        load_dataset("toi", root)
    with raises("missing-file", path="x.yaml"):
        load_study("x.yaml", root)
    with raises("unknown-name", expected=[]):
        load_study("mini", root / "nowhere")


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "just text", "3"])
def test_a_file_that_is_not_a_mapping_is_refused(root: Path, text: str) -> None:
    for path, load in (
        (root / "studies/mini.yaml", lambda: load_study("mini", root)),
        (root / "datasets/toy.yaml", lambda: load_dataset("toy", root)),
        (root / "sizes.yaml", lambda: load_sizes(root)),
        (root / "encodings.yaml", lambda: load_encodings(root)),
        (root / "recipes.yaml", lambda: load_recipes(root)),
    ):
        good = path.read_text()
        path.write_text(text)
        (problem,) = found(path, load)
        assert problem["code"] == "wrong-type" and "key" not in problem
        path.write_text(good)


def test_mistakes_in_sizes(root: Path) -> None:
    path = root / "sizes.yaml"
    path.write_text("odd: {encoder_layers: 2, decoder_layers: 2, dim: 128, ffn_dim: 8, heads: 3, dropout: 0.1}\n")
    with raises("invalid-value", path, 1, "odd", says="dim (128) must be a multiple of heads (3)"):
        load_sizes(root)
    path.write_text("a:\n  encoder_layer: 2\n")
    with raises("unknown-key", path, 2, "a.encoder_layer", "encoder_layers"):
        load_sizes(root)
    path.write_text("a b: {}\n")
    with raises("malformed-text", path, 1, "a b"):
        load_sizes(root)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("a: {k: 8}", [{"code": "missing-key", "line": 1, "key": "a.type"}]),
        (
            "a:\n  type: opr\n  compose: [{type: opr}, {type: none}]",
            [{"code": "unknown-key", "line": 3, "key": "a.compose"}],
        ),
        ("a: {compose: [{type: opr}]}", [{"code": "wrong-length", "line": 1, "key": "a.compose"}]),
        ("a: {compose: [{type: opr}, {k: 1}]}", [{"code": "missing-key", "line": 1, "key": "a.compose[1].type"}]),
        ("a: opr", [{"code": "wrong-type", "line": 1, "key": "a"}]),
        ("a: {type: opr}\na: {type: opr}", [{"code": "duplicate-key", "line": 2, "key": "a"}]),
        ("a: {type: oprs}", [{"code": "unknown-name", "line": 1, "key": "a.type", "suggestion": "opr"}]),
        (
            "a: {type: opr, k: '8'}\nb:\n  type: relative\n  clips: 4\n  keys: 1",
            [
                {"code": "wrong-type", "line": 1, "key": "a.k"},
                {"code": "unknown-key", "line": 4, "key": "b.clips", "suggestion": "clip"},
                {"code": "wrong-type", "line": 5, "key": "b.keys"},
            ],
        ),
        (
            "a:\n  compose:\n    - type: opr\n    - type: alibi\n      slope: 1",
            [{"code": "unknown-key", "line": 5, "key": "a.compose[1].slope"}],
        ),
        (
            "a: {compose: [{type: opr}, {type: alibi}], placement: encoder}",
            [{"code": "unknown-choice", "line": 1, "key": "a.placement"}],
        ),
    ],
)
def test_mistakes_in_encodings(root: Path, text: str, problems: Problems) -> None:
    path = root / "encodings.yaml"
    path.write_text(text)
    assert found(path, load_encodings, root) == problems


def test_a_parameter_of_another_encoding_is_said_to_be_one(root: Path) -> None:
    (root / "encodings.yaml").write_text("a: {type: opr, clip: 4}\n")
    with raises("unknown-key", line=1, key="a.clip", says="'relative'"):
        load_encodings(root)


def test_encodings_are_typed(root: Path) -> None:
    entries = load_encodings(root)
    assert type(entries["opr"]).__name__ == "OPRConfig" and entries["opr"].needs_reordered is False
    assert [part.type for part in entries["opr_rpr"].compose] == ["opr", "relative"]
    assert list(entries) == encoding_names(root)


def test_other_entries_of_encodings_are_not_looked_at(root: Path) -> None:
    (root / "encodings.yaml").write_text("a: {type: opr}\nb: {type: nothing}\n")
    assert encoding_names(root) == ["a", "b"]
    assert list(load_encodings(root, ["a"])) == ["a"]
    with raises("unknown-name", line=2, key="b.type"):
        load_encodings(root, ["b"])


def test_names_of_encodings_need_no_pytorch(root: Path) -> None:
    code = f"import sys; from wordorder.config.load import load_study; load_study('mini', {str(root)!r})"
    done = subprocess.run([sys.executable, "-c", f"{code}; print(*sys.modules)"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "wordorder.config.encodings" in done.stdout and "torch" not in done.stdout.split()


def test_the_keys_of_a_union_are_those_of_the_kind_that_is_meant(root: Path) -> None:
    (root / "aligners.yaml").write_text("a: {aligner: {type: hmm, iteration: 3}}\nb: {aligner: {type: hnm}}\n")
    assert found(root / "aligners.yaml", load_aligners, root) == [
        {"code": "unknown-key", "line": 1, "key": "a.aligner.iteration", "suggestion": "iterations"},
        {"code": "unknown-choice", "line": 2, "key": "b.aligner.type", "suggestion": "hmm"},
    ]


def test_a_single_fold_is_refused(root: Path) -> None:
    path = root / "reorderers.yaml"
    path.write_text("one: {aligner: hmm, folds: 0}\ntwo: {aligner: hmm, folds: 2}\nthree: {aligner: hmm, folds: 1}\n")
    with raises("invalid-value", path, 3, "three.folds", says="write 0 or a number from 2 on"):
        load_reorderers(root)


def test_reorderers_name_aligners(root: Path) -> None:
    assert load_reorderers(root)["btg"].aligner == "hmm"
    path, known = root / "reorderers.yaml", sorted(load_aligners(root))
    path.write_text("one: {aligner: hmm}\ntwo: {aligner: hhm}\n")
    with raises("unknown-name", path, 2, "two.aligner", "hmm", found="hhm", expected=known):
        load_reorderers(root)
    (root / "aligners.yaml").unlink()
    path.unlink()
    assert (load_aligners(root), load_reorderers(root)) == ({}, {})
