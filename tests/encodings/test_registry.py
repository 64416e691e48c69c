from __future__ import annotations

import os
import shutil
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from raises import raises
from tiny_models import configurations, parts, placed
from wordorder.config.load import load_encodings, load_study
from wordorder.encodings import sinusoidal
from wordorder.encodings.base import REGISTRY, Positions, Shape
from wordorder.encodings.registry import build, encoding_types, parse
from wordorder.errors import WordorderError

# The article on sinusoids names it only to reject it; the study 'sinusoid' shows that it fails.
REJECTED = {"number"}

COUNTING = """
    from typing import Literal

    from torch import Tensor

    from wordorder.encodings.base import Encoding, EncodingConfig, Positions, Stack
    from wordorder.encodings.registry import register


    class CountingConfig(EncodingConfig):
        type: Literal["counting"] = "counting"
        step: float = 1.0


    @register(CountingConfig)
    class Counting(Encoding):
        def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
            return x + self.config.step * positions.absolute[..., None]
"""


def write(folder: Path, name: str, text: str = COUNTING) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(dedent(text), encoding="utf-8")
    return path


# ------------------------------------------------------------------------------------------- entries and mistakes


def test_the_types_of_the_package() -> None:
    types = encoding_types()
    assert {"none", "sinusoidal", "learned", "opr", "relative"} <= set(types)
    assert types == sorted(types)


@pytest.mark.parametrize("name", configurations())
def test_a_parsed_entry_can_be_written_down_and_parsed_again(name: str) -> None:
    config = configurations()[name]
    assert parse(config.model_dump(mode="json")) == config


def test_defaults_are_filled_in() -> None:
    assert parse({"type": "opr"}).model_dump() == {"type": "opr", "placement": "both", "k": 8.0}
    assert parse({"type": "opr", "k": 8}) == parse({"type": "opr"}), "a whole number is a number"


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"type": "sinusoidl"}, {"code": "unknown-name", "key": "type", "suggestion": "sinusoidal"}),
        ({"type": "xyz"}, {"code": "unknown-name", "key": "type"}),
        ({}, {"code": "missing-key", "key": "type", "says": "'compose'"}),
        ({"type": 3}, {"code": "wrong-type", "key": "type"}),
        ({"type": "relative", "clips": 4}, {"code": "unknown-key", "key": "clips", "suggestion": "clip"}),
        (
            {"type": "none", "colour": "red"},
            {"code": "unknown-key", "key": "colour", "expected": ["type", "placement"]},
        ),
        ({"type": "opr", "placement": "encodr"}, {"code": "unknown-choice", "suggestion": "encoder"}),
        ({"type": "opr", "k": "8"}, {"code": "wrong-type", "key": "k"}),
        ({"type": "t5", "buckets": True}, {"code": "wrong-type", "key": "buckets"}),
        ({"type": "relative", "keys": 1}, {"code": "wrong-type", "key": "keys"}),
        ({"type": "composed"}, {"code": "missing-key", "key": "compose"}),
    ],
)
def test_mistakes_in_an_entry(entry: dict[str, Any], problem: dict[str, Any]) -> None:
    with raises(**problem):
        parse(entry)


def test_all_mistakes_of_an_entry_are_reported() -> None:
    with raises("invalid-configuration") as caught:
        parse({"type": "relative", "clip": 0, "heads": 3})
    assert [(part.code, part.key) for part in caught.error.parts] == [
        ("out-of-range", "clip"),
        ("unknown-key", "heads"),
    ]


# ---------------------------------------------------------------------------------- WORDORDER_PLUGINS, entry points


def test_a_file_in_the_folder_is_an_encoding(own_encodings: Path) -> None:
    assert "counting" not in encoding_types()
    write(own_encodings, "counting.py")
    REGISTRY.forget_discovery()
    assert "counting" in encoding_types()
    encoding = build(parse({"type": "counting", "step": 0.5}), Shape(4, 2, 1, 1))
    added = encoding.add_to_embeddings(torch.zeros(1, 3, 4), Positions.range(3), "encoder")
    assert_close(added[0, :, 0], torch.tensor([0, 0.5, 1.0]))
    with raises("unknown-name", suggestion="counting"):
        parse({"type": "count"})


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("_add_to_embeddings", "_add_to_embedding", {"code": "encoding-without-hook", "key": "counting"}),
        ("    def _add", "    revision = 2\n\n        def _add", {"code": "misplaced-revision", "key": "revision"}),
        ("    type:", "    revision: int = 2\n        type:", {"code": "wrong-revision", "key": "revision"}),
        ("    type:", "    revision = '2'\n        type:", {"code": "wrong-revision", "key": "revision"}),
        ("    type:", "    revision = 0\n        type:", {"code": "wrong-revision", "key": "revision"}),
    ],
    ids=["a misspelt hook", "a revision that nothing reads", "a key", "a text", "a number below 1"],
)
def test_a_class_without_effect_is_refused(own_encodings: Path, old: str, new: str, problem: dict[str, Any]) -> None:
    write(own_encodings, "counting.py", COUNTING.replace(old, new))
    REGISTRY.forget_discovery()
    with raises(problem["code"], key=problem["key"]):
        encoding_types()


def test_an_unknown_name_says_where_encodings_were_searched(own_encodings: Path) -> None:
    with pytest.raises(WordorderError, match=f"Your own encodings were searched in {own_encodings}"):
        parse({"type": "xyz"})
    with pytest.raises(WordorderError) as caught:
        parse({"type": "sinusoidl"})
    assert "searched" not in str(caught.value)


def test_several_folders(plugins: Path, own_encodings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = plugins.parent / "more"
    write(own_encodings, "one.py")
    write(other / "encodings", "one.py", COUNTING.replace('"counting"', '"other"'))
    monkeypatch.setenv("WORDORDER_PLUGINS", f"{plugins}{os.pathsep}{other}{os.pathsep}")
    assert {"counting", "other"} <= set(encoding_types())


def test_an_installed_distribution_brings_an_encoding(plugins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = plugins.parent / "site-packages"
    write(site, "counting_encoding.py")
    described = site / "counting_encoding-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: counting-encoding\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[wordorder.encodings]\ncounting = counting_encoding\n")
    monkeypatch.syspath_prepend(str(site))
    assert "counting" in encoding_types()
    assert parse({"type": "counting", "step": 2}).model_dump() == {"type": "counting", "placement": "both", "step": 2.0}
    (described / "entry_points.txt").write_text("[wordorder.encodings]\nlost = no_such_encoding:Lost\n")
    REGISTRY.forget_discovery()
    with raises("broken-plugin", says="no_such_encoding:Lost"):
        encoding_types()


def test_a_folder_that_does_not_exist(plugins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = plugins / "nowhere"
    monkeypatch.setenv("WORDORDER_PLUGINS", str(folder))
    with raises("missing-folder", path=folder, says="WORDORDER_PLUGINS"):
        encoding_types()
    with raises("missing-folder", path=folder):  # which is not the fault of an entry
        parse({"type": "opr"})
    folder.touch()
    with raises("not-a-folder", path=folder):
        encoding_types()


def test_a_file_outside_the_folders_of_the_kinds(plugins: Path) -> None:
    stray = write(plugins, "counting.py")
    with raises("plugin-without-kind", path=stray):
        encoding_types()
    stray.unlink()
    write(plugins / "encoding", "counting.py")
    with raises("unknown-name", path=plugins / "encoding"):
        encoding_types()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("\ndef broken(:\n", {"code": "broken-plugin", "line": 2, "says": "SyntaxError"}),
        ("import no_such_module\n", {"code": "broken-plugin", "says": "'no_such_module'"}),
        ("1 / 0\n", {"code": "broken-plugin", "says": "ZeroDivisionError"}),
        (
            COUNTING.replace('type: Literal["counting"] = "counting"', 'type: Literal["counting"]'),
            {"code": "unnamed-member", "key": "type", "says": "CountingConfig"},
        ),
    ],
)
def test_a_broken_file_is_named_and_can_be_mended(own_encodings: Path, text: str, problem: dict[str, Any]) -> None:
    write(own_encodings, "a_good_one.py")
    path = write(own_encodings, "broken.py", text)
    with raises(path=path, **problem):
        encoding_types()
    path.write_text("", encoding="utf-8")
    assert "counting" in encoding_types()


def test_a_name_can_be_taken_once(plugins: Path, own_encodings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = write(own_encodings, "one.py")
    two = write(own_encodings, "two.py")
    with raises("duplicate-name", path=two, key="counting", says=str(one)):
        encoding_types()
    # The same file name in another folder is another file.
    two.unlink()
    more = write(plugins.parent / "more" / "encodings", "one.py")
    monkeypatch.setenv("WORDORDER_PLUGINS", f"{plugins}{os.pathsep}{more.parents[1]}")
    with raises("duplicate-name", path=more, key="counting"):
        encoding_types()


def test_a_name_of_the_package_is_taken(own_encodings: Path) -> None:
    shutil.copy(str(sinusoidal.__file__), own_encodings / "sinusoidal.py")
    with raises("duplicate-name", key="sinusoidal", says="wordorder.encodings.sinusoidal"):
        encoding_types()
    assert build(parse_without_folder({"type": "sinusoidal"}, own_encodings), Shape(4, 2, 1, 1)).table(2) is not None


def parse_without_folder(entry: dict[str, Any], folder: Path) -> Any:
    for file in folder.glob("*.py"):
        file.unlink()
    return parse(entry)


def test_two_classes_of_one_file_cannot_share_a_name(own_encodings: Path) -> None:
    again = "\n\n    @register(CountingConfig)\n    class Again(Counting):\n        pass\n"
    write(own_encodings, "one.py", COUNTING + again)
    with raises("duplicate-name", key="counting", says="Again of "):
        encoding_types()


def test_the_study_of_placements_has_every_encoding_in_each_stack_and_in_both() -> None:
    """InXL and HeadXL have no hook in a decoder; REJECTED is for other studies."""
    shipped = Path(__file__).parents[2] / "config"
    entries = load_encodings(shipped, load_study("placement_mini", shipped).encodings)
    types = [parse({"type": name}) for name in encoding_types()]
    placements = {
        (config.type, placement)
        for config in types
        if config.type not in {"none", *REJECTED} and placed(config, "decoder") is not None
        for placement in ("both", "encoder", "decoder")
    }
    expected = placements | {("none", "both")}
    assert {(config.type, config.placement) for config in entries.values()} == expected
    assert len(entries) == len(expected)
    for name, config in entries.items():  # with their defaults
        stack = "" if config.placement == "both" else f"_{config.placement}"
        assert name.removesuffix("_causal") == config.type + stack
        assert config == parse({"type": config.type, "placement": config.placement})


def test_the_arena_has_every_registered_encoding() -> None:
    shipped = Path(__file__).parents[2] / "config"
    entries = load_encodings(shipped, load_study("arena", shipped).encodings)
    types = {part.type for config in entries.values() for part in parts(config)}
    assert types == set(encoding_types()) - REJECTED
