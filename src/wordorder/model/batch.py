"""A batch of token indices, and its special tokens."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

PAD, UNKNOWN, BEGIN, END = 0, 1, 2, 3


@dataclass
class Batch:
    """Token indices padded at the right with PAD.

    Attributes:
        source: Each sentence followed by END, (B, S).
        target_input: BEGIN and the sentence, (B, T).
        target_output: The sentence and END, (B, T).
        padded: Whether any target sentence is shorter than T.
        target_tokens: Number of target tokens without padding.
        source_positions: The position that each source token takes in target order, (B, S), or None. END and padding
            keep their positions, so every row is a permutation of 0 … S - 1.
    """

    source: Tensor
    target_input: Tensor
    target_output: Tensor
    padded: bool
    target_tokens: int
    source_positions: Tensor | None = None

    def to(self, where: torch.device) -> Batch:
        """Return the batch on another device."""
        return Batch(
            self.source.to(where, non_blocking=True),
            self.target_input.to(where, non_blocking=True),
            self.target_output.to(where, non_blocking=True),
            self.padded,
            self.target_tokens,
            None if self.source_positions is None else self.source_positions.to(where, non_blocking=True),
        )
