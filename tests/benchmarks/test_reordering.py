"""Test that the benchmark of the reordering parser runs, and that its record holds what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from wordorder.errors import WordorderError

SMALL = (
    "--train 60 --development 20 --held-out 20 --iterations 2 --together 1 3 --beams 1 --sentences 20 --rounds 2 "
    "--large 50"
)


@pytest.fixture
def text(tmp_path: Path) -> list[str]:
    """A hundred sentences whose two words always swap, after a third that stays."""
    random = np.random.default_rng(0)
    words = random.integers(0, 10, (100, 2))
    (tmp_path / "source").write_text("".join(f"x{a} stays y{b}\n" for a, b in words))
    (tmp_path / "target").write_text("".join(f"y{b} x{a} stays\n" for a, b in words))
    (tmp_path / "links").write_text("0-1 1-2 2-0\n" * 100)
    return ["--text", str(tmp_path / "source"), str(tmp_path / "target"), "--links", str(tmp_path / "links")]


@pytest.mark.slow
def test_everything_is_measured(text: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from reordering import parse_options, run

    run(parse_options([*text, *SMALL.split(), "--output", str(tmp_path / "out")]))
    record = json.loads((tmp_path / "out.json").read_text())
    (row,) = record["results"]["quality"]
    tau = row["scores"]["tau"]
    assert tau["mean"] == 1.0 and tau["interval"] == [1.0, 1.0]
    assert tau["identity"] == pytest.approx(1 / 3)  # two of three pairs are in the wrong order
    assert tau["difference_interval"] == pytest.approx([2 / 3, 2 / 3])
    assert row["trained_on"] == 60 and row["held_out_sentences"] == 20 and row["penalty"] == 0
    speed = record["results"]["speed"]
    assert [(found["words"], found["search"]) for found in speed[:2]] == [(3.0, "exact"), (3.0, "beam 1")]
    assert [found["same_order_as_exact"] for found in speed if found["search"] == "exact"] == [1.0, 1.0]
    assert all(found["sentences_per_second"] > 0 and len(found["rounds"]) == 2 for found in speed)
    assert record["results"]["large"][0]["sentences"] == 60
    printed = capsys.readouterr().out
    assert "| text   | identity" in printed and str(tmp_path) not in json.dumps(record["options"]["text"])


def test_too_short_a_text_and_no_text_are_refused(text: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from reordering import parse_options, run

    with pytest.raises(WordorderError, match=r"'text' .*\b100 .*--train.*--held-out"):
        run(parse_options(text))
    monkeypatch.delenv("WORDORDER_MIRROR", raising=False)
    with pytest.raises(WordorderError, match="WORDORDER_MIRROR"):
        run(parse_options(SMALL.split()))


def test_the_bootstrap_draws_the_same_sentences_for_both() -> None:
    from reordering import bootstrap

    from wordorder.reordering.metrics import OrderScores

    own = np.random.default_rng(0).random(200)
    system, baseline = OrderScores(own, own, own), OrderScores(own - 0.25, own - 0.25, own - 0.25)
    found = bootstrap(system, baseline)["tau"]
    assert found["difference_interval"] == pytest.approx([0.25, 0.25])
    error = 1.96 * own.std() / np.sqrt(200)
    assert found["interval"] == pytest.approx([own.mean() - error, own.mean() + error], abs=0.01)
