"""Units, vocabularies, shards, ragged arrays."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from raises import raises
from wordorder.config import datasets
from wordorder.data.ragged import Ragged
from wordorder.data.sampling import spread
from wordorder.data.subword import Subword, train_subword
from wordorder.data.units import Shard, Vocabulary, read_units


def test_a_ragged_array_gives_its_sequences_back() -> None:
    rows = [[3, 1], [], [2]]
    ragged = Ragged.of(rows)
    assert [row.tolist() for row in ragged] == rows and len(ragged) == 3
    assert (ragged.values.tolist(), ragged.offsets.tolist()) == ([3, 1, 2], [0, 2, 2, 3])
    assert (ragged.values.dtype, ragged.offsets.dtype) == (np.int32, np.int64)
    assert ragged.lengths.tolist() == [2, 0, 1] and ragged[2].tolist() == [2]
    for index in (-1, 3):
        with pytest.raises(IndexError):
            ragged[index]
    assert len(Ragged.of([])) == 0 and Ragged.of([]).values.dtype == np.int32


@pytest.mark.parametrize("sentences", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("count", [1, 3, 8])
def test_shards_are_the_whole_in_order_and_of_like_size(sentences: int, count: int) -> None:
    parts = [Shard(index, count).range(sentences) for index in range(1, count + 1)]
    assert [number for part in parts for number in part] == list(range(sentences))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize(("sentences", "most"), [(0, 3), (1, 3), (3, 3), (10, 3), (10, 7), (1000, 999), (12, 4)])
def test_chosen_sentences_are_evenly_spread(sentences: int, most: int) -> None:
    chosen = spread(sentences, most)
    assert chosen.shape == (sentences,) and chosen.sum() == min(sentences, most)
    gaps = {later - earlier for earlier, later in pairwise(np.flatnonzero(chosen))}
    assert not gaps or max(gaps) - min(gaps) <= 1


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "1/0", "-1/4", "a/b", "1/2/3", "1.0/2"])
def test_what_is_no_shard_is_said(text: str) -> None:
    assert Shard.parse("3/64") == Shard(3, 64)
    with raises("invalid-value"):
        Shard.parse(text)


def test_words_are_what_stands_between_spaces(tmp_path: Path) -> None:
    """No other white space parts words: the subword model, which has to agree, does not part them there either."""
    path = tmp_path / "text"
    path.write_text("a  b c\n\nd\u00a0e \u3000\n")
    assert list(read_units(path)) == [["a", "b", "c"], [], ["d\u00a0e", "\u3000"]]
    assert list(read_units(path, shard=Shard(2, 3))) == [[]]
    assert list(read_units(path, chosen=np.array([False, True, True]))) == [[], ["d\u00a0e", "\u3000"]]
    assert [list(read_units(path, shard=Shard(index, 2))) for index in (1, 2)] == [
        [["a", "b", "c"]],
        [[], ["d\u00a0e", "\u3000"]],
    ]


def test_subwords_are_those_of_the_model(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("lower newer\nnewest lowest wide\n" * 30)
    train_subword([path], tmp_path / "model", config=datasets.Subword(vocabulary=22, subword_sentences=1000))
    model = Subword.load(tmp_path / "model")
    first = next(read_units(path, model))
    assert len(first) == len(model.encode("lower newer")) > 2
    assert "".join(first).replace("\u2581", " ").strip() == "lower newer"


def test_a_vocabulary_numbers_frequent_units_first() -> None:
    sentences = [["b", "a", "c"], ["b", "a"], ["b", "d"]]
    vocabulary = Vocabulary.build(sentences)
    assert vocabulary.units == ["b", "a", "c", "d"] and vocabulary.size == 5
    numbers = vocabulary.numbers([["d", "new", "b"], []])
    assert [row.tolist() for row in numbers] == [[4, 0, 1], []]
    with pytest.raises(ValueError, match="'a'"):
        Vocabulary(["a", "a"])
