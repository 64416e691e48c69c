"""Tests of the n-gram gap against sacreBLEU's public classes and its command line."""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from analysis_runs import computed
from translated_study import analysed, write_sample
from wordorder.results.translations import raw

SETTINGS = {"characters": 12, "words": 4, "bleu": 6}


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    monkeypatch.setattr("wordorder.analyses.ngram_gap._BLOCK", 10)  # so that 25 sentences are three blocks
    return write_sample(tmp_path)


def hypotheses(results: Path, encoding: str, seed: int) -> Path:
    return results / "cells/pair" / encoding / "tiny" / str(seed) / "test.hypotheses"


def test_every_score_is_that_of_sacrebleu_with_this_n(sample: tuple[Path, Path]) -> None:
    results, data = sample
    found = computed(analysed(ngram_gap=SETTINGS), results, data)
    references = raw(data, "pair", "test", "target").read_text(encoding="utf-8").splitlines()
    metrics = {("chrf_characters", n): CHRF(char_order=n, word_order=2) for n in range(1, 13)}
    metrics |= {("chrf_words", n): CHRF(char_order=6, word_order=n) for n in range(1, 5)}
    bleus = {("bleu", n): BLEU(max_ngram_order=n) for n in range(1, 7)}
    for encoding, seed in [("opr", 1), ("sinusoidal", 2)]:
        lines = hypotheses(results, encoding, seed).read_text(encoding="utf-8").splitlines()
        rows = found[(found["encoding"] == encoding) & (found["seed"] == seed)].set_index(["panel", "n"])
        assert list(rows.index) == [*metrics, *bleus]
        for key, metric in (metrics | bleus).items():
            assert rows.loc[key, "score"] == pytest.approx(metric.corpus_score(lines, [references]).score, abs=1e-9)
            assert rows.loc[key, "signature"] == str(metric.get_signature())


def test_scores_are_those_of_the_command_line(sample: tuple[Path, Path]) -> None:
    results, data = sample
    found = computed(analysed(ngram_gap=SETTINGS | {"character_words": 0}), results, data)
    rows = found[(found["encoding"] == "opr") & (found["seed"] == 1)].set_index(["panel", "n"])["score"]
    for key, options in {
        ("chrf_characters", 9): ["-m", "chrf", "--chrf-char-order", "9"],
        ("chrf_words", 3): ["-m", "chrf", "--chrf-word-order", "3"],
        ("bleu", 4): ["-m", "bleu"],
    }.items():
        command = [sys.executable, "-m", "sacrebleu", raw(data, "pair", "test", "target"), "-b", "-w", "8", *options]
        done = subprocess.run(
            [str(part) for part in [*command, "-i", hypotheses(results, "opr", 1)]],
            capture_output=True,
            text=True,
            check=True,
        )
        assert rows[key] == pytest.approx(float(done.stdout), abs=1e-7)


def test_the_gap_is_to_the_baseline_of_the_same_seed(sample: tuple[Path, Path]) -> None:
    results, data = sample
    found = computed(analysed(ngram_gap=SETTINGS), results, data)
    at = found[(found["panel"] == "bleu") & (found["n"] == 3)].set_index(["encoding", "seed"])
    gaps = [at.loc[("opr", seed), "score"] - at.loc[("sinusoidal", seed), "score"] for seed in (1, 2)]
    assert list(at.loc["opr", "gap"]) == pytest.approx(gaps)
    assert at.loc[("opr", 1), "mean"] == at.loc[("opr", 2), "mean"] == pytest.approx(statistics.mean(gaps))
    assert at.loc[("opr", 1), "sd"] == pytest.approx(statistics.stdev(gaps))
    assert list(at.loc["sinusoidal", "gap"]) == [0, 0]


def test_cells_without_translations_are_listed(sample: tuple[Path, Path]) -> None:
    results, data = sample
    found = computed(analysed(ngram_gap=SETTINGS), results, data)
    assert len(found) == 4 * 2 * (12 + 4 + 6)
    status = found.groupby(["encoding", "seed"])["status"].unique().map(list).to_dict()
    assert status[("none", 1)] == ["scored"] and status[("none", 2)] == ["diverged"]
    assert status[("untrained", 1)] == ["missing"]
    one_left = found[(found["encoding"] == "none") & (found["n"] == 1)]
    assert list(one_left["seeds"].unique()) == [1] and one_left["sd"].isna().all()
    assert pd.isna(one_left[one_left["seed"] == 2]["gap"]).all()
