"""Encoder and decoder layers, with layer norm before (pre) or after (post) each sub-layer."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from wordorder.config.models import Recipe, Size
from wordorder.dropout import Drop, Dropout, unchanged
from wordorder.encodings.base import AttentionEncoding, Positions
from wordorder.model.attention import CrossAttention, KeyValueCache, SelfAttention
from wordorder.model.translator import dropout_rate


class FeedForward(nn.Module):
    """Linear, ReLU, linear (Vaswani et al. 2017, equation 2)."""

    def __init__(self, dim: int, ffn_dim: int, dropout: float) -> None:
        super().__init__()
        self.expand = nn.Linear(dim, ffn_dim)
        self.contract = nn.Linear(ffn_dim, dim)
        self.dropout = Dropout(dropout)
        for linear in (self.expand, self.contract):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        contracted: Tensor = self.contract(self.dropout(torch.relu(self.expand(x))))
        return contracted


class Residual(nn.Module):
    """x + sub-layer(x), with its layer norm and dropout."""

    def __init__(self, dim: int, dropout: float, *, pre_norm: bool) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.dropout = Dropout(dropout)
        self.pre_norm = pre_norm

    def inner(self, x: Tensor) -> Tensor:
        """What the sub-layer reads."""
        return self.norm(x) if self.pre_norm else x

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.pre_norm:
            dropped: Tensor = self.dropout(sublayer(self.inner(x)))
            return x + dropped
        normed: Tensor = self.norm(x + self.dropout(sublayer(x)))
        return normed


def _head_inputs(
    encoding: AttentionEncoding, x: Tensor, positions: Positions, drop: Drop, around: Residual
) -> list[tuple[int, Tensor]] | None:
    inputs = encoding.head_inputs(x, positions, drop)
    return None if inputs is None else [(heads, around.inner(own)) for heads, own in inputs]


class EncoderLayer(nn.Module):
    def __init__(self, size: Size, recipe: Recipe) -> None:
        super().__init__()
        rate, pre_norm = dropout_rate(size, recipe), recipe.norm == "pre"
        self.self_attention = SelfAttention(size.dim, size.heads, recipe.attention_dropout)
        self.feed_forward = FeedForward(size.dim, size.ffn_dim, recipe.activation_dropout)
        self.around_self = Residual(size.dim, rate, pre_norm=pre_norm)
        self.around_ffn = Residual(size.dim, rate, pre_norm=pre_norm)

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None,
        encoding: AttentionEncoding,
        positions: Positions,
        drop: Drop = unchanged,
    ) -> Tensor:
        """(B, S, d) -> (B, S, d)

        drop: the dropout of the embeddings, as it was drawn for them.
        """
        inputs = _head_inputs(encoding, x, positions, drop, self.around_self)
        x = self.around_self(
            x,
            lambda inner: self.self_attention(
                inner, mask=mask, encoding=encoding, positions=positions, head_inputs=inputs
            ),
        )
        output: Tensor = self.around_ffn(x, self.feed_forward)
        return output


class DecoderLayer(nn.Module):
    def __init__(self, size: Size, recipe: Recipe) -> None:
        super().__init__()
        rate, pre_norm = dropout_rate(size, recipe), recipe.norm == "pre"
        self.self_attention = SelfAttention(size.dim, size.heads, recipe.attention_dropout)
        self.cross_attention = CrossAttention(size.dim, size.heads, recipe.attention_dropout)
        self.feed_forward = FeedForward(size.dim, size.ffn_dim, recipe.activation_dropout)
        self.around_self = Residual(size.dim, rate, pre_norm=pre_norm)
        self.around_cross = Residual(size.dim, rate, pre_norm=pre_norm)
        self.around_ffn = Residual(size.dim, rate, pre_norm=pre_norm)

    def forward(
        self,
        x: Tensor,
        *,
        memory: tuple[Tensor, Tensor],
        memory_mask: Tensor | None,
        memory_positions: Positions,
        mask: Tensor | None,
        encoding: AttentionEncoding,
        cross_encoding: AttentionEncoding,
        positions: Positions,
        cache: KeyValueCache | None = None,
        drop: Drop = unchanged,
    ) -> Tensor:
        """(B, T, d) -> (B, T, d).

        drop: the dropout of the embeddings, as it was drawn for them.
        With a cache, T counts the hypotheses of each sentence: one new token each, and each with its own past.
        """

        # (B, K, d) -> (B·K, 1, d): to its own past every hypothesis is a sentence of its own.
        def alone(x: Tensor) -> Tensor:
            return x if cache is None else x.flatten(0, 1)[:, None]

        inputs = _head_inputs(encoding, alone(x), positions, drop, self.around_self)

        def attend_to_self(inner: Tensor) -> Tensor:
            attended: Tensor = self.self_attention(
                alone(inner), mask=mask, encoding=encoding, positions=positions, cache=cache, head_inputs=inputs
            )
            return attended.view_as(inner)

        def attend_to_source(inner: Tensor) -> Tensor:
            attended: Tensor = self.cross_attention(
                inner,
                *memory,
                mask=memory_mask,
                encoding=cross_encoding,
                query=positions.expand(inner.size(1)),
                key=memory_positions,
            )
            return attended

        x = self.around_self(x, attend_to_self)
        x = self.around_cross(x, attend_to_source)
        output: Tensor = self.around_ffn(x, self.feed_forward)
        return output
