"""Disentangled attention (DeBERTa): words meet positions in both directions, and words meet words.

    e_ij = (q_i · k_j + q_i · W_K R[δ(i, j)] + k_j · W_Q R[δ(j, i)]) / √(3 d_h)
    δ(i, j) = i - j + k, at least 0 and at most 2k - 1

R is a learned table of 2k vectors of the model size. W_K and W_Q are projections of positions.

Source: He et al. 2021 (DeBERTa), section 3.1. With ``buckets``, as in DeBERTa v2, distances beyond half of the buckets
share rows of R up to ``span``; farther distances share more. With ``norm``, R has v2's layer norm.
Promises: relative; works at any length (distances beyond ``span`` share two rows of R); 2k · d parameters per stack and
2 d² + d per layer, 2 d more per stack with ``norm``; k is ``buckets`` if given, otherwise ``span``.
Departures: the released code uses δ(i, j) in the third term, too (``third_term: released``). W_Q has a bias and W_K has
none, as in the released code of v1. The bias of W_K in v2 adds the same number to all scores of a query, which a
softmax ignores. Position projections are always separate; v2 shares those of words. R has no dropout. The paper has no
decoder; ours has a separate table, and its layers meet only i ≥ j, except in a control.
Start values: weights from a normal distribution with standard deviation 0.02, biases 0.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from typing_extensions import override

from wordorder.config.encodings import ControllableConfig
from wordorder.encodings.base import AttentionEncoding, Positions, Shape, Stack
from wordorder.encodings.layers import PerLayer
from wordorder.encodings.lookup import distances
from wordorder.encodings.registry import register

_SPREAD = 0.02  # standard deviation of a new weight


class DeBERTaConfig(ControllableConfig):
    """Parameters of an entry with ``type: deberta``."""

    type: Literal["deberta"] = "deberta"
    span: Annotated[int, Field(gt=1, description="Distance in tokens from which all distances share a row.")] = 512
    buckets: Annotated[int, Field(gt=2, multiple_of=2)] | None = Field(
        default=None,
        description="Rows per sign, where farther rows hold several distances; by default one row per distance.",
    )
    third_term: Literal["paper", "released"] = Field(
        default="paper", description="Distance in the third term: j - i (paper) or i - j (released)."
    )
    norm: bool = Field(default=False, description="Apply a layer norm to the vectors of the table.")

    @model_validator(mode="after")
    def _spans_more_than_the_exact_rows(self) -> DeBERTaConfig:
        if self.buckets is not None and self.span <= self.buckets // 2 + 1:
            raise ValueError(
                "span must exceed half of buckets by more than 1; otherwise no row is left for farther distances"
            )
        return self

    @property
    def rows(self) -> int:
        """The number k, half of the table's rows."""
        return self.buckets or self.span

    def row(self, distance: int) -> int:
        """Return the row of a distance i - j."""
        if self.buckets is not None and abs(distance) > (exact := self.buckets // 2):
            share = math.log(abs(distance) / exact) / math.log((self.span - 1) / exact)
            # The small number keeps a logarithm that is an integer from being rounded up.
            apart = exact + math.ceil(share * (exact - 1) - 1e-9)
            distance = int(math.copysign(apart, distance))
        return min(max(distance + self.rows, 0), 2 * self.rows - 1)

    @override
    def parameter_count(self, shape: Shape) -> int:
        layers = sum(shape.layers(stack) for stack in self.stacks)
        tables = sum(min(1, shape.layers(stack)) for stack in self.stacks)
        table = 2 * self.rows * shape.dim + (2 * shape.dim if self.norm else 0)
        return tables * table + layers * (2 * shape.dim**2 + shape.dim)


class DistanceTable(nn.Module):
    """The table R of one stack, (2k, d)."""

    row_of: Tensor  # of the distances -n … n, beyond which rows do not change

    def __init__(self, config: DeBERTaConfig, dim: int) -> None:
        super().__init__()
        self.vectors = nn.Parameter(torch.empty(2 * config.rows, dim).normal_(std=_SPREAD))
        self.norm = nn.LayerNorm(dim) if config.norm else nn.Identity()
        self.farthest = config.span
        self.rows = [config.row(distance) for distance in range(-self.farthest, self.farthest + 1)]
        self.register_buffer("row_of", torch.tensor(self.rows), persistent=False)

    def products(self, x: Tensor, project: nn.Linear, apart: Tensor, nearest: int, farthest: int) -> Tensor:
        """Multiply tokens by the projected vectors of their distances.

        Args:
            x: Queries or keys, (B, H, L, d_h).
            project: W_K or W_Q.
            apart: Distances of each of these tokens to all others, (1 | B, L, L').
            nearest: The smallest distance that occurs.
            farthest: The largest distance that occurs.

        Returns:
            Products, (B, H, L, L').
        """
        nearest, farthest = (min(max(end, -self.farthest), self.farthest) for end in (nearest, farthest))
        first, last = self.rows[nearest + self.farthest], self.rows[farthest + self.farthest]
        # Rows ascend with the distance, so only a slice of the table is projected.
        projected = project(self.norm(self.vectors[first : last + 1])).view(last - first + 1, x.size(1), -1)
        products: Tensor = x @ projected.permute(1, 2, 0).to(x.dtype)  # (B, H, L, rows)
        rows = (self.row_of[apart.clamp(nearest, farthest) + self.farthest] - first)[:, None]  # (1 | B, 1, L, L')
        return products.gather(-1, rows.expand(*products.shape[:3], -1))


class DeBERTaAttention(AttentionEncoding):
    """The projections of one layer, and R."""

    needs = frozenset({"rotate", "scores"})
    additive = True

    def __init__(self, config: DeBERTaConfig, shape: Shape, stack: Stack, table: DistanceTable) -> None:
        super().__init__()
        self.mirrored = config.third_term == "paper"
        # A control meets tokens of any distance also in the decoder.
        self.causal = stack == "decoder" and config.places is None
        self.table = table
        self.project_key = nn.Linear(shape.dim, shape.dim, bias=False)
        self.project_query = nn.Linear(shape.dim, shape.dim)
        for linear in (self.project_key, self.project_query):
            nn.init.normal_(linear.weight, std=_SPREAD)
        nn.init.zeros_(self.project_query.bias)

    def rotate(self, queries: Tensor, keys: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        """Divide the scores by √3 in addition to the √d_h of the attention."""
        return queries * 3**-0.5, keys

    @override
    def scores(self, scores: Tensor, queries: Tensor, keys: Tensor, query: Positions, key: Positions) -> Tensor:
        farthest = max(query.limit, key.limit) - 1
        nearest = 0 if self.causal else -farthest  # of i - j
        apart = -distances(query, key)  # (1 | B, Lq, Lk)
        of_queries = self.table.products(queries * 3**-0.5, self.project_key, apart, nearest, farthest)
        ends = (-farthest, -nearest) if self.mirrored else (nearest, farthest)
        apart = (-apart if self.mirrored else apart).mT
        keys = keys * (3 * keys.size(-1)) ** -0.5
        return scores + of_queries + self.table.products(keys, self.project_query, apart, *ends).mT


@register(DeBERTaConfig)
class DeBERTa(PerLayer):
    """Acts inside every self-attention of the stacks where it is placed."""

    relative = True
    product = "own"

    def __init__(self, config: DeBERTaConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        for stack in config.stacks:
            table = DistanceTable(config, shape.dim)
            self.layers[stack] = nn.ModuleList(
                DeBERTaAttention(config, shape, stack, table) for _ in range(shape.layers(stack))
            )
