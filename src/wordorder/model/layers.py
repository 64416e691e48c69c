"""Encoder and decoder layers, with layer norm before (pre) or after (post) each sub-layer."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from wordorder.config.models import Recipe, Size
from wordorder.encodings.base import AttentionEncoding, Positions
from wordorder.model.attention import CrossAttention, KeyValueCache, SelfAttention
from wordorder.model.dropout import Dropout


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

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.pre_norm:
            dropped: Tensor = self.dropout(sublayer(self.norm(x)))
            return x + dropped
        normed: Tensor = self.norm(x + self.dropout(sublayer(x)))
        return normed


def _dropout(size: Size, recipe: Recipe) -> float:
    return size.dropout if recipe.dropout is None else recipe.dropout


class EncoderLayer(nn.Module):
    def __init__(self, size: Size, recipe: Recipe) -> None:
        super().__init__()
        rate, pre_norm = _dropout(size, recipe), recipe.norm == "pre"
        self.self_attention = SelfAttention(size.dim, size.heads, recipe.attention_dropout)
        self.feed_forward = FeedForward(size.dim, size.ffn_dim, recipe.activation_dropout)
        self.around_self = Residual(size.dim, rate, pre_norm=pre_norm)
        self.around_ffn = Residual(size.dim, rate, pre_norm=pre_norm)

    def forward(self, x: Tensor, *, mask: Tensor | None, encoding: AttentionEncoding, positions: Positions) -> Tensor:
        """(B, S, d) -> (B, S, d)"""
        x = self.around_self(
            x, lambda inner: self.self_attention(inner, mask=mask, encoding=encoding, positions=positions)
        )
        output: Tensor = self.around_ffn(x, self.feed_forward)
        return output


class DecoderLayer(nn.Module):
    def __init__(self, size: Size, recipe: Recipe) -> None:
        super().__init__()
        rate, pre_norm = _dropout(size, recipe), recipe.norm == "pre"
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
        mask: Tensor | None,
        encoding: AttentionEncoding,
        positions: Positions,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """(B, T, d) -> (B, T, d).

        With a cache, T counts the hypotheses of each sentence: one new token each, and each with its own past.
        """

        def attend_to_self(inner: Tensor) -> Tensor:
            # (B, K, d) -> (B·K, 1, d): to its own past every hypothesis is a sentence of its own.
            own = inner if cache is None else inner.flatten(0, 1)[:, None]
            attended: Tensor = self.self_attention(own, mask=mask, encoding=encoding, positions=positions, cache=cache)
            return attended.view_as(inner)

        x = self.around_self(x, attend_to_self)
        x = self.around_cross(x, lambda inner: self.cross_attention(inner, *memory, mask=memory_mask))
        output: Tensor = self.around_ffn(x, self.feed_forward)
        return output
