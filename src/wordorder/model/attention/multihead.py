"""Multi-head attention with the hooks of :mod:`wordorder.encodings.base`.

Notation: B batch, L length, H heads, d model size, d_h head size; P tokens of a prefix.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from wordorder.encodings.base import AttentionEncoding, Positions
from wordorder.model.attention.base import WeightsReader, attend
from wordorder.model.attention.lineage import LineageCache
from wordorder.model.layout import SENTENCES, Layout


class Prefix(NamedTuple):
    """Tokens that are read before those of a cache: keys and values, (N, H, P, d_h), and positions."""

    keys: Tensor
    values: Tensor
    positions: Positions


class KeyValueCache:
    """Keys, values and positions of the tokens that a step-by-step decoder has already read, (N, H, L, d_h) twice."""

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None
        self.positions: Positions | None = None

    def append(self, keys: Tensor, values: Tensor, positions: Positions) -> tuple[Tensor, Tensor, Positions]:
        """Append the keys, values and positions of new tokens, and return those of all tokens."""
        if self.keys is not None and self.values is not None and self.positions is not None:
            keys = torch.cat((self.keys, keys), dim=2)
            values = torch.cat((self.values, values), dim=2)
            positions = self.positions.followed_by(positions)
        self.keys, self.values, self.positions = keys, values, positions
        return keys, values, positions

    def select(self, rows: Tensor) -> None:
        """Select sentences or hypotheses (indices into N of any shape), in the given order."""
        rows = rows.flatten()
        if self.keys is not None and self.values is not None and self.positions is not None:
            self.keys = self.keys.index_select(0, rows)
            self.values = self.values.index_select(0, rows)
            self.positions = self.positions.select(rows)


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Split heads, (B, L, H·d_h) to (B, H, L, d_h)."""
    return x.view(*x.shape[:-1], heads, -1).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """Merge heads, (B, H, L, d_h) to (B, L, H·d_h)."""
    return x.transpose(1, 2).flatten(-2)


def _parts(x: Tensor) -> tuple[Tensor, ...]:
    """Separate projections of tokens, such as queries and keys, (B, L, parts, H, d_h) to (B, H, L, d_h) each."""
    return tuple(part.transpose(1, 2) for part in x.unbind(2))


class SelfAttention(nn.Module):
    """Multi-head self-attention with the hooks of an encoding."""

    def __init__(self, dim: int, heads: int, dropout_probability: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout_probability = dropout_probability
        self.project_in = nn.Linear(dim, 3 * dim)
        self.project_out = nn.Linear(dim, dim)
        # Each of the three d x d blocks has the Glorot bound of a separate matrix, scaled by 1/√2 (fairseq).
        nn.init.xavier_uniform_(self.project_in.weight, gain=1.0)
        nn.init.zeros_(self.project_in.bias)
        nn.init.xavier_uniform_(self.project_out.weight)
        nn.init.zeros_(self.project_out.bias)

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None,
        encoding: AttentionEncoding,
        positions: Positions,
        cache: KeyValueCache | LineageCache | None = None,
        prefix: Prefix | None = None,
        head_inputs: list[tuple[int, Tensor]] | None = None,
        weights_reader: WeightsReader | None = None,
        layout: Layout = SENTENCES,
    ) -> Tensor:
        """Apply multi-head self-attention.

        Args:
            x: Inputs in the layout, (B, L, d) or (N, d); with a cache, new tokens only.
            mask: Added to the scores, (1 | B, 1, 1 | L, keys); the keys are those of prefix, cache and x.
            encoding: What the positional encoding does here.
            positions: Positions of x.
            cache: Keys and values of earlier tokens, to which those of x are appended.
            prefix: Tokens that every token of x reads too.
            head_inputs: Inputs for groups of heads instead of x, [(number of heads, (B, L, d)), …] in head order.
            weights_reader: Called with the attention weights, (B, H, L, keys).
            layout: Layout of the tokens in x.

        Returns:
            Outputs, in the same layout.
        """
        queries, keys, values = self._project(x, head_inputs, layout)
        if "gates" in encoding.needs:
            positions = replace(positions, state=encoding.gates(layout.to_sentences(x), positions))
        rotated, keys = encoding.rotate(queries, keys, positions)
        values = encoding.values(values, positions)
        key_positions = positions
        if cache is not None:
            keys, values, key_positions = cache.append(keys, values, positions)
        if prefix is not None:
            keys = torch.cat((prefix.keys, keys), dim=2)
            values = torch.cat((prefix.values, values), dim=2)
            key_positions = prefix.positions.followed_by(key_positions)
        context = attend(
            rotated,
            keys,
            values,
            mask=mask,
            dropout_probability=self.dropout_probability,
            training=self.training,
            encoding=encoding,
            query=positions,
            key=key_positions,
            unrotated=queries,
            weights_reader=weights_reader,
        )
        projected: Tensor = self.project_out(layout.from_sentences(context.transpose(1, 2)))
        return projected

    def _project(
        self, x: Tensor, inputs: list[tuple[int, Tensor]] | None, layout: Layout
    ) -> tuple[Tensor, Tensor, Tensor]:
        if inputs is None:
            queries, keys, values = _parts(layout.to_sentences(self.project_in(x), 3, self.heads))
            return queries, keys, values
        # (3·d, d) -> (3, H, d_h, d): every group of heads has its own input.
        weight = self.project_in.weight.view(3, self.heads, -1, x.size(-1))
        bias = self.project_in.bias.view(3, self.heads, -1)
        groups, start = [], 0
        for count, own in inputs:
            part = slice(start, start + count)
            projected = functional.linear(own, weight[:, part].flatten(0, 2), bias[:, part].flatten())
            groups.append(projected.view(*own.shape[:-1], 3, count, -1))  # (B, L, 3, heads of the group, d_h)
            start += count
        queries, keys, values = torch.cat(groups, dim=3).permute(2, 0, 3, 1, 4)
        return queries, keys, values


class CrossAttention(nn.Module):
    """Multi-head attention with queries of the target, and keys and values of the encoder's output.

    The matrices of queries, keys and values start with the Glorot bounds of a d x d and a d x 2d matrix. In fairseq,
    all start with 1/√2 of the bound of a d x d matrix: queries here start 1.41 times as large, keys and values 1.15
    times.
    """

    def __init__(self, dim: int, heads: int, dropout_probability: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout_probability = dropout_probability
        self.project_query = nn.Linear(dim, dim)
        self.project_memory = nn.Linear(dim, 2 * dim)
        self.project_out = nn.Linear(dim, dim)
        for linear in (self.project_query, self.project_memory, self.project_out):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def read(self, memory: Tensor, layout: Layout = SENTENCES) -> tuple[Tensor, Tensor]:
        """Compute keys and values of the encoder's output once per sentence.

        Args:
            memory: The encoder's output in the layout, (B, S, d) or (N, d).
            layout: Layout of its tokens.

        Returns:
            Keys and values, (B, H, S, d_h) each.
        """
        keys, values = _parts(layout.to_sentences(self.project_memory(memory), 2, self.heads))
        return keys, values

    def forward(
        self,
        x: Tensor,
        keys: Tensor,
        values: Tensor,
        *,
        mask: Tensor | None,
        encoding: AttentionEncoding,
        query: Positions,
        key: Positions,
        weights_reader: WeightsReader | None = None,
        layout: Layout = SENTENCES,
    ) -> Tensor:
        """Apply multi-head attention of the target to the source.

        Args:
            x: Inputs in the layout, (B, T, d) or (N, d); in step-by-step decoding T counts a sentence's hypotheses.
            keys: Keys of the source, (B, H, S, d_h).
            values: Values of the source, (B, H, S, d_h).
            mask: Added to the scores, (B, 1, 1, S).
            encoding: What the positional encoding does between target and source.
            query: Positions of the target.
            key: Positions of the source.
            weights_reader: Called with the attention weights, (B, H, T, S).
            layout: Layout of the tokens in x.

        Returns:
            Outputs, in the same layout.
        """
        context = attend(
            layout.to_sentences(self.project_query(x), self.heads).transpose(1, 2),
            keys,
            values,
            mask=mask,
            dropout_probability=self.dropout_probability,
            training=self.training,
            encoding=encoding,
            query=query,
            key=key,
            weights_reader=weights_reader,
        )
        projected: Tensor = self.project_out(layout.from_sentences(context.transpose(1, 2)))
        return projected
