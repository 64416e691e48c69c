"""Tests of reordered positions: round trip, and refusal of positions that do not fit their corpus."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raises import raises
from wordorder.data.binary import ParallelCorpus, write_corpus
from wordorder.data.positions import SourcePositions, unpermuted, write_positions
from wordorder.files import write_json
from wordorder.integrity import is_note

SOURCES = [[5, 6, 7], [], [4], [9, 9, 0, 1]]
ROWS = [[2, 0, 1], [], [0], [3, 1, 0, 2]]


def write(directory: Path, sources: Iterable[list[int]] = SOURCES) -> ParallelCorpus:
    write_corpus(directory, ((source, [8]) for source in sources), vocabulary_size=100)
    return ParallelCorpus.open(directory)


@pytest.fixture
def corpus(tmp_path: Path) -> ParallelCorpus:
    return write(tmp_path / "corpus")


@pytest.fixture
def folder(corpus: ParallelCorpus, tmp_path: Path) -> Path:
    assert write_positions(tmp_path / "positions", ROWS, kind="gold", corpus=corpus) == len(ROWS)
    return tmp_path / "positions"


def test_what_is_written_is_read(corpus: ParallelCorpus, folder: Path) -> None:
    found = SourcePositions.open(folder, corpus)
    assert [found[index].tolist() for index in range(len(corpus))] == ROWS
    assert found.kind == "gold"
    with pytest.raises(ValueError, match="read-only"):
        found[0][0] = 1
    assert corpus.positions is None
    opened = ParallelCorpus.open(corpus.directory, positions=folder)
    assert opened.positions is not None
    assert [opened.positions[index].tolist() for index in range(len(corpus))] == ROWS
    assert opened.digest == corpus.digest


def test_files_are_an_ordinary_numpy_file_and_its_description(corpus: ParallelCorpus, folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir() if not is_note(path)) == ["meta.json", "positions.npy"]
    flat = np.load(folder / "positions.npy")
    assert flat.tolist() == [2, 0, 1, 0, 3, 1, 0, 2] and flat.dtype == np.int32
    meta = json.loads((folder / "meta.json").read_text())
    assert (meta["kind"], meta["corpus"], meta["pairs"], meta["source_tokens"]) == ("gold", corpus.digest, 4, 8)
    assert meta["sha256"] == {"positions": SourcePositions.open(folder, corpus).sha256}


@given(st.lists(st.integers(0, 9).flatmap(lambda n: st.permutations(range(n))), max_size=15))
def test_any_permutations_come_back(tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]]) -> None:
    folder = tmp_path_factory.mktemp("any")
    corpus = write(folder / "corpus", ([7] * len(row) for row in rows))
    write_positions(folder / "positions", map(np.array, rows), kind="gold", corpus=corpus)
    found = SourcePositions.open(folder / "positions", corpus)
    assert [found[index].tolist() for index in range(len(corpus))] == [list(row) for row in rows]


def test_blocks_are_written_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [list(range(i % 7))[::-1] for i in range(500)]
    corpus = write(tmp_path / "corpus", ([7] * len(row) for row in rows))
    write_positions(tmp_path / "one", rows, kind="gold", corpus=corpus)
    monkeypatch.setattr("wordorder.data.positions.BLOCK", 16)
    monkeypatch.setattr("wordorder.data.positions._SENTENCES", 3)
    write_positions(tmp_path / "many", rows, kind="gold", corpus=corpus)
    for name in ("positions.npy", "meta.json"):
        assert (tmp_path / "many" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()
    found = SourcePositions.open(tmp_path / "many", corpus)
    assert [found[index].tolist() for index in range(500)] == rows


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (ROWS[:3], r"\b3 rows .*\b4 sentences"),
        ([*ROWS, [0]], r"more rows .*\b4 sentences"),
        ([[0, 1], *ROWS[1:]], r"sentence 0 .*\b3 .*\b2 "),
        ([*ROWS[:2], [1], ROWS[3]], r"sentence 2 .*\[1\]"),
        ([*ROWS[:3], [0, 1, 1, 2]], r"sentence 3 .*\[0, 1, 1, 2\]"),
    ],
)
def test_rows_of_another_corpus_are_not_written(
    corpus: ParallelCorpus, tmp_path: Path, rows: list[list[int]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        write_positions(tmp_path / "wrong", rows, kind="gold", corpus=corpus)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


@pytest.mark.parametrize(
    "sources",
    [SOURCES[::-1], [[5, 6], [7], [4], [9, 9, 0, 1]], [*SOURCES[:3], [9, 9, 0, 2]], [*SOURCES, []]],
    ids=["another order", "other boundaries", "another token", "one more"],
)
def test_positions_of_another_corpus_are_refused(folder: Path, tmp_path: Path, sources: list[list[int]]) -> None:
    other = write(tmp_path / "other", sources)
    with raises("another-corpus") as caught:
        SourcePositions.open(folder, other)
    assert caught.error.path == folder


def change(**changes: Any) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        meta = json.loads((folder / "meta.json").read_text())
        write_json(folder / "meta.json", {**meta, **changes})

    return edit


def cut(folder: Path) -> None:
    path = folder / "positions.npy"
    path.write_bytes(path.read_bytes()[:-1])


def flip(folder: Path) -> None:
    path = folder / "positions.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\1")


def retype(folder: Path) -> None:
    np.save(folder / "positions.npy", np.load(folder / "positions.npy").astype(np.int64))


DAMAGES: dict[str, Callable[[Path], None]] = {
    "cut": cut,
    "flipped bit": flip,
    "another type": retype,
    "another format": change(format=2),
    "no count": change(pairs=None),
    "another count": change(pairs=5),
    "another count of tokens": change(source_tokens=7),
    "no kind": change(kind=None),
    "no corpus": change(corpus=3),
    "no checksums": change(sha256={}),
    "no description": lambda folder: (folder / "meta.json").unlink(),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_positions_are_refused(corpus: ParallelCorpus, folder: Path, damage: Callable[[Path], None]) -> None:
    damage(folder)
    with raises("damaged-file", path=folder):
        SourcePositions.open(folder, corpus)


def test_a_missing_folder_is_said(corpus: ParallelCorpus, tmp_path: Path) -> None:
    with raises("missing-folder"):
        ParallelCorpus.open(corpus.directory, positions=tmp_path / "nowhere")


def test_a_file_whose_checksum_is_right_but_whose_rows_are_none_is_refused(
    corpus: ParallelCorpus, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("wordorder.data.positions.unpermuted", lambda values, offsets: None)
        write_positions(tmp_path / "wrong", [[2, 0, 1], [], [0], [3, 1, 1, 2]], kind="gold", corpus=corpus)
    with raises("damaged-file"):
        SourcePositions.open(tmp_path / "wrong", corpus)


@given(st.lists(st.lists(st.integers(-1, 4), max_size=4), max_size=8), st.integers(1, 4))
def test_the_first_row_that_is_no_permutation_is_found(rows: list[list[int]], together: int) -> None:
    values = np.array([value for row in rows for value in row], dtype=np.int32)
    offsets = np.cumsum([0, *map(len, rows)])
    expected = next((i for i, row in enumerate(rows) if sorted(row) != list(range(len(row)))), None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wordorder.data.positions._SENTENCES", together)
        assert unpermuted(values, offsets) == expected


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordorder.data.positions.BLOCK", 4096)
    monkeypatch.setattr("wordorder.data.positions._SENTENCES", 256)

    def peak(pairs: int) -> int:
        corpus = write(tmp_path / f"corpus{pairs}", ([7] * 20 for _ in range(pairs)))
        tracemalloc.start()
        write_positions(tmp_path / "positions", (range(20) for _ in range(pairs)), kind="identity", corpus=corpus)
        SourcePositions.open(tmp_path / "positions", corpus)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    small, large = peak(1_000), peak(8_000)
    assert large < small + 100_000 < 8_000 * 20 * 4, "the file alone has more bytes"
