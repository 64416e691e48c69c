"""Tests of cleaning: which pairs are dropped, counted and kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from raises import raises
from wordorder.config.datasets import Cleaning, Preparation
from wordorder.data.clean import FILTERS, Report, clean_files, clean_pairs, count_tokens, fault


def preparation(**preprocessing: Any) -> Preparation:
    return Preparation.model_validate(
        {"preprocessing": preprocessing, "source_language": "en", "target_language": "de"}
    )


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (0, 0, "blank_source"),
        (0, 5, "blank_source"),
        (5, 0, "blank_target"),
        (1, 5, "too_short"),
        (5, 1, "too_short"),
        (2, 2, None),
        (100, 100, None),
        (101, 100, "too_long"),
        (100, 101, "too_long"),
        (1, 101, "too_short"),
        (40, 60, None),  # exactly the ratio
        (40, 61, "ratio"),
        (61, 40, "ratio"),
        (2, 12, None),  # within the slack of 10
        (2, 13, "ratio"),
    ],
)
def test_the_first_filter_that_drops_a_pair(source: int, target: int, expected: str | None) -> None:
    assert fault(source, target, Cleaning(min_length=2, max_length=100, max_ratio=1.5, ratio_slack=10)) == expected


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("", 0),
        ("a b c", 3),
        ("Bär ist groß .", 4),
        ("两个人在滑雪 。", 4),  # six characters for three words
        ("两 个 人", 3),
        ("これは本です", 3),
        ("GPU を使う", 3),
        ("세 단어 입니다", 3),  # Korean has spaces
    ],
)
def test_tokens_of_text_without_spaces_are_estimated(line: str, count: int) -> None:
    assert count_tokens(line) == count


RAW = [
    ("Hello, world.", "Hallo, Welt."),
    ("", "Leer."),
    ("Blank target.", " \u2028 "),
    ("word " * 300, "Wort " * 300),
    ("one", "ein " * 30),
    ("one\u2028two\x85three", "eins zwei drei"),
    ("\u200b", "ein Zeichen ohne Breite"),
]


@pytest.fixture
def raw(tmp_path: Path) -> tuple[Path, Path]:
    for name, side in (("raw.source", 0), ("raw.target", 1)):
        (tmp_path / name).write_bytes("".join(pair[side] + "\n" for pair in RAW).encode())
    return tmp_path / "raw.source", tmp_path / "raw.target"


def run(raw: tuple[Path, Path], folder: Path, **options: Any) -> dict[str, Any]:
    clean_files(
        preparation(),
        *raw,
        output_source=folder / "source",
        output_target=folder / "target",
        report=folder / "report.json",
        kept=folder / "kept",
        **options,
    )
    result = {name: (folder / name).read_bytes().decode().split("\n") for name in ("source", "target", "kept")}
    assert all(lines.pop() == "" for lines in result.values())
    return {**result, "report": json.loads((folder / "report.json").read_text())}


def test_training_pairs_are_dropped_and_counted(raw: tuple[Path, Path], tmp_path: Path) -> None:
    result = run(raw, tmp_path / "out")
    assert result["source"] == ["Hello , world .", "one two three", "\u200b"]
    assert result["target"] == ["Hallo , Welt .", "eins zwei drei", "ein Zeichen ohne Breite"]
    assert result["kept"] == ["0", "5", "6"]
    assert result["report"] == {
        "read": 7,
        "kept": 3,
        "source_tokens": 8,
        "target_tokens": 11,
        "removed": {"blank_source": 1, "blank_target": 1, "too_short": 0, "too_long": 1, "ratio": 1},
    }
    assert tuple(result["report"]["removed"]) == FILTERS


def test_keep_all_drops_nothing(raw: tuple[Path, Path], tmp_path: Path) -> None:
    result = run(raw, tmp_path / "out", keep_all=True)
    assert len(result["source"]) == len(result["target"]) == len(RAW)
    assert result["source"][1] == "" and result["target"][2] == ""
    assert result["kept"] == [str(number) for number in range(len(RAW))]
    assert result["report"]["kept"] == result["report"]["read"] == len(RAW)
    assert set(result["report"]["removed"].values()) == {0}


def test_the_lengths_of_the_filters_count_moses_tokens() -> None:
    pair = ("a,b.c,d.e,f", "A , B")
    short = {"min_length": 4}
    kept = list(clean_pairs([pair], preparation(cleaning={**short, "max_length": 9}), report=Report()))
    assert kept == []  # the target has 3 tokens
    kept = list(clean_pairs([(pair[0], pair[0])], preparation(cleaning=short, tokenise=False), report=Report()))
    assert kept == []  # one token without tokenisation
    assert len(list(clean_pairs([(pair[0], pair[0])], preparation(cleaning=short), report=Report()))) == 1


def test_preprocessing_can_be_switched_off() -> None:
    settings = preparation(tokenise=False, normalise_punctuation=False)
    pairs = list(clean_pairs([("It\u2019s  so.", "Ja-ja.")], settings, report=Report()))
    assert pairs == [(0, "It\u2019s so.", "Ja-ja.")]
    settings = preparation(aggressive_dash_splits=True)
    assert list(clean_pairs([("It\u2019s so.", "Ja-ja.")], settings, report=Report())) == [
        (0, "It 's so .", "Ja @-@ ja .")
    ]


def test_nothing_is_written_when_the_sides_differ(raw: tuple[Path, Path], tmp_path: Path) -> None:
    raw[1].write_bytes(raw[1].read_bytes() + b"one more\n")
    with raises("unequal-lines"):
        run(raw, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_pairs_without_text_in_a_test_set_are_kept_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = tmp_path / "test.source", tmp_path / "test.target"
    texts[0].write_text("a b\n\nc d\n" + "e f\n" * 12)
    texts[1].write_text("a b\nb\n \n" + "\n" * 12)
    assert run(texts, tmp_path / "out", keep_all=True)["report"]["kept"] == 15
    warning = capsys.readouterr().err
    assert f"{texts[0]} or {texts[1]} has no text in lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 4 more." in warning
    run(texts, tmp_path / "out")
    assert "no text" not in capsys.readouterr().err
