"""Tests of permutations as text, and of the resulting positions of subwords."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from raises import raises
from wordorder.config import datasets
from wordorder.data.binary import ParallelCorpus, write_corpus
from wordorder.reordering.orders import order_positions, read_orders, word_starts

STARTS = np.array([False, True, False, True])  # tokens 1 and 3 begin a word


@pytest.fixture
def corpus(tmp_path: Path) -> ParallelCorpus:
    """Sentences of the words [1 2] [3], [3] [1] [1 2], and of none."""
    write_corpus(tmp_path / "corpus", [([1, 2, 3], [1]), ([3, 1, 1, 2], [1]), ([], [1])], vocabulary_size=4)
    return ParallelCorpus.open(tmp_path / "corpus")


def written(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_orders_are_read(tmp_path: Path) -> None:
    assert list(read_orders(written(tmp_path / "orders", "2 0 1", "", "0"))) == [[2, 0, 1], [], [0]]


def test_the_subwords_of_a_word_stay_together(tmp_path: Path, corpus: ParallelCorpus) -> None:
    path = written(tmp_path / "orders", "1 0", "2 0 1", "")
    found = [row.tolist() for row in order_positions(path, corpus, starts=STARTS)]
    assert found == [[1, 2, 0], [2, 3, 0, 1], []]


def test_orders_of_tokens_are_positions_the_other_way_round(tmp_path: Path, corpus: ParallelCorpus) -> None:
    path = written(tmp_path / "orders", "1 2 0", "3 0 2 1", "")
    assert [row.tolist() for row in order_positions(path, corpus, starts=None)] == [[2, 0, 1], [1, 3, 2, 0], []]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["1 0", "0 0 1", ""], {"code": "malformed-line", "line": 2}),
        (["1 0", "0 1 x", ""], {"code": "malformed-line", "line": 2}),
        (["1 0", "0 1", ""], {"code": "wrong-count", "line": 2}),
        (["1 0", "0 1 2"], {"code": "unequal-lines"}),
        (["1 0", "0 1 2", "", "0", "0"], {"code": "unequal-lines"}),
    ],
)
def test_orders_that_do_not_fit_are_refused(
    tmp_path: Path, corpus: ParallelCorpus, lines: list[str], problem: dict[str, Any]
) -> None:
    path = written(tmp_path / "orders", *lines)
    with raises(**problem):
        list(order_positions(path, corpus, starts=STARTS))


def test_orders_of_words_where_tokens_are_wanted_are_refused(tmp_path: Path, corpus: ParallelCorpus) -> None:
    with raises("wrong-count", line=1):
        list(order_positions(written(tmp_path / "orders", "1 0"), corpus, starts=None))


def test_the_subword_model_of_another_corpus_is_refused(tmp_path: Path, corpus: ParallelCorpus) -> None:
    from wordorder.data.subword import train_subword

    text = written(tmp_path / "text", *("a b c d e f g h " * 4 for _ in range(20)))
    train_subword([text], tmp_path / "model", config=datasets.Subword(vocabulary=14, subword_sentences=1000))
    with raises("different-vocabularies"):
        word_starts(tmp_path / "model", corpus)
