"""Contextual positions (CoPE).

    g_it = σ(q_i · k_t / √d_h)                      a gate: does token t count for query i?
    p_ij = g_ij + … + g_ii  for j ≤ i               the sum of gates from key to query
    e_ij = q_i · k_j / √d_h + q_i · E[p_ij]         E between two whole positions is interpolated

Source: Golovneva et al. 2024 (CoPE), equations 3-6, for a causal decoder; the code of its appendix B does not divide
the query of the second term.
Departures: tables start with a standard deviation of 0.02 instead of 0, so that gates have a gradient from the first
update on. In the encoder, of which the paper has none, keys lie on both sides: those behind the query count from the
query to the key, g_(i+1)t + … + g_ij, and have a table of their own, or else a sentence and its mirror image would look
alike.
Promises: relative, since positions count by their order alone; works at any length (sums beyond the table share its
last vector); table · d_h parameters a head, a layer and, in the encoder, a side.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn

from wordorder.encodings.base import AttentionEncoding, Encoding, EncodingConfig, Positions, Shape, Stack
from wordorder.encodings.lookup import distances
from wordorder.encodings.registry import register


class CoPEConfig(EncodingConfig):
    type: Literal["cope"] = "cope"
    table: Annotated[int, Field(gt=1, description="Whole positions with a vector of their own.")] = 64
    share_heads: bool = True

    def parameter_count(self, shape: Shape) -> int:
        sides = sum(_sides(stack) * shape.layers(stack) for stack in self.stacks)
        return sides * self.table * shape.head_dim * (1 if self.share_heads else shape.heads)


def _sides(stack: Stack) -> int:
    return 2 if stack == "encoder" else 1


class CoPEAttention(AttentionEncoding):
    """The tables of one layer: (sides, 1 | H, table, d_h), keys before the query first."""

    needs = frozenset({"scores"})

    def __init__(self, config: CoPEConfig, shape: Shape, stack: Stack) -> None:
        super().__init__()
        self.last = config.table - 1
        heads = 1 if config.share_heads else shape.heads
        self.vectors = nn.Parameter(0.02 * torch.randn(_sides(stack), heads, config.table, shape.head_dim))

    def scores(self, scores: Tensor, queries: Tensor, keys: Tensor, query: Positions, key: Positions) -> Tensor:
        apart = distances(query, key)[:, None]  # (1 | B, 1, Lq, Lk)
        sums = self._sums(scores, apart, key)
        added = self._interpolated(queries, self.vectors[0], sums)
        if len(self.vectors) > 1:
            behind = self._interpolated(queries, self.vectors[1], sums)
            added = torch.where(apart > 0, behind, added)
        return scores + added

    def _sums(self, scores: Tensor, apart: Tensor, key: Positions) -> Tensor:
        """p_ij: (B, H, Lq, Lk). Gates are summed in the order of the keys' positions, wherever the keys stand."""
        gates = torch.sigmoid(scores.float())
        order = key.absolute.argsort(dim=-1)  # (1 | B, Lk)
        places = order.argsort(dim=-1)
        shape = gates.shape
        ordered = gates.gather(-1, order[:, None, None].expand(shape))
        upto = ordered.cumsum(-1).gather(-1, places[:, None, None].expand(shape))  # g_i1 + … + g_ij
        # The query is one of the keys: the sum up to itself is where the distance is 0.
        own = torch.where(apart == 0, upto, 0).sum(-1, keepdim=True)
        return torch.where(apart > 0, upto - own, own - upto + gates)

    def _interpolated(self, queries: Tensor, vectors: Tensor, sums: Tensor) -> Tensor:
        undivided = math.sqrt(vectors.size(-1)) * vectors  # queries arrive divided, but meet E undivided
        products = queries @ undivided.transpose(-1, -2).to(queries.dtype)  # (B, H, Lq, table)
        sums = sums.clamp(0, self.last)
        below = sums.detach().floor().clamp(max=self.last - 1)
        share = (sums - below).to(queries.dtype)
        rows = below.nan_to_num().long()  # of a model that diverged, whose sums are no numbers and no rows either
        return (1 - share) * products.gather(-1, rows) + share * products.gather(-1, rows + 1)


@register(CoPEConfig)
class CoPE(Encoding):
    """Acts inside every self-attention of the stacks where it is placed."""

    relative = True

    def __init__(self, config: CoPEConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self.layers = nn.ModuleDict(
            {
                stack: nn.ModuleList(CoPEAttention(config, shape, stack) for _ in range(shape.layers(stack)))
                for stack in config.stacks
            }
        )

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return cast(AttentionEncoding, cast(nn.ModuleList, self.layers[stack])[layer])
