"""Positional kernels: a separate matrix for every position (PosNet paper, 2023, sections 3.1 and 3.2).

    (a_i ⊕ V) Φ = Σ_j a_ij (v_j φ_j) = a_i (V ⊗ Φ)        [V ⊗ Φ]_i = v_i φ_i

Models compute the right side (equations 14-17). The left side, the weight concatenation (equations 10 and 11), is
included so that the two can be compared.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from wordorder.encodings.base import Positions
from wordorder.errors import WordorderError

Start = Annotated[
    Literal["per_matrix", "released"],
    Field(
        description="Start of the kernels: Xavier's variance per matrix, or, as in the released code, for the "
        "whole table as one tensor, which is many times smaller."
    ),
]


def positional_product(x: Tensor, kernels: Tensor, positions: Tensor) -> Tensor:
    """Compute X ⊗ Φ, equation 16: every vector times the matrix of its own position.

    If the sentences share their positions, this is one product of (B·…, d_1) by (d_1, d_2) per position.

    Args:
        x: Vectors, (B, …, L, d_1).
        kernels: Φ, (table, d_1, d_2).
        positions: Rows of Φ, (1 | B, L).

    Returns:
        Products, (B, …, L, d_2).
    """
    own = kernels.index_select(0, positions.flatten()).view(*positions.shape, *kernels.shape[1:])
    return torch.einsum("b...ld,blde->b...le", x, own)


def weight_concatenation(weights: Tensor, values: Tensor, projection: Tensor) -> Tensor:
    """Compute (a_i ⊕ V) Φ as in equations 10 and 11: concatenate the weighted values, then project once.

    For reference only, because it builds L·d_v numbers for every query.

    Args:
        weights: a, (…, Lq, L).
        values: V, (…, L, d_v).
        projection: Φ, (L·d_v, d_o).

    Returns:
        Sums, (…, Lq, d_o).
    """
    weighted = weights[..., None] * values[..., None, :, :]  # (…, Lq, L, d_v)
    return weighted.flatten(-2) @ projection


def xavier_normal(*shape: int) -> nn.Parameter:
    """Create matrices, (…, n, m), from a normal distribution of variance 2 / (n + m)."""
    return nn.Parameter(torch.empty(shape).normal_(std=(2 / (shape[-2] + shape[-1])) ** 0.5))


class PositionalKernels(nn.Module):
    """The kernels Φ, (table, d_1, d_2), of the encoding ``name``.

    For a tensor of three dimensions, PyTorch's Xavier initialisation takes d_1 · d_2 and table · d_2 as the numbers of
    inputs and outputs. Hence the released variance 2 / (d_2 (table + d_1)), which depends on the length of the table.
    """

    def __init__(self, name: str, table: int, inner: int, outer: int, start: Start = "per_matrix") -> None:
        super().__init__()
        self.name = name
        if start == "released":
            self.matrices = nn.Parameter(nn.init.xavier_normal_(torch.empty(table, inner, outer)))
        else:
            self.matrices = xavier_normal(table, inner, outer)

    def forward(self, x: Tensor, positions: Positions) -> Tensor:
        """Multiply every vector by the kernel of its position.

        Args:
            x: Vectors, (B, …, L, d_1).
            positions: Positions of the vectors.

        Returns:
            Products, (B, …, L, d_2).

        Raises:
            WordorderError: A position has no kernel.
        """
        table = len(self.matrices)
        if positions.limit > table:
            raise WordorderError(
                f"The encoding '{self.name}' has kernels for {table} positions, but a sentence needs "
                f"{positions.limit}. Raise 'table' of this encoding in encodings.yaml and train again, or shorten the "
                "sentence.",
                code="too-long",
                key="table",
                found=positions.limit,
                expected=table,
            )
        return positional_product(x, self.matrices, positions.absolute)
