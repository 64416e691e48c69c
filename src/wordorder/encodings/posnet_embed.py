"""PosNet at the embeddings (PosNet-Embed).

    X + Dropout(ReLU(X W_1 ⊗ Φ) W_2),   [X ⊗ Φ]_i = x_i φ_i

    W_1 d × d_p,   Φ table × d_p × d_p,   W_2 d_p × d

Source: the PosNet paper (2023), equations 16 and 24, where the dropout is one of its own whose rate is not told.
One module serves both stacks and acts on the scaled embeddings after their dropout. The released script seems to have
trained with the encoder's alone: that is ``placement: encoder``.
Promises: absolute; stops with an error beyond its table; 2·d·d_p + table·d_p² parameters, whatever the placement.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from wordorder.dropout import Dropout
from wordorder.encodings.base import Encoding, EncodingConfig, Positions, Shape, Stack
from wordorder.encodings.kernels import PositionalKernels, xavier_normal
from wordorder.encodings.registry import register


class PosNetEmbedConfig(EncodingConfig):
    type: Literal["posnet_embed"] = "posnet_embed"
    kernel_dim: Annotated[
        int | None, Field(gt=0, description="d_p: size of the kernels; null means a quarter of the model size.")
    ] = None
    table: Annotated[int, Field(gt=0, description="Positions that have a kernel.")] = 200
    dropout: Annotated[float, Field(ge=0, lt=1, description="Independent of the model's own.")] = 0.1

    def inner(self, shape: Shape) -> int:
        """d_p: the paper's 128 at d = 512 and 256 at d = 1024, unless it is given."""
        return self.kernel_dim or max(1, shape.dim // 4)

    def parameter_count(self, shape: Shape) -> int:
        inner = self.inner(shape)
        return 2 * shape.dim * inner + self.table * inner**2


@register(PosNetEmbedConfig)
class PosNetEmbed(Encoding):
    """Moves each embedding by what the kernel of its position makes of it."""

    # The kernel is a position's own mark at the embeddings; added vectors are a special case of it (theorem 3.1), and
    # the paper has none beside it.
    absolute = True

    def __init__(self, config: PosNetEmbedConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        inner = config.inner(shape)
        self.project_in = xavier_normal(shape.dim, inner)
        self.kernels = PositionalKernels(config.type, config.table, inner, inner)
        self.project_out = xavier_normal(inner, shape.dim)
        self.dropout = Dropout(config.dropout)
        self.size = config.table

    def _transform_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        moved: Tensor = self.kernels(x @ self.project_in, positions)  # (B, L, d_p)
        dropped: Tensor = self.dropout(torch.relu(moved) @ self.project_out)
        return x + dropped

    def _limit(self, stack: Stack) -> int:
        return self.size
