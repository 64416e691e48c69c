"""PosNet inside the attention (PosNet-Attn).

    o_i = Σ_j a_ij (v_j + Dropout(ReLU(v_j φ_j)))        Φ: table × d_h × d_h

Source: the PosNet paper (2023), equations 20 and 23, with a separate dropout, whose rate the paper does not give. All
heads and layers of both stacks share one Φ; with 250 positions it has the paper's number of parameters.
Start: each φ from a normal distribution of variance 1 / d_h; ``start: released`` is PosNet-Embed's released start.
Promises: not relative; stops with an error beyond its table; table·d_h² parameters, whatever the placement.
Departures: none known; the released code contains only PosNet-Embed.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor
from typing_extensions import override

from wordorder.config.encodings import ControllableConfig
from wordorder.dropout import Dropout
from wordorder.encodings.base import AttentionEncoding, Encoding, Positions, Shape, Stack
from wordorder.encodings.kernels import PositionalKernels, Start
from wordorder.encodings.registry import register


class PosNetAttentionConfig(ControllableConfig):
    """Parameters of an entry with ``type: posnet_attention``."""

    type: Literal["posnet_attention"] = "posnet_attention"
    table: Annotated[int, Field(gt=0, description="Number of positions with a kernel.")] = 250
    dropout: Annotated[
        float, Field(ge=0, lt=1, description="Dropout of this encoding, independent of the model's.")
    ] = 0.1
    start: Start = "per_matrix"

    @override
    def parameter_count(self, shape: Shape) -> int:
        return self.table * shape.head_dim**2


class PosNetValues(AttentionEncoding):
    """Adds to each value its transformation by the kernel of its position."""

    needs = frozenset({"values"})

    def __init__(self, config: PosNetAttentionConfig, head_dim: int) -> None:
        super().__init__()
        self.kernels = PositionalKernels(config.type, config.table, head_dim, head_dim, config.start)
        self.dropout = Dropout(config.dropout)

    @override
    def values(self, values: Tensor, positions: Positions) -> Tensor:
        moved: Tensor = self.dropout(torch.relu(self.kernels(values, positions)))
        return values + moved


@register(PosNetAttentionConfig)
class PosNetAttention(Encoding):
    """Acts inside every self-attention of the stacks where it is placed."""

    def __init__(self, config: PosNetAttentionConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self.inside = PosNetValues(config, shape.head_dim)
        self.size = config.table

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return self.inside

    def _limit(self, stack: Stack) -> int:
        return self.size
