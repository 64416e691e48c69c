"""What alignment and reordering take for a word: the words of cleaned text, or its subwords."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordorder.data.ragged import Ragged
from wordorder.data.subword import Subword
from wordorder.data.text import read_lines
from wordorder.errors import WordorderError

UNKNOWN_UNIT = 0  # the number of every unit that a vocabulary does not hold


@dataclass(frozen=True, slots=True)
class Shard:
    """The ``index``-th, from 1, of ``count`` contiguous blocks of sentences whose sizes differ by at most one."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read '3/64'."""
        index, slash, count = text.partition("/")
        if slash and index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count):
            return cls(int(index), int(count))
        raise WordorderError(
            f"'{text}' is not a shard. Give its number, from 1, and how many there are, as in 3/64.",
            code="invalid-value",
            found=text,
        )

    def range(self, sentences: int) -> range:
        """The numbers, from 0, of the sentences of this shard."""
        return range((self.index - 1) * sentences // self.count, self.index * sentences // self.count)


WHOLE = Shard(1, 1)


def count_lines(path: str | Path) -> int:
    return sum(1 for _ in read_lines(path))


def spread(sentences: int, most: int) -> NDArray[np.bool_]:
    """Which of ``sentences`` to take so that ``most`` are, or all if there are fewer. Shape: (sentences,).

    They are evenly spread, because the parts of a corpus stand one after the other.
    """
    most = min(most, sentences)
    return np.diff(np.arange(sentences + 1) * most // max(sentences, 1)) > 0


def read_units(
    path: str | Path,
    subword: Subword | None = None,
    shard: Shard = WHOLE,
    chosen: NDArray[np.bool_] | None = None,
) -> Iterator[list[str]]:
    """The units of each line of a cleaned text: its words, or with a subword model its subwords.

    An empty line has none. The file is read twice where only a shard of it is wanted. ``chosen`` has one entry a line
    of the file and says which are read, instead of a shard.
    """
    lines = read_lines(path)
    if chosen is not None:
        lines = compress(lines, chosen)
    elif shard.count > 1:
        part = shard.range(count_lines(path))
        lines = islice(lines, part.start, part.stop)
    return (words(line) if subword is None else subword.pieces(line) for line in lines)


def words(line: str) -> list[str]:
    """The words between the spaces of a cleaned line. No other white space parts words for the subword model."""
    return [word for word in line.split(" ") if word]


class Vocabulary:
    """Numbers for units, from 1; 0 is every unknown one."""

    def __init__(self, units: Sequence[str]) -> None:
        self.units = list(units)
        self._numbers = {unit: number for number, unit in enumerate(self.units, start=1)}
        if len(self._numbers) != len(self.units):
            raise ValueError("a unit is listed twice")

    @classmethod
    def build(cls, sentences: Iterable[Sequence[str]], *, minimum: int = 1) -> Vocabulary:
        """The units that occur at least ``minimum`` times, the most frequent first, equal ones by their letters."""
        counts: Counter[str] = Counter()
        for sentence in sentences:
            counts.update(sentence)
        kept = [unit for unit, count in counts.items() if count >= minimum]
        return cls(sorted(kept, key=lambda unit: (-counts[unit], unit)))

    @property
    def size(self) -> int:
        """Numbers in use, with that of the unknown unit."""
        return len(self.units) + 1

    def numbers(self, sentences: Iterable[Sequence[str]]) -> Ragged:
        find = self._numbers.get
        return Ragged.of([find(unit, UNKNOWN_UNIT) for unit in sentence] for sentence in sentences)
