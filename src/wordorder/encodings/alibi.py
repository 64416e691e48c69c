"""Attention with linear biases (ALiBi).

    e_ij = q_i · k_j / √d_h - m_h · |i - j|
    m_h = 2^(-8h/H),   h = 1 … H, for H a power of two; other H take the slopes of the next lower power of two, and then
                       every other slope, from the first on, of the next higher one

Source: Press et al. 2022, section 3; the rule for other H is that of the released code. The paper is about decoders; in
the encoder |i - j| is the same on both sides (symmetric). There a sentence and its mirror image look alike except
through the END token, which stays last and alone tells which end is which.
Promises: relative; works at any length; no parameters.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from wordorder.encodings.base import (
    AttentionEncoding,
    Encoding,
    EncodingConfig,
    Positions,
    ScoreFunction,
    Shape,
    Stack,
)
from wordorder.encodings.lookup import distances
from wordorder.encodings.registry import register


class ALiBiConfig(EncodingConfig):
    type: Literal["alibi"] = "alibi"


def slopes(heads: int) -> list[float]:
    """m_1 … m_H"""
    lower = 1 << (heads.bit_length() - 1)
    found: list[float] = [2 ** (-8 * head / lower) for head in range(1, lower + 1)]
    return found if heads == lower else found + slopes(2 * lower)[::2][: heads - lower]


class ALiBiAttention(AttentionEncoding):
    """The slopes, (H,), shared by stacks and layers."""

    needs = frozenset({"bias"})
    pairwise = True
    slopes: Tensor

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.register_buffer("slopes", torch.tensor(slopes(heads)), persistent=False)

    def bias(self, query: Positions, key: Positions) -> Tensor:
        apart = distances(query, key).abs().to(self.slopes.dtype)
        return -self.slopes[:, None, None] * apart[:, None]

    def score_function(self, queries: Tensor, query: Positions, key: Positions) -> ScoreFunction:
        sentences = len(queries)
        rows, columns = query.absolute.expand(sentences, -1), key.absolute.expand(sentences, -1)

        def score(value: Tensor, sentence: Tensor, head: Tensor, row: Tensor, column: Tensor) -> Tensor:
            apart = (columns[sentence, column] - rows[sentence, row]).abs()
            return value - self.slopes[head] * apart

        return score


@register(ALiBiConfig)
class ALiBi(Encoding):
    """Acts inside every self-attention of the stacks where it is placed."""

    relative = True

    def __init__(self, config: ALiBiConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self.biases = ALiBiAttention(shape.heads)

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return self.biases
