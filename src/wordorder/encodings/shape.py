"""Shifted absolute encoding (SHAPE).

    sinusoid of (pos + s),   s drawn for every sentence from 0 … shift in training, 0 afterwards

Source: Kiyono et al. 2021 (SHAPE); their K is 500. A model that never knows where a sentence begins must learn to use
differences of positions alone. Source and target are shifted by different amounts.
Promises: absolute; works at any length; no parameters. Shift invariance is learned, not built in.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from wordorder.encodings.base import EncodingConfig, Positions, Shape, Stack
from wordorder.encodings.registry import register
from wordorder.encodings.sinusoidal import frequencies
from wordorder.encodings.waves import WaveEncoding


class SHAPEConfig(EncodingConfig):
    type: Literal["shape"] = "shape"
    shift: Annotated[int, Field(gt=0, description="K: the largest shift in training.")] = 500


@register(SHAPEConfig)
class SHAPE(WaveEncoding):
    """Adds shifted sinusoids to the scaled embeddings."""

    def __init__(self, config: SHAPEConfig, shape: Shape) -> None:
        super().__init__(config, shape, frequencies(shape.dim))
        self.shift = config.shift

    def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        return super()._add_to_embeddings(x, self._shifted(positions, len(x)) if self.training else positions, stack)

    def _shifted(self, positions: Positions, sentences: int) -> Positions:
        # On the CPU, whose generator the saved state of a training keeps.
        shifts = torch.randint(self.shift + 1, (sentences, 1)).to(positions.absolute.device)
        return replace(positions, absolute=positions.absolute + shifts, limit=positions.limit + self.shift)
