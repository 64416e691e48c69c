"""A batch of token numbers, and the special pieces in it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

PAD, UNKNOWN, BEGIN, END = 0, 1, 2, 3


@dataclass
class Batch:
    """Token numbers padded at the right with PAD.

    source: (B, S), each sentence followed by END.
    target_input: (B, T), BEGIN and the sentence; target_output: (B, T), the sentence and END.
    padded: whether any target sentence is shorter than T.
    target_tokens: how many target tokens are no padding.
    source_positions: (B, S), the position that each source token takes in target order, or None. END and the padding
        stay where they are, so every row is a permutation of 0 … S - 1.
    """

    source: Tensor
    target_input: Tensor
    target_output: Tensor
    padded: bool
    target_tokens: int
    source_positions: Tensor | None = None

    def to(self, where: torch.device) -> Batch:
        return Batch(
            self.source.to(where, non_blocking=True),
            self.target_input.to(where, non_blocking=True),
            self.target_output.to(where, non_blocking=True),
            self.padded,
            self.target_tokens,
            None if self.source_positions is None else self.source_positions.to(where, non_blocking=True),
        )
