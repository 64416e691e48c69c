"""The tokens of alignment and reordering: the words of cleaned text, or its subwords."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from wordorder.data.ragged import Ragged
from wordorder.data.subword import Subword
from wordorder.data.text import read_lines
from wordorder.errors import WordorderError

UNKNOWN_UNIT = 0  # index of every token outside a vocabulary
BLOCK = 20_000  # sentences of a large text that are in memory at a time

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Shard:
    """The ``index``-th, from 1, of ``count`` contiguous blocks of sentences whose sizes differ by at most one."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse a shard such as '3/64'."""
        index, slash, count = text.partition("/")
        if slash and index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count):
            return cls(int(index), int(count))
        raise WordorderError(
            f"'{text}' is not a shard. Give its number, from 1, and how many there are, as in 3/64.",
            code="invalid-value",
            found=text,
        )

    def range(self, sentences: int) -> range:
        """Return the indices, from 0, of the sentences of this shard."""
        return range((self.index - 1) * sentences // self.count, self.index * sentences // self.count)


WHOLE = Shard(1, 1)


def count_lines(path: str | Path) -> int:
    """Count the lines of a text."""
    return sum(1 for _ in read_lines(path))


def read_units(
    path: str | Path,
    subword: Subword | None = None,
    shard: Shard = WHOLE,
    chosen: NDArray[np.bool_] | None = None,
) -> Iterator[list[str]]:
    """Yield the tokens of each line of a cleaned text: its words, or its subwords if there is a subword model.

    An empty line has none. If only a shard is requested, the file is read twice.

    Args:
        path: The text.
        subword: The subword model.
        shard: The shard.
        chosen: Whether to read each line of the file, instead of a shard.

    Yields:
        The tokens of each line.
    """
    lines = read_lines(path)
    if chosen is not None:
        lines = compress(lines, chosen)
    elif shard.count > 1:
        part = shard.range(count_lines(path))
        lines = islice(lines, part.start, part.stop)
    return (words(line) if subword is None else subword.pieces(line) for line in lines)


def in_blocks(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield lists of ``BLOCK`` items; the last may have fewer."""
    rest = iter(items)
    return iter(lambda: list(islice(rest, BLOCK)), [])


def words(line: str) -> list[str]:
    """Split a cleaned line at spaces. No other white space separates words for the subword model."""
    return [word for word in line.split(" ") if word]


class Vocabulary:
    """Indices of tokens, from 1; 0 is any unknown token."""

    def __init__(self, units: Sequence[str]) -> None:
        self.units = list(units)
        self._numbers = {unit: number for number, unit in enumerate(self.units, start=1)}
        if len(self._numbers) != len(self.units):
            twice = next(unit for number, unit in enumerate(self.units, start=1) if self._numbers[unit] != number)
            raise ValueError(f"the unit '{twice}' is listed twice")

    @classmethod
    def build(cls, sentences: Iterable[Sequence[str]]) -> Vocabulary:
        """Collect the tokens, most frequent first, then alphabetically."""
        counts: Counter[str] = Counter()
        for sentence in sentences:
            counts.update(sentence)
        return cls(sorted(counts, key=lambda unit: (-counts[unit], unit)))

    @property
    def size(self) -> int:
        """The number of indices, including that of the unknown token."""
        return len(self.units) + 1

    def numbers(self, sentences: Iterable[Sequence[str]]) -> Ragged:
        """Convert sentences to token indices."""
        find = self._numbers.get
        return Ragged.of([find(unit, UNKNOWN_UNIT) for unit in sentence] for sentence in sentences)

    def blocks(self, sentences: Iterable[Sequence[str]]) -> Iterator[Ragged]:
        """Convert a text of any size to token indices, block by block."""
        return map(self.numbers, in_blocks(sentences))
