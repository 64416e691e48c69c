"""Biases that are products of sinusoids (Sandwich).

    e_ij = q_i · k_j / √d_h + (S(|i - j|) - s/2) / (8h/H),   S(r) = Σ cos(r · 10000^(-2m/s)),   m = 1 … s/2

S is the product of two vectors of s sines and cosines, P_i · P_j, which depends only on the distance; h = 1 … H is the
head. Later heads have smaller biases.

Source: Chi et al. 2023 (Sandwich). Frequencies, offset and the heads' divisors are those of NVIDIA NeMo, which also has
a bidirectional variant. The paper describes decoders only.
Promises: relative; works at any length; no parameters; no bias is positive, and it is 0 only at distance 0. In the
encoder both sides look alike, so that a sentence and its mirror image differ only by the END token, as with ALiBi.
Departures: s is 128 for any size of a head; NeMo uses the size of the head. In small heads all frequencies would be
low.
Start values: none.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor
from typing_extensions import override

from wordorder.encodings.base import AttentionEncoding, Encoding, EncodingConfig, Positions, Shape, Stack
from wordorder.encodings.lookup import distances, spread
from wordorder.encodings.registry import register


class SandwichConfig(EncodingConfig):
    """Parameters of an entry with ``type: sandwich``."""

    type: Literal["sandwich"] = "sandwich"
    size: Annotated[int, Field(gt=0, multiple_of=2, description="s, the number of sines and cosines.")] = 128


class SandwichAttention(AttentionEncoding):
    """The biases of all distances, shared by stacks and layers. The table grows on demand."""

    needs = frozenset({"bias"})
    _table: Tensor  # (H, distances)

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self._frequencies = 10000.0 ** (-2 * torch.arange(1, size // 2 + 1, dtype=torch.float64) / size)
        self._divisors = 8 * torch.arange(1, heads + 1, dtype=torch.float64) / heads
        self.register_buffer("_table", self._biases(256), persistent=False)

    def _biases(self, length: int) -> Tensor:
        cosines = (torch.arange(length)[:, None] * self._frequencies).cos()  # (length, s/2)
        return ((cosines - 1).sum(1) / self._divisors[:, None]).float()

    @override
    def bias(self, query: Positions, key: Positions) -> Tensor:
        limit = max(query.limit, key.limit)
        if limit > self._table.size(1):
            self._table = self._biases(2 * limit).to(self._table)
        return spread(self._table, distances(query, key).abs())


@register(SandwichConfig)
class Sandwich(Encoding):
    """Acts inside every self-attention of the stacks where it is placed."""

    relative = True

    def __init__(self, config: SandwichConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self.biases = SandwichAttention(config.size, shape.heads)

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return self.biases
