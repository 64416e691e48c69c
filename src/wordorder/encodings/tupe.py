"""Untied positional encoding (TUPE): positions correlate with positions, and words with words.

    e_ij = q_i · k_j / √(2 d_h) + (LN(p_i) U_Q) · (LN(p_j) U_K) / √(2 d_h)                 TUPE-A
    e_ij = the same + t_h[bucket(j - i)]                                                   TUPE-R, ``relative: true``

p_i is row i of a learned table. Content and positions have separate projections, and their sum is never projected. U_Q
and U_K have biases, and each head uses its own d_h columns of them.

Source: Ke, He and Liu 2021, section 3.1; layer norm, biases and start values are those of the released code. All layers
of a stack share one table, U_Q and U_K.
Promises: not relative; stops with an error beyond its table; table · d + 2 (d² + d) + 2 d parameters per stack, and
buckets · H more with ``relative``, whose buckets are those of T5.
Departures: the position of the first token is not reset (section 3.2), because a translation model has no [CLS] token.
The paper describes encoders only; the decoder has separate parameters, and in TUPE-R T5's buckets of a decoder.
Start values: all weights from a normal distribution with standard deviation 0.02, biases 0, the layer norm 1 and 0.
"""

from __future__ import annotations

from typing import Annotated, Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from typing_extensions import override

from wordorder.encodings.base import AttentionEncoding, Encoding, EncodingConfig, Positions, Shape, Stack
from wordorder.encodings.lookup import refuse_beyond
from wordorder.encodings.registry import register
from wordorder.encodings.t5 import T5Attention, T5Config

_SPREAD = 0.02  # standard deviation of a new weight


class TUPEConfig(EncodingConfig):
    """Parameters of an entry with ``type: tupe``."""

    type: Literal["tupe"] = "tupe"
    table: Annotated[int, Field(gt=0, description="Number of positions in each table.")] = 1024
    relative: bool = Field(default=False, description="Add one learned number per head for each of T5's buckets.")

    @property
    def buckets(self) -> T5Config:
        """The configuration of T5's buckets."""
        return T5Config()

    @override
    def parameter_count(self, shape: Shape) -> int:
        own = self.table * shape.dim + 2 * (shape.dim**2 + shape.dim) + 2 * shape.dim
        return len(self.stacks) * (own + (self.buckets.buckets * shape.heads if self.relative else 0))


class TUPEAttention(AttentionEncoding):
    """The table of one stack, (table, d), and its projections."""

    needs = frozenset({"rotate", "bias"})

    def __init__(self, config: TUPEConfig, shape: Shape, stack: Stack) -> None:
        super().__init__()
        self.heads = shape.heads
        self.scale = (2 * shape.head_dim) ** -0.5
        self.table = nn.Parameter(torch.empty(config.table, shape.dim).normal_(std=_SPREAD))
        self.norm = nn.LayerNorm(shape.dim)
        self.project_query = nn.Linear(shape.dim, shape.dim)
        self.project_key = nn.Linear(shape.dim, shape.dim)
        for linear in (self.project_query, self.project_key):
            nn.init.normal_(linear.weight, std=_SPREAD)
            nn.init.zeros_(linear.bias)
        self.buckets = T5Attention(config.buckets, shape, stack) if config.relative else None
        if self.buckets is not None:
            nn.init.normal_(self.buckets.table, std=_SPREAD)

    def rotate(self, queries: Tensor, keys: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        """Divide the scores by √2 in addition to the √d_h of the attention."""
        return queries * 0.5**0.5, keys

    @override
    def bias(self, query: Positions, key: Positions) -> Tensor:
        rows, columns = self._project(self.project_query, query), self._project(self.project_key, key)
        untied: Tensor = self.scale * rows @ columns.mT  # (1 | B, H, Lq, Lk)
        return untied if self.buckets is None else untied + self.buckets.bias(query, key)

    def _project(self, project: nn.Linear, positions: Positions) -> Tensor:
        """Project the vectors of positions, from (1 | B, L) to (1 | B, H, L, d_h)."""
        refuse_beyond("tupe", len(self.table), positions.limit)
        projected: Tensor = project(self.norm(nn.functional.embedding(positions.absolute, self.table)))
        return projected.view(*projected.shape[:2], self.heads, -1).transpose(1, 2)


@register(TUPEConfig)
class TUPE(Encoding):
    """Acts inside every self-attention of the stacks where it is placed."""

    product = "scaled"

    def __init__(self, config: TUPEConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self.size = config.table
        self.attentions = nn.ModuleDict({stack: TUPEAttention(config, shape, stack) for stack in config.stacks})

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return cast(AttentionEncoding, self.attentions[stack])

    def _limit(self, stack: Stack) -> int:
        return self.size
