"""Biases that are kernels of the distance (KERPLE).

    e_ij = q_i · k_j / √d_h - p_h · log(1 + a_h |i - j|)      kernel: log
    e_ij = q_i · k_j / √d_h - a_h · |i - j|^(p_h)             kernel: power, p_h ≤ 2

a_h and p_h are learned and at least 0.01. Values that an update moves beyond these bounds are clipped.

Source: Chi et al. 2022 (KERPLE), the logarithmic and the power variant. Bounds, start values and the one set of values
for all layers are those of the released code. The paper describes decoders only.
Promises: relative; works at any length; 2H parameters in the decoder and 4H in the encoder, shared by the layers of a
stack. No bias is positive, and none increases with the distance.
Departures: in the encoder, keys after the query have a separate a_h and p_h. Otherwise a sentence and its mirror image
would look alike.
Start values: a_h from U(0, 1), p_h from U(0, 2).
"""

from __future__ import annotations

from typing import Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from typing_extensions import override

from wordorder.config.encodings import ControllableConfig
from wordorder.encodings.base import AttentionEncoding, Encoding, Positions, Shape, Stack, sides_of
from wordorder.encodings.lookup import distances, spread
from wordorder.encodings.registry import register

LEAST = 0.01  # of a and p
LARGEST_POWER = 2.0

Kernel = Literal["log", "power"]


class KERPLEConfig(ControllableConfig):
    """Parameters of an entry with ``type: kerple``."""

    control_revision = 2  # From 2, distances to later places are not 0 in the decoder.
    type: Literal["kerple"] = "kerple"
    kernel: Kernel = Field(default="log", description="Variant of the formula.")

    @override
    def parameter_count(self, shape: Shape) -> int:
        return sum(2 * sides_of(stack) * shape.heads for stack in self.stacks)


class KERPLEAttention(AttentionEncoding):
    """The values a and p of one stack, (sides, H) each; keys up to the query first."""

    needs = frozenset({"bias"})

    def __init__(self, kernel: Kernel, heads: int, stack: Stack, *, folded: bool = False) -> None:
        super().__init__()
        self.kernel = kernel
        self.folded = folded  # The place of an earlier token may be after the query's.
        self.a = nn.Parameter(torch.rand(sides_of(stack), heads))
        self.p = nn.Parameter(2 * torch.rand(sides_of(stack), heads))

    @override
    def bias(self, query: Positions, key: Positions) -> Tensor:
        # Change only the data, so that results of other layers in this pass stay differentiable.
        self.a.data.clamp_(min=LEAST)
        self.p.data.clamp_(min=LEAST, max=LARGEST_POWER if self.kernel == "power" else None)
        farthest = max(query.limit, key.limit) - 1
        numbers = torch.arange(farthest + 1, device=self.a.device)
        own = self._of(numbers, 0)  # (H, distances 0 … farthest)
        apart = distances(query, key)
        if len(self.a) == 1:
            return spread(own, apart.abs() if self.folded else -apart.clamp(max=0))
        values = torch.cat((own.flip(1), self._of(numbers[1:], 1)), dim=1)  # (H, distances j - i)
        return spread(values, apart + farthest)

    def _of(self, apart: Tensor, side: int) -> Tensor:
        """Compute the kernel at distances, from (n,) to (H, n)."""
        a, p = self.a[side, :, None], self.p[side, :, None]
        return -p * torch.log1p(a * apart) if self.kernel == "log" else -a * apart**p


@register(KERPLEConfig)
class KERPLE(Encoding):
    """Acts inside every self-attention of the stacks where it is placed."""

    relative = True

    def __init__(self, config: KERPLEConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self.attentions = nn.ModuleDict(
            {
                stack: KERPLEAttention(config.kernel, shape.heads, stack, folded=config.places is not None)
                for stack in config.stacks
            }
        )

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return cast(AttentionEncoding, self.attentions[stack])
