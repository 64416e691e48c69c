from __future__ import annotations

import os
import shutil
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from tiny_models import configurations
from wordorder.config.load import load_encodings, load_study
from wordorder.encodings import registry, sinusoidal
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.registry import build, encoding_types, parse
from wordorder.errors import WordorderError

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
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(dedent(text), encoding="utf-8")
    return path


def refusal(entry: dict[str, Any]) -> str:
    with pytest.raises(WordorderError) as raised:
        parse(entry)
    return str(raised.value)


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
    ("entry", "sentence"),
    [
        (
            {"type": "sinusoidl"},
            "There is no encoding of type 'sinusoidl'. Did you mean 'sinusoidal'? Known types: ",
        ),
        ({"type": "xyz"}, "There is no encoding of type 'xyz'. Known types: "),
        ({}, "An encoding needs a 'type' or a 'compose' list, but {} has neither."),
        ({"type": 3}, "An encoding needs a 'type' or a 'compose' list, but {'type': 3} has neither."),
        (
            {"type": "relative", "clips": 4},
            "The encoding 'relative' is not well configured: the encoding 'relative' has no parameter 'clips' (it has "
            "placement, clip, keys, values, share_heads, share_layers, cross). Did you mean 'clip'?",
        ),
        (
            {"type": "none", "colour": "red"},
            "The encoding 'none' is not well configured: the encoding 'none' has no parameter 'colour' (it has "
            "placement).",
        ),
        (
            {"type": "opr", "placement": "encodr"},
            "The encoding 'opr' is not well configured: its 'placement' is 'encodr': Input should be 'both', "
            "'encoder' or 'decoder'.",
        ),
        (
            {"type": "opr", "k": "8"},
            "The encoding 'opr' is not well configured: its 'k' is '8': Input should be a valid number.",
        ),
        (
            {"type": "t5", "buckets": True},
            "The encoding 't5' is not well configured: its 'buckets' is True: Input should be a valid integer.",
        ),
        (
            {"type": "relative", "keys": 1},
            "The encoding 'relative' is not well configured: its 'keys' is 1: Input should be a valid boolean.",
        ),
    ],
)
def test_mistakes_in_an_entry(entry: dict[str, Any], sentence: str) -> None:
    message = refusal(entry)
    assert message.startswith(sentence)
    assert message.endswith((".", "?"))


def test_all_mistakes_of_an_entry_are_told() -> None:
    message = refusal({"type": "relative", "clip": 0, "heads": 3})
    assert "its 'clip' is 0: " in message
    assert "has no parameter 'heads'" in message


# -------------------------------------------------------------------------------------------- WORDORDER_ENCODINGS


def test_a_file_in_the_folder_is_an_encoding(own_encodings: Path) -> None:
    assert "counting" not in encoding_types()
    write(own_encodings, "counting.py")
    registry._discover.cache_clear()
    assert "counting" in encoding_types()
    encoding = build(parse({"type": "counting", "step": 0.5}), Shape(4, 2, 1, 1))
    added = encoding.add_to_embeddings(torch.zeros(1, 3, 4), Positions.range(3), "encoder")
    assert_close(added[0, :, 0], torch.tensor([0, 0.5, 1.0]))
    assert "Did you mean 'counting'?" in refusal({"type": "count"})


def test_several_folders(own_encodings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = own_encodings.parent / "more"
    write(own_encodings, "one.py")
    write(other, "one.py", COUNTING.replace('"counting"', '"other"'))
    monkeypatch.setenv("WORDORDER_ENCODINGS", f"{own_encodings}{os.pathsep}{other}{os.pathsep}")
    assert {"counting", "other"} <= set(encoding_types())


def test_a_folder_that_does_not_exist(own_encodings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDORDER_ENCODINGS", str(own_encodings / "nowhere"))
    with pytest.raises(WordorderError, match=r"^WORDORDER_ENCODINGS names .*nowhere, which does not exist\.$"):
        encoding_types()
    (own_encodings / "nowhere").touch()
    with pytest.raises(WordorderError, match=r"nowhere, which is a file; name the folder that it lies in\.$"):
        encoding_types()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def broken(:\n", r"SyntaxError: invalid syntax"),
        ("import no_such_module\n", r"ModuleNotFoundError: No module named 'no_such_module'\.$"),
        ("1 / 0\n", r"ZeroDivisionError: division by zero\.$"),
        (
            COUNTING.replace('type: Literal["counting"] = "counting"', 'type: Literal["counting"]'),
            r"CountingConfig of .*broken\.py does not name its type\. Give it a line such as ",
        ),
    ],
)
def test_a_broken_file_is_named_and_can_be_mended(own_encodings: Path, text: str, reason: str) -> None:
    write(own_encodings, "a_good_one.py")
    path = write(own_encodings, "broken.py", text)
    with pytest.raises(WordorderError, match=rf"^The encoding file {path} cannot be loaded[.:] {reason}"):
        encoding_types()
    path.write_text("", encoding="utf-8")
    assert "counting" in encoding_types()


def test_a_name_can_be_taken_once(own_encodings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = write(own_encodings, "one.py")
    other = write(own_encodings, "two.py")
    message = (
        rf"two\.py cannot be loaded\. Two encodings are called 'counting': Counting of {one} and Counting of {other}"
    )
    with pytest.raises(WordorderError, match=message):
        encoding_types()
    # The same file name in another folder is another file.
    other.unlink()
    write(own_encodings.parent / "more", "one.py")
    monkeypatch.setenv("WORDORDER_ENCODINGS", f"{own_encodings}{os.pathsep}{own_encodings.parent / 'more'}")
    with pytest.raises(WordorderError, match="Two encodings are called 'counting'"):
        encoding_types()


def test_a_name_of_the_package_is_taken(own_encodings: Path) -> None:
    shutil.copy(str(sinusoidal.__file__), own_encodings / "sinusoidal.py")
    message = r"Two encodings are called 'sinusoidal': Sinusoidal of wordorder\.encodings\.sinusoidal and .*Rename one"
    with pytest.raises(WordorderError, match=message):
        encoding_types()
    assert build(parse_without_folder({"type": "sinusoidal"}, own_encodings), Shape(4, 2, 1, 1)).table(2) is not None


def parse_without_folder(entry: dict[str, Any], folder: Path) -> Any:
    for file in folder.iterdir():
        file.unlink()
    return parse(entry)


def test_two_classes_of_one_file_cannot_share_a_name(own_encodings: Path) -> None:
    again = "\n\n    @register(CountingConfig)\n    class Again(Encoding):\n        pass\n"
    write(own_encodings, "one.py", COUNTING + again)
    with pytest.raises(WordorderError, match=r"'counting': Counting of .*one\.py and Again of .*one\.py\."):
        encoding_types()


def test_the_arena_has_every_registered_encoding() -> None:
    shipped = Path(__file__).parents[2] / "config"
    entries = load_encodings(shipped)
    in_arena = [entries[name] for name in load_study("arena", shipped).encodings]
    types = {part["type"] for entry in in_arena for part in entry.get("compose", [entry])}
    assert types == set(encoding_types())
