"""PosNet at the embeddings (PosNet-Embed).

    X + Dropout(ReLU(X W_1 ⊗ Φ) W_2),   [X ⊗ Φ]_i = x_i φ_i

    W_1 d × d_p,   Φ table × d_p × d_p,   W_2 d_p × d

Source: the PosNet paper (2023), equations 16 and 24, with a separate dropout, whose rate the paper does not give. One
module serves both stacks and acts on the scaled embeddings after their dropout.
Start: W_1, W_2 and each φ from a normal distribution of Xavier's variance, 2 / (rows + columns).
Promises: absolute; stops with an error beyond its table; 2·d·d_p + table·d_p² parameters, whatever the placement.
Departures: the released code starts Φ as one tensor, with the standard deviation √(2 / (d_p (table + d_p))). For 512
kernels of 128 × 128, this is 0.0049, and ours is 0.088. Its script trains with 512 kernels, without dropout and with
positions only in the encoder: ``start: released``, ``table: 512``, ``dropout: 0``, ``placement: encoder``. The default
of 200 kernels gives the number of parameters that the paper prints. The released code also counts positions from the
left end of a left-padded batch, so that the kernels of a sentence depend on its neighbours. Here positions count from
the first token of the sentence.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor
from typing_extensions import override

from wordorder.config.encodings import ControllableConfig
from wordorder.dropout import Dropout
from wordorder.encodings.base import Encoding, Positions, Shape, Stack
from wordorder.encodings.kernels import PositionalKernels, Start, xavier_normal
from wordorder.encodings.registry import register


class PosNetEmbedConfig(ControllableConfig):
    """Parameters of an entry with ``type: posnet_embed``."""

    type: Literal["posnet_embed"] = "posnet_embed"
    kernel_dim: Annotated[
        int | None, Field(gt=0, description="d_p, the size of the kernels; null means a quarter of the model size.")
    ] = None
    table: Annotated[int, Field(gt=0, description="Number of positions with a kernel.")] = 200
    dropout: Annotated[
        float, Field(ge=0, lt=1, description="Dropout of this encoding, independent of the model's.")
    ] = 0.1
    start: Start = "per_matrix"

    def inner(self, shape: Shape) -> int:
        """Return d_p: the given size, or a quarter of d, as in the paper (128 at d = 512 and 256 at d = 1024)."""
        return self.kernel_dim or max(1, shape.dim // 4)

    @override
    def parameter_count(self, shape: Shape) -> int:
        inner = self.inner(shape)
        return 2 * shape.dim * inner + self.table * inner**2


@register(PosNetEmbedConfig)
class PosNetEmbed(Encoding):
    """Adds to each embedding its transformation by the kernel of its position."""

    # A kernel marks each position at the embeddings. Added vectors are a special case (theorem 3.1), and the paper
    # adds none.
    absolute = True

    def __init__(self, config: PosNetEmbedConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        inner = config.inner(shape)
        self.project_in = xavier_normal(shape.dim, inner)
        self.kernels = PositionalKernels(config.type, config.table, inner, inner, config.start)
        self.project_out = xavier_normal(inner, shape.dim)
        self.dropout = Dropout(config.dropout)
        self.size = config.table

    def _transform_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        moved: Tensor = self.kernels(x @ self.project_in, positions)  # (B, L, d_p)
        dropped: Tensor = self.dropout(torch.relu(moved) @ self.project_out)
        return x + dropped

    def _limit(self, stack: Stack) -> int:
        return self.size
