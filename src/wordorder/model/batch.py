"""A batch of token indices, and its special tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from wordorder.draws import moved

PAD, UNKNOWN, BEGIN, END = 0, 1, 2, 3


@dataclass
class Batch:
    """Token indices padded at the right with PAD.

    Attributes:
        source: Each sentence followed by END, (B, S).
        target_input: BEGIN and the sentence, (B, T).
        target_output: The sentence and END, (B, T).
        real: Places of the target tokens in the flattened ``target_output``, (N,) int64. None if nothing is padded.
        target_tokens: Number of target tokens without padding.
        source_positions: The position that each source token takes in target order, (B, S), or None. END and padding
            keep their positions, so every row is a permutation of 0 … S - 1.
        source_lengths: Number of tokens of each source with END, (B,) int64. It stays on the CPU, so that no host
            waits for a device to count. None if it is not known.
        source_places: Places of the source tokens in the flattened ``source``, (N,) int64. If they and ``real`` are
            given, models may leave padding out.
        source_rows: If rows hold several sentences, the number of each source token's sentence in its row, from 1 and 0
            at padding, and its position in this sentence, (2, B, S) int64. Otherwise None.
        target_rows: The same of target tokens, (2, B, T).
        longest: If rows hold several sentences, the number of tokens of the longest source and of the longest target.
    """

    source: Tensor
    target_input: Tensor
    target_output: Tensor
    real: Tensor | None
    target_tokens: int
    source_positions: Tensor | None = None
    source_lengths: Tensor | None = None
    source_places: Tensor | None = None
    source_rows: Tensor | None = None
    target_rows: Tensor | None = None
    longest: tuple[int, int] = (0, 0)

    def pinned(self) -> Batch:
        """Move the batch to memory that is never swapped out, from which a GPU copies while the host continues."""
        return self._with(Tensor.pin_memory)

    def to(self, where: torch.device) -> Batch:
        """Copy the batch to a device without waiting for it."""
        return self._with(lambda part: moved(part, where))

    def _with(self, change: Callable[[Tensor], Tensor]) -> Batch:
        names = [each.name for each in fields(self) if each.name != "source_lengths"]
        parts = {name: part for name in names if isinstance(part := getattr(self, name), Tensor)}
        changed: dict[str, Any] = {name: change(part) for name, part in parts.items()}
        return replace(self, **changed)
