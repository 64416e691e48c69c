"""Relative positions of Transformer-XL.

    e_ij = ((q_i + u) · k_j + (q_i + v) · W_R R(i - j)) / √d_h
    R(r) = (sin(r w_0), …, sin(r w_(d/2 - 1)), cos(r w_0), …, cos(r w_(d/2 - 1))),   w_m = 10000^(-2m/d)

u and v are learned vectors of each head. W_R is a learned d × d matrix, of which each head uses d_h rows.

Source: Dai et al. 2019 (Transformer-XL), section 3.3; sines before cosines as in the released code. The paper describes
decoders only. Our encoder uses R(i - j) of both signs, as speech encoders do (Conformer, Gulati et al. 2020).
Promises: relative; works at any length; d² parameters per layer for W_R, and 2d for u and v per stack, or with
``share_biases: false`` per layer.
Departures: the released code applies dropout to R, and its projections of queries and keys have no biases.
Start values: u, v and W_R from N(0, 0.02²), as in the released code.

R is projected once per distance, not once per pair of tokens; the products with the queries are then looked up.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from typing_extensions import override

from wordorder.encodings.base import AttentionEncoding, EncodingConfig, Positions, ScoreFunction, Shape, Stack
from wordorder.encodings.layers import PerLayer
from wordorder.encodings.lookup import distances
from wordorder.encodings.registry import register
from wordorder.encodings.sinusoidal import frequencies
from wordorder.errors import WordorderError


class TransformerXLConfig(EncodingConfig):
    """Parameters of an entry with ``type: transformer_xl``."""

    type: Literal["transformer_xl"] = "transformer_xl"
    share_biases: bool = Field(default=True, description="Use one u and one v for all layers of a stack.")

    @override
    def parameter_count(self, shape: Shape) -> int:
        layers = [shape.layers(stack) for stack in self.stacks]
        pairs = sum(min(1, number) if self.share_biases else number for number in layers)
        return sum(layers) * shape.dim**2 + pairs * 2 * shape.dim


class DistanceWaves(nn.Module):
    """The table R, which grows on demand and is not saved."""

    _table: Tensor  # rows of the distances -n … n

    def __init__(self, dim: int) -> None:
        super().__init__()
        self._frequencies = frequencies(dim)
        self.register_buffer("_table", self._waves(256), persistent=False)

    def _waves(self, farthest: int) -> Tensor:
        angles = torch.arange(-farthest, farthest + 1)[:, None] * self._frequencies
        return torch.cat((angles.sin(), angles.cos()), dim=1).float()

    def forward(self, apart: Tensor, farthest: int) -> Tensor:
        """Look up the vectors of distances.

        Args:
            apart: Distances, (…) int64.
            farthest: An upper bound of the distances.

        Returns:
            The vectors, (…, d).
        """
        if farthest > len(self._table) // 2:
            self._table = self._waves(2 * farthest).to(self._table)
        return self._table[apart + len(self._table) // 2]


class TransformerXLAttention(AttentionEncoding):
    """One layer: its own W_R, and u, v (H, d_h each) and R.

    Args:
        shape: The shape of the model.
        stack: The stack of the layer; in the decoder no key is later than the query.
        biases: u and v.
        waves: R.
    """

    needs = frozenset({"rotate", "scores"})
    pairwise = additive = True

    def __init__(self, shape: Shape, stack: Stack, biases: list[nn.Parameter], waves: DistanceWaves) -> None:
        super().__init__()
        self.both_sides = stack == "encoder"
        self.content_bias, self.position_bias = biases
        self.waves = waves
        self.project = nn.Linear(shape.dim, shape.dim, bias=False)
        nn.init.normal_(self.project.weight, std=0.02)

    def rotate(self, queries: Tensor, keys: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        """Add u to the queries that meet the keys."""
        return queries + self.content_bias[:, None].to(queries.dtype), keys

    @override
    def scores(self, scores: Tensor, queries: Tensor, keys: Tensor, query: Positions, key: Positions) -> Tensor:
        apart, farthest, rows = self.distances(query, key)
        return scores + self.products(queries, apart, farthest).gather(-1, rows[:, None].expand(scores.shape))

    @override
    def score_function(self, queries: Tensor, query: Positions, key: Positions) -> ScoreFunction:
        apart, farthest, rows = self.distances(query, key)
        products, rows = self.products(queries, apart, farthest), rows.expand(len(queries), -1, -1)

        def score(value: Tensor, sentence: Tensor, head: Tensor, row: Tensor, column: Tensor) -> Tensor:
            return value + products[sentence, head, row, rows[sentence, row, column]]

        return score

    def products(self, queries: Tensor, apart: Tensor, farthest: int) -> Tensor:
        """Multiply queries by the vectors of distances.

        Args:
            queries: Queries divided by √d_h, (B, H, Lq, d_h).
            apart: Distances i - j, (1 | B, n) int64.
            farthest: An upper bound of the distances.

        Returns:
            (q_i + v) · W_R R / √d_h, (B, H, Lq, n).
        """
        heads, size = self.position_bias.shape
        projected = self.project(self.waves(apart, farthest)).view(*apart.shape, heads, size)  # (1 | B, n, H, d_h)
        own = queries + (self.position_bias[:, None] * size**-0.5).to(queries.dtype)  # (B, H, Lq, d_h)
        products: Tensor = own @ projected.permute(0, 2, 3, 1).to(queries.dtype)
        return products

    def distances(self, query: Positions, key: Positions) -> tuple[Tensor, int, Tensor]:
        """Find the possible distances i - j of tokens.

        Args:
            query: Positions of the queries.
            key: Positions of the keys.

        Returns:
            The distances, (1 | B, n); an upper bound of them; the index of each pair of tokens among them, (1 | B, Lq,
            Lk).
        """
        farthest = max(query.limit, key.limit) - 1
        nearest = -farthest if self.both_sides else 0
        apart = torch.arange(nearest, farthest + 1, device=query.absolute.device)[None]
        return apart, farthest, -distances(query, key).clamp(max=-nearest) - nearest


@register(TransformerXLConfig)
class TransformerXL(PerLayer):
    """Acts inside every self-attention of the stacks where it is placed."""

    relative = True
    product = "own"

    def __init__(self, config: TransformerXLConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        if shape.dim % 2:
            raise WordorderError(
                "The encoding 'transformer_xl' needs an even model size, because R is made of sine-cosine pairs, "
                f"but the size's dim is {shape.dim}. Choose an even dim in sizes.yaml.",
                code="unfit-size",
                key="dim",
                found=shape.dim,
            )
        waves = DistanceWaves(shape.dim)
        for stack in config.stacks:
            layers = shape.layers(stack)
            biases = [self._biases(shape) for _ in range(min(1, layers) if config.share_biases else layers)]
            self.layers[stack] = nn.ModuleList(
                TransformerXLAttention(shape, stack, biases[0 if config.share_biases else layer], waves)
                for layer in range(layers)
            )

    @staticmethod
    def _biases(shape: Shape) -> list[nn.Parameter]:
        return [nn.Parameter(torch.empty(shape.heads, shape.head_dim).normal_(std=0.02)) for _ in range(2)]
