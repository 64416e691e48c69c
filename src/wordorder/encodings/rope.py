"""Rotary positions (RoPE).

    q_i, k_j  ->  R_i q_i, R_j k_j,   so that  (R_i q_i) · (R_j k_j) = q_i · R_(j-i) k_j
    R_p turns the pair m of a head by the angle p · base^(-2m/d_h),   m = 0 … d_h/2 - 1

Source: Su et al. 2021 (RoFormer), equations 13-16. The pair m is (2m, 2m + 1) with ``layout: interleaved``, as printed,
and (m, m + d_h/2) with ``layout: half``, as in GPT-NeoX and Llama: a fixed permutation of the rows of W_Q and W_K,
which a trained projection does not notice.
Departures: none.
Promises: relative; works at any length; no parameters.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from wordorder.encodings.base import AttentionEncoding, Encoding, EncodingConfig, Positions, Shape, Stack
from wordorder.encodings.registry import register
from wordorder.errors import WordorderError


class RoPEConfig(EncodingConfig):
    type: Literal["rope"] = "rope"
    base: Annotated[float, Field(gt=1)] = 10000.0
    layout: Annotated[
        Literal["half", "interleaved"], Field(description="Pairs of a head: (m, m + d_h/2), or neighbours.")
    ] = "half"


class RoPEAttention(AttentionEncoding):
    """The rotations, shared by heads and layers; the table of cosines and sines grows on demand."""

    needs = frozenset({"rotate"})
    _table: Tensor

    def __init__(self, head_dim: int, base: float, *, interleaved: bool = False) -> None:
        super().__init__()
        self.interleaved = interleaved
        self._frequencies = base ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
        self.register_buffer("_table", self._turns(256), persistent=False)

    def _turns(self, length: int) -> Tensor:
        """Cosine and sine of every angle, in double precision until the end: (2, length, d_h/2)"""
        angles = torch.arange(length)[:, None] * self._frequencies
        return torch.stack((angles.cos(), angles.sin())).float()

    def rotate(self, queries: Tensor, keys: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        if positions.limit > self._table.size(1):
            self._table = self._turns(2 * positions.limit).to(self._table)
        cosine, sine = self._table[:, positions.absolute].unsqueeze(2).to(queries.dtype)  # (1 | B, 1, L, d_h/2) each
        return self._turn(queries, cosine, sine), self._turn(keys, cosine, sine)

    def _turn(self, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        first, second = (x[..., 0::2], x[..., 1::2]) if self.interleaved else x.chunk(2, dim=-1)
        turned = first * cosine - second * sine, second * cosine + first * sine
        return torch.stack(turned, dim=-1).flatten(-2) if self.interleaved else torch.cat(turned, dim=-1)


@register(RoPEConfig)
class RoPE(Encoding):
    """Acts inside every self-attention of the stacks where it is placed."""

    relative = True

    def __init__(self, config: RoPEConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        if shape.head_dim % 2:
            raise WordorderError(
                "The encoding 'rope' needs heads of an even size, because it turns pairs of numbers, but the size's "
                f"dim {shape.dim} and {shape.heads} heads make {shape.head_dim}. Choose another dim or number of "
                "heads in sizes.yaml.",
                code="unfit-size",
                key="heads",
                found=shape.head_dim,
            )
        self.rotations = RoPEAttention(shape.head_dim, config.base, interleaved=config.layout == "interleaved")

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return self.rotations
