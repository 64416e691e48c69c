"""Sequences of numbers of different lengths in two arrays, for compiled code and memory maps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Ragged:
    """Sequences of numbers. Sequence i is ``values[offsets[i]:offsets[i + 1]]``.

    Attributes:
        values: All numbers, (numbers,).
        offsets: Starts of the sequences, (sequences + 1,).
    """

    values: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, sequences: Iterable[Sequence[int]]) -> Ragged:
        """Create from sequences."""
        rows = [np.asarray(sequence, dtype=np.int32) for sequence in sequences]
        values = np.concatenate(rows) if rows else np.empty(0, dtype=np.int32)
        return cls(values, np.cumsum([0, *map(len, rows)], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        """Return sequence ``index``, from 0, as a view."""
        if not 0 <= index < len(self):
            raise IndexError(f"sequence {index} of {len(self)}")
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        return map(self.__getitem__, range(len(self)))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each sequence, (sequences,)."""
        return np.diff(self.offsets)
