"""Tests of the binary corpus: round trip, damaged files, and constant memory."""

from __future__ import annotations

import json
import shutil
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from full_disk import no_file_larger_than
from raises import raises
from wordorder.data.binary import ParallelCorpus, gather_corpora, write_corpus
from wordorder.errors import WordorderError

Pairs = Sequence[tuple[Sequence[int], Sequence[int]]]
PAIRS: Pairs = [([5, 6, 7], [8]), ([], [9, 9]), ([4], []), ([99, 0, 1], [2, 3])]


def pairs_of(corpus: ParallelCorpus) -> list[tuple[list[int], list[int]]]:
    return [(corpus.source(i).tolist(), corpus.target(i).tolist()) for i in range(len(corpus))]


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    assert write_corpus(tmp_path / "corpus", PAIRS, vocabulary_size=100) == len(PAIRS)
    return tmp_path / "corpus"


def test_what_is_written_is_read(corpus: Path) -> None:
    read = ParallelCorpus.open(corpus)
    assert pairs_of(read) == [(list(source), list(target)) for source, target in PAIRS]
    assert read.source_lengths.tolist() == [3, 0, 1, 3]
    assert read.target_lengths.tolist() == [1, 2, 0, 2]
    assert read.source_lengths.dtype == np.int32
    assert read.vocabulary_size == 100
    assert isinstance(read.source(0).base, np.ndarray), "a view, not a copy"
    for index in (-1, len(PAIRS)):
        with pytest.raises(IndexError):
            read.source(index)
    with pytest.raises(ValueError, match="read-only"):
        read.source(0)[0] = 1


def test_files_are_ordinary_numpy_files(corpus: Path) -> None:
    assert np.load(corpus / "source.tokens.npy").tolist() == [5, 6, 7, 4, 99, 0, 1]
    assert np.load(corpus / "source.offsets.npy").tolist() == [0, 3, 3, 4, 7]
    assert np.load(corpus / "target.offsets.npy").dtype == np.int64


@given(
    st.lists(st.tuples(*[st.lists(st.integers(0, 69_999), max_size=6)] * 2), max_size=12),
    st.sampled_from([70_000, 2_000_000]),
)
def test_any_pairs_come_back(tmp_path_factory: pytest.TempPathFactory, pairs: Pairs, size: int) -> None:
    directory = tmp_path_factory.mktemp("corpora") / "corpus"
    write_corpus(directory, pairs, vocabulary_size=size)
    assert pairs_of(ParallelCorpus.open(directory)) == [tuple(pair) for pair in pairs]


@pytest.mark.parametrize(("size", "dtype"), [(100, "<u2"), (65_536, "<u2"), (65_537, "<i4"), (200_000, "<i4")])
def test_the_largest_id_fits_its_type(tmp_path: Path, size: int, dtype: str) -> None:
    write_corpus(tmp_path / "c", [([size - 1, 0], [0])], vocabulary_size=size)
    tokens = ParallelCorpus.open(tmp_path / "c").source(0)
    assert tokens.tolist() == [size - 1, 0]
    assert tokens.dtype == np.dtype(dtype)


@pytest.mark.parametrize("token", [-1, 100, 65_536 + 5])
def test_an_id_outside_the_vocabulary_is_not_written(tmp_path: Path, token: int) -> None:
    with pytest.raises(ValueError, match=r"\b99\b"):
        write_corpus(tmp_path / "c", [([1], [token])], vocabulary_size=100)
    assert list(tmp_path.iterdir()) == []


def test_the_digest_tells_data_apart(tmp_path: Path) -> None:
    variants: list[tuple[Pairs, int]] = [
        (PAIRS, 100),
        (PAIRS, 101),
        (PAIRS[:-1], 100),
        (PAIRS[::-1], 100),
        ([(target, source) for source, target in PAIRS], 100),
        ([([5, 6], [8]), ([7], [9, 9]), *PAIRS[2:]], 100),  # the same tokens, another boundary
        ([], 100),
    ]
    digests = []
    for number, (pairs, size) in enumerate([*variants, variants[0]]):
        write_corpus(tmp_path / str(number), pairs, vocabulary_size=size)
        digests.append(ParallelCorpus.open(tmp_path / str(number)).digest)
    assert len(set(digests)) == len(variants)
    assert digests[-1] == digests[0], "the same data has the same digest"


def test_blocks_are_written_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [([i % 50] * (i % 7), [i % 50 + 1] * (i % 5)) for i in range(500)]
    write_corpus(tmp_path / "one", pairs, vocabulary_size=100)
    monkeypatch.setattr("wordorder.data.binary.BLOCK", 16)
    write_corpus(tmp_path / "many", pairs, vocabulary_size=100)
    assert contents(tmp_path / "many") == contents(tmp_path / "one")
    assert pairs_of(ParallelCorpus.open(tmp_path / "many")) == pairs
    gather_corpora(tmp_path / "gathered", [tmp_path / "many"])
    assert contents(tmp_path / "gathered") == contents(tmp_path / "one")


@pytest.mark.parametrize("shards", [1, 2, 7])
def test_gathering_gives_the_corpus_written_at_once(tmp_path: Path, shards: int) -> None:
    pairs = [([i], [i, i]) for i in range(20)]
    write_corpus(tmp_path / "whole", pairs, vocabulary_size=100)
    parts = []
    for shard in range(shards):
        parts.append(tmp_path / f"part{shard}")
        write_corpus(parts[-1], pairs[shard * 20 // shards : (shard + 1) * 20 // shards], vocabulary_size=100)
    write_corpus(tmp_path / "empty", [], vocabulary_size=100)
    gather_corpora(tmp_path / "gathered", [*parts, tmp_path / "empty"])
    assert contents(tmp_path / "gathered") == contents(tmp_path / "whole")


def test_corpora_of_different_vocabularies_are_not_gathered(tmp_path: Path) -> None:
    for size in (100, 200):
        write_corpus(tmp_path / str(size), PAIRS, vocabulary_size=size)
    with raises("different-vocabularies"):
        gather_corpora(tmp_path / "out", [tmp_path / "100", tmp_path / "200"])
    with raises("missing-argument"):
        gather_corpora(tmp_path / "out", [])


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def of_text(path: Path) -> None:
    path.write_text("no array")


def retype(path: Path) -> None:
    np.save(path, np.load(path).astype(np.int16))


def pickled(path: Path) -> None:
    np.save(path, np.array([{"not": "numbers"}], dtype=object), allow_pickle=True)


@pytest.mark.parametrize("damage", [cut, flip, empty, of_text, retype, pickled, Path.unlink])
@pytest.mark.parametrize("name", ["source.tokens.npy", "source.offsets.npy", "target.tokens.npy", "target.offsets.npy"])
def test_a_damaged_array_is_said(corpus: Path, name: str, damage: Callable[[Path], None]) -> None:
    damage(corpus / name)
    with raises("unreadable-file" if damage is Path.unlink else "damaged-file", says=name) as caught:
        ParallelCorpus.open(corpus)
    assert "unsafely" not in str(caught.error), "numpy's advice"


@pytest.mark.parametrize("damage", [cut, empty, Path.unlink])
def test_a_damaged_meta_is_said(corpus: Path, damage: Callable[[Path], None]) -> None:
    damage(corpus / "meta.json")
    if damage is cut:  # the last byte is a line end: cut the brace too
        cut(corpus / "meta.json")
    with pytest.raises(WordorderError, match=r"meta\.json"):
        ParallelCorpus.open(corpus)


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"format": None},
        {"pairs": 3},
        {"pairs": -1},
        {"pairs": "4"},
        {"source_tokens": 6},
        {"vocabulary_size": 100_000},
        {"vocabulary_size": True},
        {"sha256": {}},
        {"sha256": None},
    ],
    ids=str,
)
def test_a_meta_that_does_not_fit_is_said(corpus: Path, change: dict[str, object]) -> None:
    meta = json.loads((corpus / "meta.json").read_text())
    (corpus / "meta.json").write_text(json.dumps({**meta, **change}))
    with raises("damaged-file"):
        ParallelCorpus.open(corpus)


def test_a_directory_that_is_no_corpus_is_said(tmp_path: Path, corpus: Path) -> None:
    with raises("missing-folder"):
        ParallelCorpus.open(tmp_path / "nothing")
    with raises("missing-folder"):
        ParallelCorpus.open(corpus / "meta.json")
    (corpus / "meta.json").write_text("[]")
    with raises("damaged-file"):
        ParallelCorpus.open(corpus)


def test_a_full_disk_leaves_the_old_corpus(corpus: Path) -> None:
    before = contents(corpus)
    with raises("disk-full"), no_file_larger_than(100_000):
        write_corpus(corpus, (([1] * 50, [2] * 50) for _ in range(10_000)), vocabulary_size=100)
    assert contents(corpus) == before
    assert [path.name for path in corpus.parent.iterdir()] == ["corpus"]


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordorder.data.binary.BLOCK", 4096)

    def peak(pairs: int) -> int:
        directory = tmp_path / str(pairs)
        tracemalloc.start()
        write_corpus(directory, (([7] * 20, [8] * 20) for _ in range(pairs)), vocabulary_size=100)
        gather_corpora(tmp_path / "gathered", [directory])
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        shutil.rmtree(directory)
        return used

    small, large = peak(2_000), peak(20_000)
    lengths = 2 * 8 * 18_000  # the lengths of the sentences are held on purpose: 8 bytes a side
    assert large - small < lengths + 200_000
    assert large < 20_000 * 2 * 20 * 2, "less than the tokens alone would take"
