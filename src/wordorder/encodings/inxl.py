"""Cross-lingual positions at the embeddings (InXL).

    X + tanh(PE_abs U + PE_XL V)

PE_abs are the sinusoids of the source positions. PE_XL are those of the positions that the words take in target order.
Source: "Self-Attention with Cross-Lingual Position Representation" (2020), equations 6-8. Full matrices U and V follow
equation 7. ``fusion: diagonal`` has one factor per dimension and is close to the paper's number of parameters;
``fusion: sum`` adds PE_abs + PE_XL, the element-wise addition that section 3.2 found worse.
Start: U and V within Glorot's bound; factors from 1/2, the mean of both positions. The paper gives no start values.
Promises: absolute; works at any length; 2·d² parameters, 2·d or none. The decoder has plain sinusoids, as in the paper.
Departures: the paper prints 0.01 million parameters more than for sinusoids; two d × d matrices exceed this number.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor
from typing_extensions import override

from wordorder.encodings.base import Positions, Shape, Stack
from wordorder.encodings.crosslingual import CrossLingualConfig, CrossLingualEncoding, CrossLingualFusion, Fusion
from wordorder.encodings.registry import register


class InXLConfig(CrossLingualConfig):
    """Parameters of an entry with ``type: inxl``."""

    type: Literal["inxl"] = "inxl"
    fusion: Fusion = Field(
        default="full",
        description="Matrices U and V: full, one factor per dimension, or none, which adds both positions.",
    )

    @override
    def parameter_count(self, shape: Shape) -> int:
        return CrossLingualFusion.parameter_count(shape.dim, self.fusion)


@register(InXLConfig)
class InXL(CrossLingualEncoding):
    """Adds the fused positions to the scaled embeddings of the source."""

    def __init__(self, config: InXLConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self.fuse = CrossLingualFusion(shape.dim, config.fusion)

    def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        if stack == "decoder":
            return super()._add_to_embeddings(x, positions, stack)
        fused: Tensor = self.fuse(self._absolute(positions), self._reordered(positions))
        return x + fused.to(x.dtype)
