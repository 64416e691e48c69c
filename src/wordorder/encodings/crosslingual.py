"""Cross-lingual positions: the shared parts of InXL and HeadXL.

Source: "Self-Attention with Cross-Lingual Position Representation" (2020), equations 6 and 7.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from typing_extensions import override

from wordorder.encodings.base import EncodingConfig, Positions, Shape, Stack
from wordorder.encodings.sinusoidal import frequencies
from wordorder.encodings.waves import WaveEncoding
from wordorder.errors import WordorderError

Fusion = Literal["full", "diagonal", "sum"]


class CrossLingualFusion(nn.Module):
    """The fusion tanh(PE_abs U + PE_XL V), equation 7.

    U and V are d × d matrices; with ``diagonal``, they have one factor per dimension. ``sum`` is PE_abs + PE_XL,
    without parameters, which the paper tried first.
    """

    def __init__(self, dim: int, fusion: Fusion) -> None:
        super().__init__()
        self.fusion = fusion
        if fusion == "full":
            self.absolute = nn.Parameter(nn.init.xavier_uniform_(torch.empty(dim, dim)))
            self.reordered = nn.Parameter(nn.init.xavier_uniform_(torch.empty(dim, dim)))
        elif fusion == "diagonal":
            # One half each, so that the start value is the mean of both positions.
            self.absolute = nn.Parameter(torch.full((dim,), 0.5))
            self.reordered = nn.Parameter(torch.full((dim,), 0.5))

    def forward(self, absolute: Tensor, reordered: Tensor) -> Tensor:
        """Fuse absolute and reordered positions.

        Args:
            absolute: PE_abs, (1 | B, L, d).
            reordered: PE_XL, (1 | B, L, d).

        Returns:
            Fused positions, (B, L, d).
        """
        if self.fusion == "full":
            return torch.tanh(absolute @ self.absolute + reordered @ self.reordered)
        if self.fusion == "sum":
            return absolute + reordered
        return torch.tanh(absolute * self.absolute + reordered * self.reordered)

    @staticmethod
    def parameter_count(dim: int, fusion: Fusion) -> int:
        """Count the parameters of a fusion."""
        return {"full": 2 * dim * dim, "diagonal": 2 * dim, "sum": 0}[fusion]


class CrossLingualConfig(EncodingConfig):
    """Parameters of cross-lingual encodings.

    The decoder has no reordered positions. With ``both``, it uses the sinusoid only.
    """

    placement: Literal["both", "encoder"] = Field(
        default="both", description="Stacks in which the encoding acts; the decoder has sinusoids."
    )

    @property
    @override
    def needs_reordered(self) -> bool:
        return True


class CrossLingualEncoding(WaveEncoding):
    """Sinusoids of the absolute positions and of the reordered ones."""

    one_by_one = True

    def __init__(self, config: CrossLingualConfig, shape: Shape) -> None:
        super().__init__(config, shape, frequencies(shape.dim))

    def _absolute(self, positions: Positions) -> Tensor:
        """Return PE_abs, (1 | B, L, d)."""
        return self._vectors(positions.absolute, positions.limit)

    def _reordered(self, positions: Positions) -> Tensor:
        """Return PE_XL, (B, L, d)."""
        if positions.reordered is None:
            raise WordorderError(
                f"The encoding '{self.config.type}' needs the position that each source word takes in target order, "
                "but the sentences come without it. Provide reordered positions ('wordorder stage positions --help').",
                code="missing-positions",
                key=self.config.type,
            )
        return self._vectors(positions.reordered, positions.limit)

    def _table(self, length: int, stack: Stack) -> Tensor | None:
        return super()._table(length, stack) if stack == "decoder" else None
