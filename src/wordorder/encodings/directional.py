"""Directional heads (DiSAN as a baseline in translation).

    head h sees keys j ≤ i if h is odd, keys j ≥ i if h is even (h = 1 … H); every head sees the query itself

Source: Shen et al. 2018 (DiSAN), reduced to its masks on ordinary heads, as baselines in translation use it: all
encoder layers, an unchanged decoder, and sinusoids (compose it with ``sinusoidal``).
Departures: the original has multi-dimensional attention with a fusion gate. Its masks exclude the query itself (forward
j < i, backward j > i), so that the first token of a forward head sees nothing; here every head sees the query.
Promises: relative, since only the order of two tokens matters; works at any length; no parameters.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor
from typing_extensions import override

from wordorder.encodings.base import AttentionEncoding, Encoding, EncodingConfig, Positions, Shape, Stack
from wordorder.encodings.lookup import distances
from wordorder.encodings.registry import register

# Not -inf: a padding query of a backward head would see only padding, and its softmax would be NaN.
_UNSEEN = -1e9


class DirectionalConfig(EncodingConfig):
    """Parameters of an entry with ``type: directional``."""

    type: Literal["directional"] = "directional"
    placement: Literal["both", "encoder", "decoder"] = Field(
        default="encoder", description="Stacks in which the encoding acts."
    )


class DirectionalAttention(AttentionEncoding):
    """The masks of all heads."""

    needs = frozenset({"bias"})
    hides = True
    direction: Tensor

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.register_buffer("direction", 1 - 2 * (torch.arange(heads) % 2), persistent=False)

    @override
    def bias(self, query: Positions, key: Positions) -> Tensor:
        apart = distances(query, key)[:, None]  # (1 | B, 1, Lq, Lk)
        unseen = apart * self.direction[:, None, None] > 0
        return torch.zeros(unseen.shape, device=unseen.device).masked_fill(unseen, _UNSEEN)


@register(DirectionalConfig)
class Directional(Encoding):
    """Acts inside every self-attention of the stacks where it is placed."""

    relative = True

    def __init__(self, config: DirectionalConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self.masks = DirectionalAttention(shape.heads)

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return self.masks
