"""Randomized positions.

    training     sinusoids of the first L of n positions drawn from 0 … range - 1 without repetition, in order
    afterwards   sinusoids of pos · range / n, the mean of what was drawn

Source: Ruoss et al. 2023 (Randomized Positional Encodings), which draws as many positions as the sentence has tokens.
Here n is fixed (``longest``), because a draw that depends on the length would make the vectors of a sentence depend on
its neighbours in the batch, and a decoder does not know how long its sentence will become; and evaluation takes means
instead of draws, so that a translation is always the same.
Promises: absolute; no parameters. Works at any length, and up to ``longest`` tokens meets no position beyond the
range of the training, however short the sentences of the training are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor

from wordorder.encodings.base import EncodingConfig, Positions, Shape, Stack
from wordorder.encodings.registry import register
from wordorder.encodings.sinusoidal import frequencies
from wordorder.encodings.waves import WaveEncoding


class RandomizedConfig(EncodingConfig):
    type: Literal["randomized"] = "randomized"
    range: Annotated[int, Field(gt=0, description="Positions are drawn from 0 … range - 1.")] = 2048
    longest: Annotated[int, Field(gt=0, description="n: positions drawn for a sentence.")] = 512

    @model_validator(mode="after")
    def _enough(self) -> RandomizedConfig:
        if self.longest > self.range:
            raise ValueError(f"longest ({self.longest}) cannot exceed range ({self.range})")
        return self


@register(RandomizedConfig)
class Randomized(WaveEncoding):
    """Adds the sinusoids of drawn positions to the scaled embeddings; all sentences of a batch share a draw."""

    def __init__(self, config: RandomizedConfig, shape: Shape) -> None:
        super().__init__(config, shape, frequencies(shape.dim))
        self.range, self.longest = config.range, config.longest

    def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        moved = self._drawn(positions) if self.training else self._mean(positions)
        return super()._add_to_embeddings(x, moved, stack)

    def _mean(self, positions: Positions) -> Positions:
        return replace(
            positions,
            absolute=positions.absolute * self.range // self.longest,
            limit=positions.limit * self.range // self.longest + 1,
        )

    def _drawn(self, positions: Positions) -> Positions:
        # Sentences that are longer draw from a range that is longer in proportion. On the CPU, whose generator the
        # saved state of a training keeps.
        number = max(self.longest, positions.limit)
        limit = -(-number * self.range // self.longest)
        drawn = torch.randperm(limit)[:number].sort().values.to(positions.absolute.device)
        return replace(positions, absolute=drawn[positions.absolute], limit=limit)

    def _table(self, length: int, stack: Stack) -> Tensor:
        mean = self._mean(Positions.range(length))
        return self._vectors(mean.absolute[0], mean.limit)
