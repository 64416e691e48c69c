"""Continuous augmented positions (CAPE).

    training     sinusoids of (pos + Δ + ε_pos) · λ
    otherwise    sinusoids of pos

Δ is drawn from U(-global_shift, global_shift) and log λ from U(-log scale, log scale), once per sentence pair. ε_pos is
drawn from U(-local_shift, local_shift), once per token.

Source: Likhomanenko et al. 2021 (CAPE). The three default ranges, and positions that are not centred, are those that an
independent implementation uses for text.
Promises: absolute; works at any length; no parameters. Source and target share Δ and λ, but not ε. A local shift of at
most 0.5 keeps the order of tokens. In translation the encoding equals sinusoids. Shift invariance is learned, not built
in.
Departures: positions are never centred at the middle of the sentence, because a decoder does not know it. For
translation, the paper also stretches source positions by the ratio of the lengths of target and source in the corpus.
Ours have no such factor: positions of both sides count tokens.
Start values: none.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor
from typing_extensions import override

from wordorder.draws import moved
from wordorder.encodings.base import EncodingConfig, Positions, Shape, Stack
from wordorder.encodings.registry import register
from wordorder.encodings.sinusoidal import frequencies
from wordorder.encodings.waves import WaveEncoding, waves


class CAPEConfig(EncodingConfig):
    """Parameters of an entry with ``type: cape``."""

    type: Literal["cape"] = "cape"
    global_shift: Annotated[float, Field(ge=0, description="Largest shift of a sentence pair, in positions.")] = 5.0
    local_shift: Annotated[float, Field(ge=0, description="Largest shift of a single token, in positions.")] = 0.5
    scale: Annotated[float, Field(ge=1, description="Largest factor of the positions of a sentence pair.")] = 1.03


def augmented(positions: Tensor, drawn: Tensor, local: Tensor) -> Tensor:
    """Shift and stretch positions.

    Args:
        positions: Positions, (1 | B, L).
        drawn: Δ and log λ of each sentence, (B, 2).
        local: ε of each token, (B, L).

    Returns:
        Real-valued positions, (B, L) in double precision.
    """
    shift, log_scale = drawn.double()[..., None].unbind(1)  # (B, 1) each
    return (positions + shift + local) * log_scale.exp()


@register(CAPEConfig)
class CAPE(WaveEncoding):
    """Adds the sinusoids of augmented positions to the scaled embeddings."""

    def __init__(self, config: CAPEConfig, shape: Shape) -> None:
        super().__init__(config, shape, frequencies(shape.dim))
        self.local_shift = config.local_shift
        self.ranges = torch.tensor([config.global_shift, math.log(config.scale)])

    @override
    def draw(self, sentences: int) -> Tensor | None:
        return self.ranges * _between_minus_one_and_one(sentences, 2) if self.training else None

    def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        if positions.drawn is None:
            return super()._add_to_embeddings(x, positions, stack)
        local = moved(self.local_shift * _between_minus_one_and_one(*x.shape[:2]), x.device)
        places = augmented(positions.absolute, positions.drawn, local)
        return x + waves(places, moved(self._frequencies, x.device)).to(x.dtype)


def _between_minus_one_and_one(*shape: int) -> Tensor:
    # On the CPU, because the saved state of a training includes its generator.
    return 2 * torch.rand(shape) - 1
