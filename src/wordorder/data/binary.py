"""The binary parallel corpus: token indices of all sentences in flat arrays, memory-mapped.

A corpus is a directory:

    source.tokens.npy    (source tokens,)  uint16 if the vocabulary fits, else int32: all sentences concatenated
    source.offsets.npy   (pairs + 1,)      int64: sentence i is tokens[offsets[i]:offsets[i + 1]]
    target.tokens.npy, target.offsets.npy  the same for the target side
    meta.json            format, counts, vocabulary size, SHA-256 of the data of each array

It contains neither beginning nor end of sentences. Reordered positions of the source tokens are in a separate folder
(:mod:`wordorder.data.positions`) and use the source offsets. Writing streams in constant memory. Reading maps the
files, so that sentences occupy no memory until they are used.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordorder.data.arrays import BLOCK, ArrayFile, ArrayFolder, Integers
from wordorder.data.positions import SourcePositions
from wordorder.errors import WordorderError
from wordorder.files import atomic, write_json

FORMAT = 1
_ARRAYS = ("source.tokens", "source.offsets", "target.tokens", "target.offsets")
_COUNTS = ("pairs", "source_tokens", "target_tokens", "vocabulary_size")


def token_type(vocabulary_size: int) -> np.dtype[Any]:
    """Return the smaller of the two possible types of a corpus."""
    return np.dtype("<u2" if vocabulary_size <= 1 << 16 else "<i4")


class _Side:
    """Tokens and offsets of one language during writing."""

    def __init__(self, tokens: ArrayFile, offsets: ArrayFile, vocabulary_size: int) -> None:
        self.tokens, self.offsets, self.vocabulary_size = tokens, offsets, vocabulary_size
        self.pending: list[int] = []
        self.pending_lengths: list[int] = []
        offsets.append(np.zeros(1, dtype=np.int64))

    def add(self, sentence: Sequence[int]) -> None:
        self.pending.extend(sentence)
        self.pending_lengths.append(len(sentence))
        if len(self.pending) + len(self.pending_lengths) >= BLOCK:
            self.flush()

    def flush(self) -> None:
        self.extend(np.array(self.pending, dtype=np.int64), np.array(self.pending_lengths, dtype=np.int64))
        self.pending.clear()
        self.pending_lengths.clear()

    def extend(self, tokens: Integers, lengths: Integers) -> None:
        if len(tokens) and (tokens.min() < 0 or tokens.max() >= self.vocabulary_size):
            raise ValueError(f"token ids must be in 0..{self.vocabulary_size - 1}; got {tokens.min()}..{tokens.max()}")
        self.offsets.append(self.tokens.length + np.cumsum(lengths, dtype=np.int64))
        self.tokens.append(tokens)


@contextmanager
def _corpus_writer(directory: str | Path, vocabulary_size: int) -> Iterator[tuple[_Side, _Side]]:
    dtypes = {"tokens": token_type(vocabulary_size), "offsets": np.dtype("<i8")}
    with atomic(directory) as temporary:
        temporary.mkdir()
        with ExitStack() as stack:
            arrays = {
                name: ArrayFile(
                    stack.enter_context((temporary / f"{name}.npy").open("wb")), dtypes[name.partition(".")[2]]
                )
                for name in _ARRAYS
            }
            sides = [
                _Side(arrays[f"{side}.tokens"], arrays[f"{side}.offsets"], vocabulary_size)
                for side in ("source", "target")
            ]
            yield sides[0], sides[1]
            for side in sides:
                side.flush()
            for array in arrays.values():
                array.finish()
        meta = {
            "format": FORMAT,
            "pairs": arrays["source.offsets"].length - 1,
            "source_tokens": arrays["source.tokens"].length,
            "target_tokens": arrays["target.tokens"].length,
            "vocabulary_size": vocabulary_size,
            "sha256": {name: array.hash.hexdigest() for name, array in arrays.items()},
        }
        write_json(temporary / "meta.json", meta)


def write_corpus(
    directory: str | Path, pairs: Iterable[tuple[Sequence[int], Sequence[int]]], *, vocabulary_size: int
) -> int:
    """Write ``pairs`` of token indices as a corpus.

    The directory appears, or replaces an older one, when everything is written.

    Args:
        directory: The corpus to write.
        pairs: Source and target tokens, from 0 to ``vocabulary_size`` - 1.
        vocabulary_size: Number of subwords.

    Returns:
        The number of pairs.

    Raises:
        ValueError: A token is outside the vocabulary, because the caller confused two vocabularies.
    """
    count = 0
    with _corpus_writer(directory, vocabulary_size) as (source_side, target_side):
        for source, target in pairs:
            source_side.add(source)
            target_side.add(target)
            count += 1
    return count


def gather_corpora(output: str | Path, inputs: Sequence[str | Path]) -> None:
    """Concatenate binary corpora.

    Example:
        wordorder stage gather-binary --inputs binary0 binary1 --output binary

    Args:
        output: The corpus to write.
        inputs: The corpora, in order.

    Raises:
        WordorderError: There are no corpora, or their vocabularies differ.
    """
    if not inputs:
        raise WordorderError(
            f"No corpora were given from which {output} could be gathered.", code="missing-argument", path=output
        )
    corpora = [ParallelCorpus.open(path) for path in inputs]
    sizes = {corpus.vocabulary_size for corpus in corpora}
    if len(sizes) > 1:
        raise WordorderError(
            f"The corpora for {output} were made with vocabularies of different sizes "
            f"({', '.join(map(str, sorted(sizes)))}). Binarise all of them with one subword model.",
            code="different-vocabularies",
            path=output,
            found=sorted(sizes),
        )
    with _corpus_writer(output, sizes.pop()) as sides:
        for corpus in corpora:
            for side, (tokens, offsets) in zip(sides, corpus.arrays, strict=True):
                for start in range(0, len(corpus), BLOCK):
                    bounds = offsets[start : start + BLOCK + 1]
                    side.extend(tokens[bounds[0] : bounds[-1]], np.diff(bounds))


class ParallelCorpus:
    """A read-only corpus of token indices, mapped into memory. Create one with :meth:`open`.

    ``positions`` are the reordered positions of its source sentences, or None if they were not requested.
    """

    def __init__(
        self,
        directory: Path,
        *,
        vocabulary_size: int,
        digest: str,
        arrays: tuple[tuple[Integers, NDArray[np.int64]], tuple[Integers, NDArray[np.int64]]],
    ) -> None:
        self.directory, self.vocabulary_size, self.digest, self.arrays = directory, vocabulary_size, digest, arrays
        # In 32 bits: of a large corpus the planning of an epoch takes several such arrays.
        self.source_lengths: NDArray[np.int32] = np.diff(arrays[0][1]).astype(np.int32)
        self.target_lengths: NDArray[np.int32] = np.diff(arrays[1][1]).astype(np.int32)
        self.positions: SourcePositions | None = None

    @classmethod
    def open(cls, directory: str | Path, *, positions: str | Path | None = None) -> ParallelCorpus:
        """Map a corpus after comparing all data with the checksums in its ``meta.json``.

        ``digest`` of the corpus then identifies the data.

        Args:
            directory: The corpus.
            positions: The folder of the reordered positions of its source, if they are needed.

        Returns:
            The corpus.

        Raises:
            WordorderError: Something is missing, truncated or changed.
        """
        folder = ArrayFolder(Path(directory), "binary corpus")
        meta = folder.meta(format=FORMAT, counts=_COUNTS, arrays=_ARRAYS)
        dtype = token_type(meta["vocabulary_size"])
        arrays = []
        for side in ("source", "target"):
            names = [f"{side}.tokens", f"{side}.offsets"]
            hashes = [meta["sha256"][name] for name in names]
            tokens = folder.map(names[0], dtype, meta[f"{side}_tokens"], sha256=hashes[0])
            offsets = folder.map(names[1], np.dtype("<i8"), meta["pairs"] + 1, sha256=hashes[1])
            if offsets[0] != 0 or offsets[-1] != len(tokens) or np.any(offsets[1:] < offsets[:-1]):
                raise folder.damaged(f"{side}.offsets.npy does not fit {side}.tokens.npy")
            arrays.append((tokens, offsets))
        identity = {key: meta[key] for key in ("format", "vocabulary_size", "sha256")}
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
        corpus = cls(folder.path, vocabulary_size=meta["vocabulary_size"], digest=digest, arrays=(arrays[0], arrays[1]))
        if positions is not None:
            corpus.positions = SourcePositions.open(positions, corpus)
        return corpus

    def __len__(self) -> int:
        return len(self.source_lengths)

    def source(self, index: int) -> Integers:
        """Return the tokens of source sentence ``index``, a view (source_lengths[index],)."""
        return self._sentence(0, index)

    def target(self, index: int) -> Integers:
        """Return the tokens of target sentence ``index``, a view (target_lengths[index],)."""
        return self._sentence(1, index)

    def _sentence(self, side: int, index: int) -> Integers:
        if not 0 <= index < len(self):
            raise IndexError(f"sentence {index} of a corpus of {len(self)}")
        tokens, offsets = self.arrays[side]
        return tokens[offsets[index] : offsets[index + 1]]
