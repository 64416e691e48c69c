"""Reordered positions: for each source token of a binary corpus, the position it would take in target order.

They are in a separate folder, so that one corpus can have several kinds of them:

    positions.npy    (source tokens,)  int32, all sentences concatenated, at the offsets of the corpus
    meta.json        format, kind, digest of the corpus, counts, SHA-256 of the data

The positions of a sentence of n tokens are a permutation of 0 … n-1. Their source (gold trees, an aligner, a parser)
only passes one row per sentence to :func:`write_positions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wordorder.data.arrays import BLOCK, ArrayFile, ArrayFolder, Integers
from wordorder.errors import WordorderError
from wordorder.files import atomic, write_json

FORMAT = 1
_ARRAY = "positions"
_TYPE = np.dtype("<i4")
_SENTENCES = 1 << 14  # tokens per block when permutations are checked


class Corpus(Protocol):
    """The part of a :class:`wordorder.data.binary.ParallelCorpus` that its positions depend on."""

    directory: Path
    digest: str
    arrays: tuple[tuple[Integers, NDArray[np.int64]], tuple[Integers, NDArray[np.int64]]]

    def __len__(self) -> int: ...


def write_positions(
    directory: str | Path, rows: Iterable[Sequence[int] | Integers], *, kind: str, corpus: Corpus
) -> int:
    """Write one row per source sentence of ``corpus``, in its order.

    The directory appears, or replaces an older one, when everything is written.

    Args:
        directory: The folder to write.
        rows: The positions of each sentence.
        kind: The origin of the positions.
        corpus: The corpus.

    Returns:
        The number of rows.

    Raises:
        ValueError: A row is not a permutation, or the number of rows is wrong, because the caller confused two corpora.
    """
    offsets = corpus.arrays[0][1]
    pending: list[Integers] = []
    pending_tokens = done = 0
    with atomic(directory) as temporary:
        temporary.mkdir()
        with (temporary / f"{_ARRAY}.npy").open("wb") as file:
            array = ArrayFile(file, _TYPE)

            def flush() -> None:
                nonlocal pending_tokens, done
                _append(array, pending, offsets[done : done + len(pending) + 1], done)
                done += len(pending)
                pending.clear()
                pending_tokens = 0

            for row in rows:
                pending.append(np.asarray(row, dtype=np.int64))
                pending_tokens += len(row)
                if pending_tokens + len(pending) >= BLOCK:
                    flush()
            flush()
            array.finish()
        if done != len(corpus):
            raise ValueError(f"{done} rows of positions for the {len(corpus)} sentences of {corpus.directory}")
        meta = {
            "format": FORMAT,
            "kind": kind,
            "corpus": corpus.digest,
            "pairs": done,
            "source_tokens": array.length,
            "sha256": {_ARRAY: array.hash.hexdigest()},
        }
        write_json(temporary / "meta.json", meta)
    return done


def _append(array: ArrayFile, rows: list[Integers], offsets: NDArray[np.int64], first: int) -> None:
    """Append the rows of sentences ``first``, … of a corpus whose source has these offsets."""
    if not rows:
        return
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    # The offsets end where the corpus does.
    known = np.diff(offsets)
    differing = np.flatnonzero(lengths[: len(known)] != known)
    if len(differing):
        where = int(differing[0])
        raise ValueError(f"sentence {first + where} has {known[where]} source tokens, but {lengths[where]} positions")
    if len(rows) > len(known):
        raise ValueError(f"more rows of positions than the {first + len(known)} sentences of the corpus")
    values = np.concatenate(rows)
    broken = unpermuted(values, offsets - offsets[0])
    if broken is not None:
        raise ValueError(f"the positions of sentence {first + broken} are not a permutation: {rows[broken].tolist()}")
    array.append(values)


def unpermuted(values: Integers, offsets: NDArray[np.int64]) -> int | None:
    """Find the first sentence whose values are not a permutation of 0, 1, 2, ….

    Args:
        values: Values of all sentences, (tokens,).
        offsets: Starts of the sentences, (sentences + 1,), from 0.

    Returns:
        The index of the sentence, or None if all are permutations.
    """
    for first in range(0, len(offsets) - 1, _SENTENCES):
        bounds = offsets[first : first + _SENTENCES + 1]
        block = values[bounds[0] : bounds[-1]].astype(np.int64)
        lengths = np.diff(bounds)
        inside = (block >= 0) & (block < np.repeat(lengths, lengths))
        places = np.repeat(bounds[:-1] - bounds[0], lengths) + block
        # A sentence has as many values as positions, so a wrong or repeated value leaves a position empty.
        taken = np.zeros(len(block), dtype=bool)
        taken[places[inside]] = True
        if not taken.all():
            return first + int(np.searchsorted(bounds - bounds[0], taken.argmin(), side="right")) - 1
    return None


class SourcePositions:
    """The reordered positions of the source of one corpus, mapped into memory. Create them with :meth:`open`."""

    def __init__(self, directory: Path, *, kind: str, sha256: str, values: Integers, offsets: Integers) -> None:
        self.directory, self.kind, self.sha256 = directory, kind, sha256
        self._values, self._offsets = values, offsets

    @classmethod
    def open(cls, directory: str | Path, corpus: Corpus) -> SourcePositions:
        """Map the positions in ``directory`` after comparing all data with their checksum.

        Args:
            directory: The folder.
            corpus: The corpus.

        Returns:
            The positions.

        Raises:
            WordorderError: They belong to another corpus, or something is missing, truncated or changed.
        """
        folder = ArrayFolder(Path(directory), "set of reordered positions")
        meta = folder.meta(format=FORMAT, counts=("pairs", "source_tokens"), arrays=(_ARRAY,))
        if not all(isinstance(meta.get(key), str) for key in ("kind", "corpus")):
            raise folder.damaged("meta.json does not say the kind and the corpus")
        if meta["corpus"] != corpus.digest:
            raise WordorderError(
                f"The reordered positions in {directory} were made for another binary corpus than {corpus.directory}. "
                "Make them again from this corpus ('wordorder stage positions --help').",
                code="another-corpus",
                path=directory,
            )
        offsets = corpus.arrays[0][1]
        if (meta["pairs"], meta["source_tokens"]) != (len(corpus), offsets[-1]):
            raise folder.damaged("the counts in meta.json are not those of its corpus")
        values = folder.map(_ARRAY, _TYPE, int(offsets[-1]), sha256=meta["sha256"][_ARRAY])
        broken = unpermuted(values, offsets)
        if broken is not None:
            raise folder.damaged(
                f"the positions of sentence {broken + 1} are not a permutation of its {np.diff(offsets)[broken]} tokens"
            )
        return cls(folder.path, kind=meta["kind"], sha256=meta["sha256"][_ARRAY], values=values, offsets=offsets)

    def __getitem__(self, index: int) -> Integers:
        """Return the positions of source sentence ``index``, a view (its length,)."""
        return self._values[self._offsets[index] : self._offsets[index + 1]]
