"""Shifted absolute encoding (SHAPE).

    sinusoid of (pos + s),   s drawn for every sentence from 0 … K - 1 in training, K afterwards

Source: Kiyono et al. 2021 (SHAPE); K is 500. Their released code draws as above. It evaluates from position K on, the
first position at which no training sentence starts (``evaluation: zero`` starts at 0). A model that never knows where a
sentence begins must learn to use only differences of positions. Source and target are shifted by different amounts.
Departures: in the one stream of a prefix language model, source and target also draw separate shifts in training. Their
distance is then random, whereas in translation the positions of the target continue those of the source.
Promises: absolute; works at any length; no parameters. Shift invariance is learned, not built in.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from wordorder.draws import moved
from wordorder.encodings.base import EncodingConfig, Positions, Shape, Stack
from wordorder.encodings.registry import register
from wordorder.encodings.sinusoidal import frequencies
from wordorder.encodings.waves import WaveEncoding


class SHAPEConfig(EncodingConfig):
    """Parameters of an entry with ``type: shape``."""

    revision = 2
    type: Literal["shape"] = "shape"
    shift: Annotated[int, Field(gt=0, description="K: shifts in training are 0 … K - 1.")] = 500
    evaluation: Annotated[
        Literal["shift", "zero"], Field(description="Position of the first token after training: K or 0.")
    ] = "shift"


@register(SHAPEConfig)
class SHAPE(WaveEncoding):
    """Adds shifted sinusoids to the scaled embeddings."""

    def __init__(self, config: SHAPEConfig, shape: Shape) -> None:
        super().__init__(config, shape, frequencies(shape.dim))
        self.shift = config.shift
        self.start = config.shift if config.evaluation == "shift" else 0

    def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        moved = replace(
            positions,
            absolute=positions.absolute + (self._drawn(x) if self.training else self.start),
            limit=positions.limit + self.shift,
        )
        return super()._add_to_embeddings(x, moved, stack)

    def _drawn(self, x: Tensor) -> Tensor:
        # On the CPU, because the saved state of a training includes its generator.
        return moved(torch.randint(self.shift, (len(x), 1)), x.device)

    def _table(self, length: int, stack: Stack) -> Tensor:
        return self._vectors(torch.arange(self.start, self.start + length), self.start + length)
