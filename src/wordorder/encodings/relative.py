"""Relative positions of Shaw et al. (RPE, RPR).

    e_ij = x_i W_Q (x_j W_K + a^K_ij)ᵀ / √d_h
    z_i  = Σ_j α_ij (x_j W_V + a^V_ij),         a_ij = w_clip(j - i, -k, k)

Source: Shaw et al. 2018, equations 3 and 4. Keys and values can each be switched off.
Start: uniform within Glorot's bound of a (2k + 1) × d_h matrix, as in tensor2tensor, independent of the number of heads
and of missing rows.
Departures: rows of distances that a causal mask hides are not stored, so the decoder has k fewer than tensor2tensor.
Promises: relative, so a shift of all positions changes nothing; works at any length (distances beyond k share one
vector); 2k + 1 vectors of d_h for keys and for values, per layer unless the layers of a stack share them, and per head
unless heads share them. In the decoder only the k + 1 vectors of distances -k … 0 exist, since later keys are never
seen; a control takes that of -|j - i|.

With ``cross``, the same formula acts between target position i and source position j instead of inside self-attention;
there all 2k + 1 distances occur. A model without encoder layers has no other hook for relative positions of the source
(the cross-lingual paper's Table 4).

No tensor of Lq × Lk × d_h is ever built. Queries are multiplied by the few distinct vectors first, and the products are
then spread over the keys. Weights are summed by distance before they are multiplied by the vectors of the value side.
"""

from __future__ import annotations

from typing import Annotated, Literal, cast

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from typing_extensions import override

from wordorder.config.encodings import ControllableConfig
from wordorder.encodings.base import (
    AttentionEncoding,
    Encoding,
    Place,
    Positions,
    ScoreFunction,
    Shape,
    Stack,
    of_pairs,
)
from wordorder.encodings.lookup import distances
from wordorder.encodings.registry import register


class RelativeConfig(ControllableConfig):
    """Parameters of an entry with ``type: relative``."""

    revision = 2
    control_revision = 2  # From 2, distances to later places are not 0 in the decoder.
    type: Literal["relative"] = "relative"
    clip: Annotated[int, Field(gt=0, description="k, the largest distance with its own vector.")] = 16
    keys: bool = Field(default=True, description="Add vectors to the keys.")
    values: bool = Field(default=True, description="Add vectors to the values.")
    share_heads: bool = Field(default=True, description="Use one set of vectors for all heads of a layer.")
    share_layers: bool = Field(default=False, description="Use one set of vectors for all layers of a stack.")
    cross: bool = Field(default=False, description="Act between target and source, instead of inside self-attention.")

    @model_validator(mode="after")
    def _does_something(self) -> RelativeConfig:
        if not (self.keys or self.values):
            raise ValueError("keys or values must be true; otherwise the encoding does nothing")
        if self.cross and self.placement == "encoder":
            raise ValueError("'cross: true' acts in the decoder, but its placement is 'encoder'; leave placement out")
        return self

    @property
    def stacks(self) -> tuple[Stack, ...]:
        """The stacks in which the encoding acts. Attention to the source belongs to the layers of the decoder."""
        return ("decoder",) if self.cross else super().stacks

    def distances(self, stack: Stack) -> int:
        """Count the distances with a vector: -k … k, in the decoder's self-attention -k … 0."""
        return self.clip + 1 if stack == "decoder" and not self.cross else 2 * self.clip + 1

    def tables(self, stack: Stack, shape: Shape) -> int:
        """Count the sets of vectors of a stack."""
        return min(1, shape.layers(stack)) if self.share_layers else shape.layers(stack)

    @override
    def parameter_count(self, shape: Shape) -> int:
        vectors = sum(self.distances(stack) * self.tables(stack, shape) for stack in self.stacks)
        return vectors * shape.head_dim * (1 if self.share_heads else shape.heads) * (self.keys + self.values)


class RelativeAttention(AttentionEncoding):
    """The vectors of one layer: ``keys`` and ``values`` are (1 | H, distances, d_h) or None."""

    needs = frozenset({"scores", "context"})
    pairwise = additive = True

    def __init__(self, config: RelativeConfig, shape: Shape, stack: Stack) -> None:
        super().__init__()
        sides: dict[Place, bool] = {"scores": config.keys, "context": config.values}
        self.needs = frozenset(place for place, used in sides.items() if used)
        self.clip = config.clip
        self.ahead = config.distances(stack) - 1 - config.clip  # the farthest key after the query: 0 or k
        # The place of an earlier token, which is that of a control, may be after the query's.
        self.folded = config.places is not None and self.ahead == 0
        heads = 1 if config.share_heads else shape.heads
        count = config.distances(stack)
        self.key_vectors = self._vectors(heads, count, shape.head_dim) if config.keys else None
        self.value_vectors = self._vectors(heads, count, shape.head_dim) if config.values else None

    def _vectors(self, heads: int, distances: int, head_dim: int) -> nn.Parameter:
        bound = (6 / (2 * self.clip + 1 + head_dim)) ** 0.5
        return nn.Parameter(torch.empty(heads, distances, head_dim).uniform_(-bound, bound))

    def _rows(self, query: Positions, key: Positions, heads: int) -> Tensor:
        """Find the row of every pair's distance, (1 | B, H, Lq, Lk) int64."""
        return self._row(query, key)[:, None].expand(-1, heads, -1, -1)

    def _row(self, query: Positions, key: Positions) -> Tensor:
        """Return the row of the distance of each pair, (1 | B, Lq, Lk) int64."""
        return of_pairs(query, key, ("row", self.clip, self.ahead), lambda: self._of(distances(query, key)))

    def _of(self, apart: Tensor) -> Tensor:
        """Return the rows of distances j - i."""
        return (-apart.abs() if self.folded else apart).clamp(-self.clip, self.ahead) + self.clip

    def _one_hot(self, query: Positions, key: Positions, kind: torch.dtype) -> Tensor:
        """Return 1 at the row of the distance of each pair and 0 elsewhere, (1 | B, Lq, Lk, distances).

        Products with it look numbers up and sum them by distance, as gather and scatter-add do, but always in the same
        order.
        """

        def compute() -> Tensor:
            rows = self._row(query, key)[..., None]
            return (rows == torch.arange(self.clip + self.ahead + 1, device=rows.device)).to(kind)

        return of_pairs(query, key, ("one-hot", self.clip, self.ahead, kind), compute)

    @override
    def scores(self, scores: Tensor, queries: Tensor, keys: Tensor, query: Positions, key: Positions) -> Tensor:
        if self.key_vectors is None:
            return scores
        products = queries @ self.key_vectors.transpose(-1, -2).to(queries.dtype)  # (B, H, Lq, distances)
        if scores.device.type != "cpu":
            one_hot = self._one_hot(query, key, products.dtype)
            return scores + torch.einsum("bhqd,bqkd->bhqk", products, one_hot)
        rows = self._rows(query, key, scores.size(1)).expand(scores.size(0), -1, -1, -1)
        return scores + products.gather(-1, rows)

    @override
    def score_function(self, queries: Tensor, query: Positions, key: Positions) -> ScoreFunction | None:
        if self.key_vectors is None:
            return None
        products = queries @ self.key_vectors.transpose(-1, -2).to(queries.dtype)  # (B, H, Lq, distances)
        sentences = len(queries)
        rows, columns = query.absolute.expand(sentences, -1), key.absolute.expand(sentences, -1)

        def score(value: Tensor, sentence: Tensor, head: Tensor, row: Tensor, column: Tensor) -> Tensor:
            apart = columns[sentence, column] - rows[sentence, row]
            return value + products[sentence, head, row, self._of(apart)]

        return score

    @override
    def context(self, context: Tensor, weights: Tensor, query: Positions, key: Positions) -> Tensor:
        if self.value_vectors is None:
            return context
        if weights.device.type != "cpu":
            sums = torch.einsum("bhqk,bqkd->bhqd", weights, self._one_hot(query, key, weights.dtype))
        else:
            rows = self._rows(query, key, weights.size(1)).expand(weights.size(0), -1, -1, -1)
            sums = weights.new_zeros((*weights.shape[:-1], self.value_vectors.size(1)))
            sums = sums.scatter_add(-1, rows, weights)  # (B, H, Lq, distances)
        return context + sums @ self.value_vectors.to(weights.dtype)


@register(RelativeConfig)
class Relative(Encoding):
    """Acts inside every self-attention of the stacks where it is placed, or between target and source."""

    relative = True

    def __init__(self, config: RelativeConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self.cross, self.share_layers = config.cross, config.share_layers
        self.layers = nn.ModuleDict(
            {
                stack: nn.ModuleList(
                    RelativeAttention(config, shape, stack) for _ in range(config.tables(stack, shape))
                )
                for stack in config.stacks
            }
        )

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return self._nothing if self.cross else self._vectors(stack, layer)

    def _cross_attention(self, layer: int) -> AttentionEncoding:
        return self._vectors("decoder", layer) if self.cross else self._nothing

    def _vectors(self, stack: Stack, layer: int) -> AttentionEncoding:
        return cast(AttentionEncoding, cast(nn.ModuleList, self.layers[stack])[0 if self.share_layers else layer])
