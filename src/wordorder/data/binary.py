"""The binary parallel corpus: token ids of all sentences in flat arrays, memory-mapped.

A corpus is a directory:

    source.tokens.npy    (source tokens,)  uint16 if the vocabulary fits, else int32: all sentences end to end
    source.offsets.npy   (pairs + 1,)      int64: sentence i is tokens[offsets[i]:offsets[i + 1]]
    target.tokens.npy, target.offsets.npy  the same for the target side
    meta.json            format, counts, vocabulary size, SHA-256 of the data of each array

It holds neither beginning nor end of sentence. Arrays that annotate source tokens one to one can lie beside and share
the source offsets. Writing streams in constant memory; reading maps the files, so that a corpus larger than memory
costs nothing until its sentences are touched.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from wordorder.errors import WordorderError
from wordorder.files import atomic, read_json, reading, write_json

FORMAT = 1
_ARRAYS = ("source.tokens", "source.offsets", "target.tokens", "target.offsets")
_BLOCK = 1 << 18  # tokens held before they are written, and the block in which files are copied and checked

Integers = NDArray[Any]


def token_type(vocabulary_size: int) -> np.dtype[Any]:
    """The smallest of the two types a corpus may have."""
    return np.dtype("<u2" if vocabulary_size <= 1 << 16 else "<i4")


class _ArrayFile:
    """A one-dimensional ``.npy`` file that grows; its hash covers the data, not the header."""

    def __init__(self, file: IO[bytes], dtype: np.dtype[Any]) -> None:
        self.file, self.dtype, self.length, self.hash = file, dtype, 0, hashlib.sha256()
        self._header()

    def _header(self) -> None:
        # NumPy pads the header so that it keeps its size while the first axis grows.
        description = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.length,)}
        np.lib.format.write_array_header_1_0(self.file, description)

    def append(self, values: Integers) -> None:
        data = np.ascontiguousarray(values, dtype=self.dtype).tobytes()
        self.file.write(data)
        self.hash.update(data)
        self.length += len(values)

    def finish(self) -> None:
        self.file.seek(0)
        self._header()


class _Side:
    """Tokens and offsets of one language while they are written."""

    def __init__(self, tokens: _ArrayFile, offsets: _ArrayFile, vocabulary_size: int) -> None:
        self.tokens, self.offsets, self.vocabulary_size = tokens, offsets, vocabulary_size
        self.pending: list[int] = []
        self.pending_lengths: list[int] = []
        offsets.append(np.zeros(1, dtype=np.int64))

    def add(self, sentence: Sequence[int]) -> None:
        self.pending.extend(sentence)
        self.pending_lengths.append(len(sentence))
        if len(self.pending) + len(self.pending_lengths) >= _BLOCK:
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
                name: _ArrayFile(
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
    """Write ``pairs`` of token ids (0 <= id < ``vocabulary_size``) as a corpus; return how many pairs.

    The directory appears, or replaces an older one, when everything is written. An id outside the vocabulary is a
    ``ValueError``: the caller mixed up two vocabularies.
    """
    count = 0
    with _corpus_writer(directory, vocabulary_size) as (source_side, target_side):
        for source, target in pairs:
            source_side.add(source)
            target_side.add(target)
            count += 1
    return count


def gather_corpora(directory: str | Path, inputs: Sequence[str | Path]) -> int:
    """Write the pairs of several corpora, in the order of ``inputs``, as one corpus; return how many pairs."""
    if not inputs:
        raise WordorderError(f"No corpora were given from which {directory} could be gathered.")
    corpora = [ParallelCorpus.open(path) for path in inputs]
    sizes = {corpus.vocabulary_size for corpus in corpora}
    if len(sizes) > 1:
        raise WordorderError(
            f"The corpora for {directory} were made with vocabularies of different sizes "
            f"({', '.join(map(str, sorted(sizes)))}). Binarise all of them with one subword model."
        )
    with _corpus_writer(directory, sizes.pop()) as sides:
        for corpus in corpora:
            for side, (tokens, offsets) in zip(sides, corpus.arrays, strict=True):
                for start in range(0, len(corpus), _BLOCK):
                    bounds = offsets[start : start + _BLOCK + 1]
                    side.extend(tokens[bounds[0] : bounds[-1]], np.diff(bounds))
    return sum(map(len, corpora))


class ParallelCorpus:
    """A read-only corpus of token ids, mapped into memory. Make one with :meth:`open`."""

    def __init__(
        self,
        directory: Path,
        *,
        vocabulary_size: int,
        digest: str,
        arrays: tuple[tuple[Integers, NDArray[np.int64]], tuple[Integers, NDArray[np.int64]]],
    ) -> None:
        self.directory, self.vocabulary_size, self.digest, self.arrays = directory, vocabulary_size, digest, arrays
        self.source_lengths: NDArray[np.int64] = np.diff(arrays[0][1])
        self.target_lengths: NDArray[np.int64] = np.diff(arrays[1][1])

    @classmethod
    def open(cls, directory: str | Path) -> ParallelCorpus:
        """Map the corpus in ``directory``, after comparing all data with the checksums in its ``meta.json``.

        ``digest`` then identifies the data. Anything missing, cut or changed is a :class:`WordorderError`.
        """
        directory = Path(directory)
        meta = _read_meta(directory)
        dtype = token_type(meta["vocabulary_size"])
        arrays = []
        for side in ("source", "target"):
            tokens = _map(directory, f"{side}.tokens", dtype, meta[f"{side}_tokens"], meta)
            offsets = _map(directory, f"{side}.offsets", np.dtype("<i8"), meta["pairs"] + 1, meta)
            if offsets[0] != 0 or offsets[-1] != len(tokens) or np.any(offsets[1:] < offsets[:-1]):
                raise _damaged(directory, f"{side}.offsets.npy does not fit {side}.tokens.npy")
            arrays.append((tokens, offsets))
        identity = {key: meta[key] for key in ("format", "vocabulary_size", "sha256")}
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
        return cls(directory, vocabulary_size=meta["vocabulary_size"], digest=digest, arrays=(arrays[0], arrays[1]))

    def __len__(self) -> int:
        return len(self.source_lengths)

    def source(self, index: int) -> Integers:
        """Token ids of source sentence ``index``: a view, (source_lengths[index],)."""
        return self._sentence(0, index)

    def target(self, index: int) -> Integers:
        """Token ids of target sentence ``index``: a view, (target_lengths[index],)."""
        return self._sentence(1, index)

    def _sentence(self, side: int, index: int) -> Integers:
        if not 0 <= index < len(self):
            raise IndexError(f"sentence {index} of a corpus of {len(self)}")
        tokens, offsets = self.arrays[side]
        return tokens[offsets[index] : offsets[index + 1]]


def _damaged(directory: Path, why: str) -> WordorderError:
    return WordorderError(f"{directory} is not a whole binary corpus: {why}. Delete it and run its stage again.")


def _read_meta(directory: Path) -> dict[str, Any]:
    if not directory.is_dir():
        raise WordorderError(f"{directory} does not exist or is no directory. It should hold a binary corpus.")
    if not (directory / "meta.json").exists():
        raise _damaged(directory, "meta.json is missing")
    meta = read_json(directory / "meta.json")
    counts = ("pairs", "source_tokens", "target_tokens", "vocabulary_size")
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise _damaged(directory, f'meta.json does not say "format": {FORMAT}')
    if not all(type(meta.get(key)) is int and meta[key] >= 0 for key in counts):
        raise _damaged(directory, f"meta.json lacks one of the counts {', '.join(counts)}")
    if not isinstance(meta.get("sha256"), dict) or set(meta["sha256"]) != set(_ARRAYS):
        raise _damaged(directory, "meta.json lacks the checksums of the arrays")
    return meta


def _map(directory: Path, name: str, dtype: np.dtype[Any], length: int, meta: dict[str, Any]) -> Integers:
    path = directory / f"{name}.npy"
    try:
        with reading(path):
            array: Integers = np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)
    except ValueError as error:
        raise _damaged(directory, f"{path.name} cannot be mapped ({error})") from error
    if array.dtype != dtype or array.shape != (length,):
        raise _damaged(directory, f"{path.name} should hold {length} values of type {dtype}")
    digest = hashlib.sha256()
    for start in range(0, length, _BLOCK):
        digest.update(array[start : start + _BLOCK].data)
    if digest.hexdigest() != meta["sha256"][name]:
        raise _damaged(directory, f"the data of {path.name} does not have the checksum in meta.json")
    return array
