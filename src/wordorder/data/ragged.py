"""Many sequences of numbers of different lengths in two arrays, as compiled code and memory maps like them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Ragged:
    """Sequence i is ``values[offsets[i]:offsets[i + 1]]``. values: (numbers,); offsets: (sequences + 1,)."""

    values: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, sequences: Iterable[Sequence[int]]) -> Ragged:
        rows = [np.asarray(sequence, dtype=np.int32) for sequence in sequences]
        values = np.concatenate(rows) if rows else np.empty(0, dtype=np.int32)
        return cls(values, np.cumsum([0, *map(len, rows)], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        """Sequence ``index``, from 0: a view."""
        if not 0 <= index < len(self):
            raise IndexError(f"sequence {index} of {len(self)}")
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        return map(self.__getitem__, range(len(self)))

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)
