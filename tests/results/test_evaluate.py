"""Tests of wordorder.results.evaluate that need no trained model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordorder.config.decoding import Decoding
from wordorder.config.models import Evaluation
from wordorder.data.binary import ParallelCorpus, write_corpus
from wordorder.data.positions import write_positions
from wordorder.files import write_text
from wordorder.results.evaluate import evaluate


def test_other_positions_translate_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, model = tmp_path / "data", tmp_path / "model.pt"
    write_corpus(data / "binary/test", [([4, 4], [4])] * 3, vocabulary_size=5)
    write_text(data / "raw/test.target", "a b c d\nb c d e\nc d e f\n")
    model.touch()
    translated: list[Path] = []

    def translate(*_: Any, output: Path, nbest: Path, **__: Any) -> None:
        translated.append(output)
        write_text(output, "a b c d\nb c d e\nc d e f\n")
        write_text(nbest, "{}\n")

    def run(order: list[int]) -> None:
        rows = [np.array(order)] * 3
        write_positions(
            data / "positions/gold/test", rows, kind="gold", corpus=ParallelCorpus.open(data / "binary/test")
        )
        evaluate(
            Evaluation(tests=["test"], metrics=["bleu"]),
            Decoding(),
            model=model,
            data=data,
            positions="gold",
            language="de",
            output=tmp_path / "beam/evaluation.json",
        )

    monkeypatch.setattr("wordorder.training.device.finished_model", lambda *_: None)
    monkeypatch.setattr("wordorder.data.subword.Subword.load", lambda _: None)
    monkeypatch.setattr("wordorder.decoding.translate.check_positions", lambda *_, **__: None)
    monkeypatch.setattr("wordorder.decoding.translate.translate_corpus", translate)
    run([0, 1])
    run([0, 1])
    assert len(translated) == 1
    run([1, 0])
    assert len(translated) == 2
