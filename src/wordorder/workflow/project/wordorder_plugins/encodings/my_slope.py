"""A sample encoding: a linear distance bias with one learned slope per head.

    e_ij = q_i · k_j / √d_h - s_h · |i - j|

Source: ALiBi (Press et al. 2022), whose slopes are fixed; here they only start as ALiBi's 2^(-8h/H), h = 1 … H.
Promises: relative, so a shift of all positions changes nothing; works at any length; H parameters per stack.
Departures: the slopes are learned.
"""

from __future__ import annotations

from typing import Literal, cast

import torch
from torch import Tensor, nn

from wordorder.encodings.base import AttentionEncoding, Encoding, EncodingConfig, Positions, Shape, Stack
from wordorder.encodings.registry import register


class MySlopeConfig(EncodingConfig):
    """Parameters of an entry with ``type: my_slope`` in config/encodings.yaml; add yours as fields."""

    type: Literal["my_slope"] = "my_slope"

    def parameter_count(self, shape: Shape) -> int:
        """Return the number of trainable parameters, which a check compares with those of the model."""
        return len(self.stacks) * shape.heads


class MySlopeAttention(AttentionEncoding):
    """The slopes of one stack, shared by its layers."""

    needs = frozenset({"bias"})

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.slopes = nn.Parameter(2 ** (-8.0 * torch.arange(1, heads + 1) / heads))

    def bias(self, query: Positions, key: Positions) -> Tensor:
        """Return what is added to the attention scores, (1 | B, H, Lq, Lk)."""
        distance = (key.absolute[:, None, :] - query.absolute[:, :, None]).abs()  # (1 | B, Lq, Lk)
        return -self.slopes[:, None, None] * distance[:, None]


@register(MySlopeConfig)
class MySlope(Encoding):
    """Acts inside every self-attention of the stacks where it is placed."""

    relative = True

    def __init__(self, config: MySlopeConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self.attentions = nn.ModuleDict({stack: MySlopeAttention(shape.heads) for stack in config.stacks})

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return cast(AttentionEncoding, self.attentions[stack])
