"""Links between the tokens of two sentences: in memory, and as the text files that aligners exchange.

A line of a file has the links of one sentence pair in Pharaoh format, "0-1 2-0": the index of a source token and of a
target token, from 0. Gold files may also contain possible links, "2p0", and may count from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordorder.data.text import read_lines, write_lines
from wordorder.data.units import count_lines, in_blocks
from wordorder.errors import WordorderError, at_line

Pair = tuple[int, int]
SentenceLengths = Sequence[int] | NDArray[np.int64]

_LINK = re.compile(r"(\d{1,9})([-p])(\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Links:
    """The links of many sentence pairs: those of pair i are ``offsets[i]:offsets[i + 1]``, sorted and unique.

    Attributes:
        source: Indices from 0 of the linked source tokens, (links,).
        target: Indices from 0 of the linked target tokens, (links,).
        offsets: Starts of the sentence pairs, (pairs + 1,).
    """

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, pairs: Iterable[Iterable[Pair]]) -> Links:
        """Create links from those of each sentence pair, in any order."""
        source: list[int] = []
        target: list[int] = []
        offsets = [0]
        for links in pairs:
            for i, j in sorted(set(links)):
                source.append(i)
                target.append(j)
            offsets.append(len(source))
        return cls(np.array(source, np.int32), np.array(target, np.int32), np.array(offsets, np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        """Return the links of sentence pair ``index``, from 0: (links, 2), source and target."""
        if not 0 <= index < len(self):
            raise IndexError(f"sentence pair {index} of {len(self)}")
        part = slice(self.offsets[index], self.offsets[index + 1])
        return np.stack((self.source[part], self.target[part]), axis=1)

    def from_pair(self, index: int) -> Links:
        """Return the links of sentence pair ``index``, from 0, and of all later pairs."""
        start = self.offsets[index]
        return Links(self.source[start:], self.target[start:], self.offsets[index:] - start)

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        return map(self.__getitem__, range(len(self)))


@dataclass(frozen=True, slots=True)
class GoldLinks:
    """Manual links. Every sure link is also possible; ``dropped`` counts links that pointed beyond their sentence."""

    sure: Links
    possible: Links
    dropped: int = 0


def write_links(path: str | Path, links: Iterable[NDArray[np.int32]]) -> None:
    """Write one line per sentence pair, with sorted links; :class:`Links` or the arrays of many."""
    write_lines(path, (" ".join(f"{i}-{j}" for i, j in pair.tolist()) for pair in links))


def read_links(
    path: str | Path,
    *,
    source_lengths: SentenceLengths | None = None,
    target_lengths: SentenceLengths | None = None,
    chosen: NDArray[np.bool_] | None = None,
) -> Links:
    """Read a file in Pharaoh format.

    Args:
        path: The file.
        source_lengths: Lengths of the source sentences; if given, every link must be inside them.
        target_lengths: Lengths of the target sentences.
        chosen: Whether to read each line. The lengths are those of the chosen sentences.

    Returns:
        The links.
    """
    numbered: Iterator[tuple[int, str]] = enumerate(read_lines(path), start=1)
    if chosen is not None:
        if (lines := count_lines(path)) != len(chosen):
            raise _unequal(path, str(lines), len(chosen))
        numbered = compress(numbered, chosen)
    return _links_of(path, numbered, source_lengths, target_lengths)


def read_link_blocks(
    path: str | Path, source_lengths: Iterable[int], *, sentences: int
) -> Iterator[tuple[Links, NDArray[np.int64]]]:
    """Read a file in Pharaoh format of any size, of which only one block is in memory.

    Args:
        path: The file.
        source_lengths: Lengths of the source sentences; every link must be inside them.
        sentences: The number of these sentences.

    Yields:
        The links of each block, and the lengths of its source sentences.
    """
    if (lines := count_lines(path)) != sentences:
        raise _unequal(path, str(lines), sentences)
    numbered = enumerate(read_lines(path), start=1)
    for lengths in in_blocks(source_lengths):
        yield _links_of(path, islice(numbered, len(lengths)), lengths, None), np.array(lengths, dtype=np.int64)


def _links_of(
    path: str | Path,
    numbered: Iterable[tuple[int, str]],
    source_lengths: SentenceLengths | None,
    target_lengths: SentenceLengths | None,
) -> Links:
    pairs = []
    for number, line, lengths in _with_lengths(path, numbered, source_lengths, target_lengths):
        links = []
        for text, (i, kind, j) in _parse(path, number, line):
            if kind != "-":
                raise _malformed(path, number, text)
            if _outside(i, j, lengths):
                raise _beyond(path, number, text, lengths)
            links.append((i, j))
        pairs.append(links)
    return Links.of(pairs)


def read_gold(
    path: str | Path,
    *,
    first: int = 0,
    source_lengths: SentenceLengths | None = None,
    target_lengths: SentenceLengths | None = None,
    drop_outside: bool = False,
) -> GoldLinks:
    """Read sure ("i-j") and possible ("ipj") links.

    Args:
        path: The file.
        first: Index of the first token in the file, 0 or 1.
        source_lengths: Lengths of the source sentences.
        target_lengths: Lengths of the target sentences.
        drop_outside: Drop and count links beyond their sentence, which some published sets have, instead of failing.
            An index below ``first`` always fails, because it shows that ``first`` is wrong.

    Returns:
        The links.
    """
    numbered = enumerate(read_lines(path), start=1)
    return parse_gold(path, numbered, first, source_lengths, target_lengths, drop_outside=drop_outside)


def parse_gold(
    path: str | Path,
    numbered: Iterable[tuple[int, str]],
    first: int,
    source_lengths: SentenceLengths | None,
    target_lengths: SentenceLengths | None,
    *,
    drop_outside: bool,
) -> GoldLinks:
    """Parse the lines that :func:`read_gold` reads, given with their numbers; ``path`` is their file in errors."""
    sure: list[list[Pair]] = []
    possible: list[list[Pair]] = []
    dropped = 0
    for number, line, lengths in _with_lengths(path, numbered, source_lengths, target_lengths):
        sure.append([])
        possible.append([])
        for text, (i, kind, j) in _parse(path, number, line):
            link = i - first, j - first
            if min(link) < 0:
                raise _below(path, number, text, first)
            if _outside(*link, lengths):
                if not drop_outside:
                    raise _beyond(path, number, text, lengths, first)
                dropped += 1
                continue
            possible[-1].append(link)
            if kind == "-":
                sure[-1].append(link)
    return GoldLinks(Links.of(sure), Links.of(possible), dropped)


Lengths = tuple[int | None, int | None]


def _with_lengths(
    path: str | Path,
    lines: Iterable[tuple[int, str]],
    source_lengths: SentenceLengths | None,
    target_lengths: SentenceLengths | None,
) -> Iterator[tuple[int, str, Lengths]]:
    """Yield each line with its number and the lengths of its two sentences, or None if they are not known."""
    counts = {len(lengths) for lengths in (source_lengths, target_lengths) if lengths is not None}
    if len(counts) > 1:
        raise ValueError(f"as many source as target sentences were expected, not {sorted(counts)}")
    sentences = counts.pop() if counts else None

    def length(lengths: SentenceLengths | None, sentence: int) -> int | None:
        return None if lengths is None else int(lengths[sentence])

    read = 0
    for read, (number, line) in enumerate(lines, start=1):
        if sentences is not None and read > sentences:
            raise _unequal(path, f"more than {sentences}", sentences)
        yield number, line, (length(source_lengths, read - 1), length(target_lengths, read - 1))
    if sentences is not None and read < sentences:
        raise _unequal(path, str(read), sentences)


def _parse(path: str | Path, number: int, line: str) -> Iterator[tuple[str, tuple[int, str, int]]]:
    for text in line.split():
        match = _LINK.fullmatch(text)
        if match is None:
            raise _malformed(path, number, text)
        yield text, (int(match[1]), match[2], int(match[3]))


def _outside(i: int, j: int, lengths: Lengths) -> bool:
    return any(length is not None and place >= length for place, length in zip((i, j), lengths, strict=True))


def _malformed(path: str | Path, number: int, text: str) -> WordorderError:
    rule = (
        "A link is the index of a source token, '-' and the index of a target token, as in 0-2, and links are "
        "separated by spaces; only gold files have possible links, as in 0p2."
    )
    return at_line(path, number, f"'{text}' is not a link. {rule}", found=text)


def _beyond(path: str | Path, number: int, text: str, lengths: Lengths, first: int = 0) -> WordorderError:
    known = (
        f"{length} {side} units"
        for length, side in zip(lengths, ("source", "target"), strict=True)
        if length is not None
    )
    sentence = (
        f"the link {text} points beyond its sentence pair, which has {' and '.join(known) or 'no unit below the first'}"
        f". Units are counted from {first}. Are these the links of this text?"
    )
    return at_line(path, number, sentence, code="outside-sentence", found=text)


def _below(path: str | Path, number: int, text: str, first: int) -> WordorderError:
    sentence = (
        f"the link {text} has an index below {first}, from which the units of this file should be counted. Set 'first' "
        "to the index of the first unit, 0 or 1."
    )
    return at_line(path, number, sentence, code="outside-sentence", found=text)


def _unequal(path: str | Path, lines: str, sentences: int) -> WordorderError:
    return WordorderError(
        f"{path} has {lines} lines of links, but there are {sentences} sentence pairs. It must have one line per pair, "
        "empty where nothing is linked.",
        code="unequal-lines",
        path=path,
        found=lines,
        expected=sentences,
    )
