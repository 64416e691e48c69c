"""Tests of training pairs that a test set also contains: what is equal, what is dropped, what is counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wordorder.cli.main import main
from wordorder.config.datasets import Preparation
from wordorder.data.clean import clean_files
from wordorder.data.overlap import HeldOut, bucket, letters


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Isn’t it?", "isn 't it ?"),
        ("STRASSE 5", "Straße, 5."),
        ("これは 本 です 。", "これは本です"),
        ("Ｇｏ！", "go"),
        ("Cafe\u0301", "CAFÉ"),
        ("İzmir", "izmir"),  # a dotless i and a mark after it, in lower case
        ("so soll´s sein", "So soll's sein!"),  # the accent alone becomes a space and a mark
        ("שָׁלוֹם", "שלום"),  # points of Hebrew
        ("\u8fbb\U000e0100", "\u8fbb"),  # another glyph of the same character
    ],
)
def test_what_has_the_same_letters(one: str, other: str) -> None:
    assert letters(one) == letters(other) != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a cat", "a car"),
        ("5", "6"),
        ("schon", "schön"),
        ("が", "か"),
        ("दिन", "दान"),
        ("ที", "ทุ"),
        ("चिता", "चीता"),
    ],
)
def test_what_has_not(one: str, other: str) -> None:
    assert letters(one) != letters(other)


def test_buckets_are_those_of_every_machine() -> None:
    # printf hithere | sha256sum
    assert bucket("Hi there!", 1000) == bucket("hithere", 1000) == 0x3E4748D72B0A0C5D % 1000


def test_each_side_is_compared_with_its_own() -> None:
    held_out = HeldOut([("A cat.", "Eine Katze."), ("...", "???")])
    assert held_out.has("a CAT", "Ein Kater.")
    assert held_out.has("This cat.", "eine katze!")
    assert not held_out.has("Eine Katze.", "A cat.")
    assert not held_out.has("!!!", "---")  # no letters at all


def test_replaced_characters_are_equal(tmp_path: Path) -> None:
    """In both directions, and also where a letter is written as two characters."""
    files = {
        "train.source": "Ţara\nȚara\nT\u0327ara\nTara\n",
        "train.target": "one\ntwo\nthree\nfour\n",
        "valid.source": "țara!\n",
        "valid.target": "the country\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    preprocessing = {"replace": {"ro": {"Ţ": "Ț", "ţ": "ț"}, "en": {"ţ": "x"}}}
    config = Preparation.model_validate(
        {"preprocessing": preprocessing, "source_language": "ro", "target_language": "en"}
    )
    outputs = {"output_source": tmp_path / "s", "output_target": tmp_path / "t", "report": tmp_path / "report.json"}
    for held_out in ("țara!\n", "ţara!\n"):
        (tmp_path / "valid.source").write_text(held_out, encoding="utf-8")
        clean_files(
            config,
            tmp_path / "train.source",
            tmp_path / "train.target",
            held_out=[tmp_path / "valid.source", tmp_path / "valid.target"],
            **outputs,
        )
        assert (tmp_path / "t").read_text() == "four\n"


def test_cleaning_drops_and_counts_them(tmp_path: Path) -> None:
    files = {
        "train.source": "A cat .\nA dog.\n\nThe bird.\nA cow.\n",
        "train.target": "Ein Kater.\nEin Hund.\nLeer.\neine amsel\nEine Kuh.\n",
        "valid.source": "a cat\n",
        "valid.target": "Eine Katze.\n",
        "test.source": "A blackbird.\n",
        "test.target": "Eine Amsel.\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    slice_ = {"preprocessing": {"cleaning": {"ratio_slack": 50}}, "source_language": "en", "target_language": "de"}
    arguments = ["stage", "clean", "--config", json.dumps(slice_)]
    for option, name in (
        ("source", "train.source"),
        ("target", "train.target"),
        ("output-source", "s"),
        ("output-target", "t"),
        ("report", "report.json"),
    ):
        arguments += [f"--{option}", str(tmp_path / name)]
    held_out = [str(tmp_path / f"{split}.{side}") for split in ("valid", "test") for side in ("source", "target")]
    assert main([*arguments, "--held-out", *held_out]) == 0
    assert (tmp_path / "s").read_text() == "A dog .\nA cow .\n"
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["read"], report["kept"]) == (5, 2)
    assert report["removed"] == {
        "blank_source": 1,
        "blank_target": 0,
        "too_short": 0,
        "too_long": 0,
        "ratio": 0,
        "overlap": 2,
    }
    assert main(arguments) == 0  # without them nothing is said of it
    assert "overlap" not in json.loads((tmp_path / "report.json").read_text())["removed"]
    assert main([*arguments, "--held-out", held_out[0]]) == 1


def test_detokenising_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text("彼 は Tom Smith と 「 本 」 を 読 ん だ 。\n")
    arguments = ["stage", "detokenise", "--language", "ja", "--input", str(tmp_path / "tokens")]
    assert main([*arguments, "--output", str(tmp_path / "text")]) == 0
    assert (tmp_path / "text").read_text() == "彼はTom Smithと「本」を読んだ。\n"
