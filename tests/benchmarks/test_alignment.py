"""Test that the alignment benchmark runs on a mirror, and that its record holds what it prints. Nothing is timed."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from wordorder.errors import WordorderError


def put(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(line + "\n" for line in lines).encode()))


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write word-by-word translations in reverse order."""
    draw = random.Random(1)
    numbers = [[draw.randrange(12) for _ in range(draw.randint(2, 5))] for _ in range(130)]
    source = [" ".join(f"S{n}" for n in row) for row in numbers]
    target = [" ".join(f"T{n}" for n in reversed(row)) for row in numbers]
    put(tmp_path / "kftt30k-ja-en/train.ja.gz", [*source[30:], "", "x " * 101])
    put(tmp_path / "kftt30k-ja-en/train.en.gz", [*target[30:], "y", "y"])
    folder = tmp_path / "gold-alignments/kftt-ja-en"
    put(folder / "test.src-tgt.gz", [f"{s} ||| {t}  " for s, t in zip(source[:30], target[:30], strict=True)])
    gold = [" ".join(f"{i + 1}-{len(row) - i}" for i in range(len(row))) for row in numbers[:30]]
    put(folder / "test.gold.gz", [gold[0] + " 9-9", *gold[1:]])
    monkeypatch.setenv("WORDORDER_MIRROR", str(tmp_path))
    return tmp_path


def test_everything_is_measured(mirror: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from alignment import main

    main(["--sets", "ja-en", "--peers", "--output", str(mirror / "record.json")])
    record = json.loads((mirror / "record.json").read_text())
    found = record["sets"]["ja-en"]
    assert (found["pairs"], found["gold_pairs"], found["dropped_gold_links"]) == (130, 30, 1)
    (turn,) = found["aligners"]["wordorder"]
    assert turn["cpu_seconds"] >= 0
    assert set(turn["symmetrisations"]) == {"intersection", "grow-diag-final-and", "union"}
    assert turn["symmetrisations"]["intersection"]["aer"] < 0.1
    assert f"{100 * turn['symmetrisations']['union']['aer']:.1f}" in capsys.readouterr().out


def test_no_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    from alignment import main

    monkeypatch.delenv("WORDORDER_MIRROR", raising=False)
    with pytest.raises(WordorderError, match="WORDORDER_MIRROR"):
        main([])


def test_the_columns_of_a_table(tmp_path: Path) -> None:
    from alignment import columns

    put(tmp_path / "table.gz", ["Go on.\tVa !\tCC-BY", "Hi.\tSalut !", ""])
    assert columns(tmp_path / "table.gz") == [("Go on.", "Va !"), ("Hi.", "Salut !")]


def test_the_longest_match_first() -> None:
    from alignment import longest_matches

    assert longest_matches("我们 在abc北京市3。", {"我们", "北京", "北京市", "们在"}) == [
        "我们",
        "在",
        "abc",
        "北京市",
        "3",
        "。",
    ]
    assert longest_matches("好好", set()) == ["好", "好"]
