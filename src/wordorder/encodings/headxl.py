"""Cross-lingual positions in some heads of the first self-attention (HeadXL).

    heads 1 … τ      queries, keys and values from X + PE_XL
    heads τ + 1 … H  queries, keys and values from X + PE_abs

In training, the dropout of the embeddings drops the same numbers from both sums.
Source: "Self-Attention with Cross-Lingual Position Representation" (2020), equations 9-11; τ = 4 (section 4.1), which
is the default of models with 16 heads: a quarter of them. With ``fusion``, PE_XL is InXL's tanh(PE_abs U + PE_XL V):
the paper's combination of both.
Promises: absolute; works at any length; no parameters without a fusion. At τ = 0 it equals the sinusoidal encoding,
because the residual connection carries X + PE_abs. The decoder has plain sinusoids.
Departures: none known. The paper does not say where dropout and the residual connection are.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from torch import Tensor
from typing_extensions import override

from wordorder.dropout import Drop
from wordorder.encodings.base import AttentionEncoding, Positions, Shape, Stack
from wordorder.encodings.crosslingual import CrossLingualConfig, CrossLingualEncoding, CrossLingualFusion, Fusion
from wordorder.encodings.registry import register
from wordorder.errors import WordorderError


class HeadXLConfig(CrossLingualConfig):
    """Parameters of an entry with ``type: headxl``."""

    type: Literal["headxl"] = "headxl"
    tau: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="Number of heads with cross-lingual positions; by default a quarter, at least 1."
    )
    fusion: Fusion | None = Field(default=None, description="Fusion of both positions as in InXL; null for none.")

    @override
    def parameter_count(self, shape: Shape) -> int:
        return CrossLingualFusion.parameter_count(shape.dim, self.fusion) if self.fusion else 0


class HeadXLAttention(AttentionEncoding):
    """Gives the first τ heads of the first layer their own input."""

    needs = frozenset({"head_inputs"})

    def __init__(self, encoding: HeadXL, tau: int, heads: int) -> None:
        super().__init__()
        self._encoding = [encoding]  # A list, so that the encoding does not become its own submodule.
        self.tau, self.heads = tau, heads

    @override
    def head_inputs(self, x: Tensor, positions: Positions, drop: Drop) -> list[tuple[int, Tensor]] | None:
        cross_lingual = x + drop(self._encoding[0].exchange(positions).to(x.dtype))
        groups = [(self.tau, cross_lingual), (self.heads - self.tau, x)]
        return [(count, own) for count, own in groups if count]


@register(HeadXLConfig)
class HeadXL(CrossLingualEncoding):
    """Adds the sinusoid to the embeddings, and replaces it by PE_XL in τ heads of the encoder's first layer."""

    def __init__(self, config: HeadXLConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        tau = config.tau if config.tau is not None else max(1, shape.heads // 4)
        if tau > shape.heads:
            raise WordorderError(
                f"The encoding 'headxl' has tau = {tau}, more than the {shape.heads} heads of the size. Give a tau "
                f"from 0 to {shape.heads}.",
                code="out-of-range",
                key="tau",
                found=tau,
                expected=shape.heads,
            )
        self.fuse = CrossLingualFusion(shape.dim, config.fusion) if config.fusion else None
        self.first_layer = HeadXLAttention(self, tau, shape.heads)

    def exchange(self, positions: Positions) -> Tensor:
        """Compute PE_XL - PE_abs, (B, L, d)."""
        absolute, reordered = self._absolute(positions), self._reordered(positions)
        if self.fuse is not None:
            reordered = self.fuse(absolute, reordered)
        return reordered - absolute

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return self.first_layer if (stack, layer) == ("encoder", 0) else self._nothing
