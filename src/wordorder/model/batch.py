"""A batch of token indices, and its special tokens."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
        real: Places of the target tokens in the flattened ``target_output`` without padding, (N,) int64. None if nothing
            is padded.
        target_tokens: Number of target tokens without padding.
        source_positions: The position that each source token takes in target order, (B, S), or None. END and padding
            keep their positions, so every row is a permutation of 0 … S - 1.
        source_lengths: Number of tokens of each source with END, (B,) int64. It stays on the CPU, so that no host waits for
            a device to count. None if it is not known.
    """

    source: Tensor
    target_input: Tensor
    target_output: Tensor
    real: Tensor | None
    target_tokens: int
    source_positions: Tensor | None = None
    source_lengths: Tensor | None = None

    def to(self, where: torch.device) -> Batch:
        """Copy the batch to a device without waiting for it."""
        names = ("source", "target_input", "target_output", "real", "source_positions")
        parts = {name: part for name in names if (part := getattr(self, name)) is not None}
        return replace(self, **{name: moved(part, where) for name, part in parts.items()})
