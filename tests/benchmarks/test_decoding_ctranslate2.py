"""The benchmark of decoding against CTranslate2 in a short form."""

from __future__ import annotations

import argparse
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from wordorder.config.datasets import Subword as Settings
from wordorder.data.binary import write_corpus
from wordorder.data.subword import Subword, train_subword

LINES = ["A dog runs over the grass .", "Two men sit on a bench and talk .", "She reads a book ."]


@pytest.fixture
def benchmark() -> ModuleType:
    import decoding_ctranslate2

    return decoding_ctranslate2


def search(*clocks: float) -> dict[str, Any]:
    seconds = [{"clock": clock, "cpu": 2 * clock} for clock in clocks]
    return {"seconds": seconds, "identical": 0.5, "mean_length": 11.0}


def test_ratios_are_to_the_fastest_split_of_ctranslate2(benchmark: ModuleType) -> None:
    searches = {
        "wordorder fp32": search(2.0, 4.0, 2.0),
        "CTranslate2 fp32 1 x 2": search(3.0, 3.0, 3.0),
        "CTranslate2 fp32 2 x 1": search(1.0, 1.0, 1.5),
    }
    results = {"sentences": 100, "beam": 5, "weights": "random", "searches": searches}
    made = benchmark.table(results)
    assert "to CTranslate2 fp32 2 x 1" in made
    assert "| wordorder fp32 | 50 | 25 | 0.50 | 0.50 | 50.0% | 11.00 |" in made


def test_all_searches_translate_with_random_weights(benchmark: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    (tmp_path / "text").write_text("\n".join(LINES * 5) + "\n", encoding="utf-8")
    train_subword([tmp_path / "text"], tmp_path / "model", config=Settings(vocabulary=60, subword_sentences=1000))
    subword = Subword.load(tmp_path / "model")
    encoded = [subword.encode(line) for line in LINES]
    write_corpus(tmp_path / "corpus", zip(encoded, encoded, strict=True), vocabulary_size=subword.size)
    files = {"corpus": tmp_path / "corpus", "subword": tmp_path / "model", "model": None}
    options = argparse.Namespace(**files, sentences=3, beam=2, alpha=1.0, rounds=1, threads=1)
    results = benchmark.measure(options)
    assert results["searches"]["wordorder fp32"]["mean_length"] == benchmark.RANDOM_LENGTH
    assert "CTranslate2 fp32" in results["searches"]
    assert "| wordorder bf16 |" in benchmark.table(results)
