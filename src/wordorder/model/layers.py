"""Encoder and decoder layers, with layer norm before (pre) or after (post) each sub-layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import torch
from torch import Tensor, nn

from wordorder.config.models import Recipe
from wordorder.dropout import Drop, Dropout, unchanged
from wordorder.encodings.base import AttentionEncoding, Positions
from wordorder.model.attention.base import WeightsReader
from wordorder.model.attention.lineage import LineageCache
from wordorder.model.attention.multihead import CrossAttention, KeyValueCache, Prefix, SelfAttention
from wordorder.model.layout import SENTENCES, Layout


class LayerSize(Protocol):
    """The keys of a size configuration that a layer uses."""

    @property
    def dim(self) -> int:
        """Model size, d."""

    @property
    def ffn_dim(self) -> int:
        """Size of the hidden layer of the feed-forward network."""

    @property
    def heads(self) -> int:
        """Number of heads, H."""

    @property
    def dropout(self) -> float:
        """Dropout probability."""


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
        """Apply the network, (…, d) to (…, d)."""
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
        """Return the input of the sub-layer."""
        return self.norm(x) if self.pre_norm else x

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply a sub-layer with its residual connection, (…, d) to (…, d)."""
        if self.pre_norm:
            dropped: Tensor = self.dropout(sublayer(self.inner(x)))
            return x + dropped
        normed: Tensor = self.norm(x + self.dropout(sublayer(x)))
        return normed


AnySize = TypeVar("AnySize", bound=LayerSize)


def heads_divide_dim(size: AnySize) -> AnySize:
    """Return a size after checking that its heads divide the model size; a validator of size configurations.

    Raises:
        ValueError: The model size is not a multiple of the number of heads.
    """
    if size.dim % size.heads:
        raise ValueError(f"dim ({size.dim}) must be a multiple of heads ({size.heads})")
    return size


def dropout_rate(recipe: Recipe, of_size: float) -> float:
    """Return the rate of dropout of a model: that of its recipe, or that of its size if the recipe sets none."""
    return of_size if recipe.dropout is None else recipe.dropout


def _head_inputs(
    encoding: AttentionEncoding, x: Tensor, layout: Layout, positions: Positions, drop: Drop, around: Residual
) -> list[tuple[int, Tensor]] | None:
    if "head_inputs" not in encoding.needs:
        return None
    inputs = encoding.head_inputs(layout.to_sentences(x), positions, drop)
    return None if inputs is None else [(heads, around.inner(own)) for heads, own in inputs]


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward network."""

    def __init__(self, size: LayerSize, recipe: Recipe) -> None:
        super().__init__()
        rate, pre_norm = dropout_rate(recipe, size.dropout), recipe.norm == "pre"
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
        cache: KeyValueCache | None = None,
        prefix: Prefix | None = None,
        drop: Drop = unchanged,
        weights_reader: WeightsReader | None = None,
        layout: Layout = SENTENCES,
    ) -> Tensor:
        """Apply the layer.

        Args:
            x: Inputs in the layout, (B, L, d) or (N, d); with a cache, new tokens only.
            mask: Added to the scores, (1 | B, 1, 1 | L, keys).
            encoding: What the positional encoding does in the self-attention.
            positions: Positions of x.
            cache: Keys and values of earlier tokens, to which those of x are appended.
            prefix: Tokens that every token of x reads too.
            drop: The dropout of the embeddings, as it was drawn for them.
            weights_reader: Called with the attention weights.
            layout: Layout of the tokens in x.

        Returns:
            Outputs, in the same layout.
        """
        inputs = _head_inputs(encoding, x, layout, positions, drop, self.around_self)
        x = self.around_self(
            x,
            lambda inner: self.self_attention(
                inner,
                mask=mask,
                encoding=encoding,
                positions=positions,
                cache=cache,
                prefix=prefix,
                head_inputs=inputs,
                weights_reader=weights_reader,
                layout=layout,
            ),
        )
        output: Tensor = self.around_ffn(x, self.feed_forward)
        return output


class DecoderLayer(nn.Module):
    """Self-attention, attention to the source, and feed-forward network."""

    def __init__(self, size: LayerSize, recipe: Recipe) -> None:
        super().__init__()
        rate, pre_norm = dropout_rate(recipe, size.dropout), recipe.norm == "pre"
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
        cache: KeyValueCache | LineageCache | None = None,
        drop: Drop = unchanged,
        weights_reader: WeightsReader | None = None,
        cross_weights_reader: WeightsReader | None = None,
        layout: Layout = SENTENCES,
    ) -> Tensor:
        """Apply the layer.

        With a cache, T counts the hypotheses of each sentence: one new token each, and each with its own past.

        Args:
            x: Inputs in the layout, (B, T, d) or (N, d).
            memory: Keys and values of the source, (B, H, S, d_h) twice.
            memory_mask: Added to the scores of the source, (B, 1, 1, S).
            memory_positions: Positions of the source.
            mask: Added to the scores of the target, (1, 1, T, T); with a cache that keeps all hypotheses of a sentence
                together, (B, 1, T, keys).
            encoding: What the positional encoding does in the self-attention.
            cross_encoding: What it does between target and source.
            positions: Positions of x.
            cache: Keys and values of earlier tokens, of each hypothesis or of all hypotheses of a sentence.
            drop: The dropout of the embeddings, as it was drawn for them.
            weights_reader: Called with the weights of the self-attention.
            cross_weights_reader: Called with the weights of the attention to the source.
            layout: Layout of the tokens in x; sentences with a cache.

        Returns:
            Outputs, in the same layout.
        """
        separate = isinstance(cache, KeyValueCache)

        # (B, K, d) -> (B·K, 1, d): every hypothesis attends only to its own past.
        def alone(x: Tensor) -> Tensor:
            return x.flatten(0, 1)[:, None] if separate else x

        inputs = _head_inputs(encoding, alone(x), layout, positions, drop, self.around_self)

        def attend_to_self(inner: Tensor) -> Tensor:
            attended: Tensor = self.self_attention(
                alone(inner),
                mask=mask,
                encoding=encoding,
                positions=positions,
                cache=cache,
                head_inputs=inputs,
                weights_reader=weights_reader,
                layout=layout,
            )
            return attended.view_as(inner) if separate else attended

        def attend_to_source(inner: Tensor) -> Tensor:
            attended: Tensor = self.cross_attention(
                inner,
                *memory,
                mask=memory_mask,
                encoding=cross_encoding,
                query=positions if cache is None else positions.expand(inner.size(1)),
                key=memory_positions,
                weights_reader=cross_weights_reader,
                layout=layout,
            )
            return attended

        x = self.around_self(x, attend_to_self)
        x = self.around_cross(x, attend_to_source)
        output: Tensor = self.around_ffn(x, self.feed_forward)
        return output
