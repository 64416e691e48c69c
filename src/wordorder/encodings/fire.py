"""Functional interpolation (FIRE).

    e_ij = q_i · k_j / √d_h + f( ψ(i - j) / ψ(max(L, i)) ),   ψ(x) = log(c x + 1),   i, j = 0 … length - 1

f is an MLP 1 → hidden → H with ReLU; c and L are learned. Up to i = L only the distance matters. Beyond, it
counts in proportion to the number of tokens before the query, so that the input of f never exceeds 1.

Source: Li et al. 2024, section 3. The code of its appendix counts i from 0, starts c at 0.1, learns L as a multiple of
512, takes the absolute values of both, and adds 1e-6 to the divisor. Each layer has one MLP, one c and one L.
Start: c at 0.1, L at 512, and the MLPs as PyTorch's linear layers, uniform within 1 / √inputs.
Departures: the decoder has no last bias, because a softmax ignores a constant that is added to every key. The paper has
no encoder. In ours, keys also follow the query. With |i - j| only, a sentence and its mirror image would look alike.
Therefore later keys have a separate MLP, and the divisor is ψ(max(L, i, j)): for j ≤ i the formula above, for others at
least ψ(|i - j|) as well.
Promises: relative, since i and j count from the first token of the sentence, wherever it is; works at any length; 2 + 2
· hidden + hidden · H parameters per layer of the decoder, 2 + 2 · (2 · hidden + hidden · H + H) per layer of the
encoder.

An MLP of one number with ReLU is piecewise linear. So no tensor of Lq × Lk × hidden is built: each pair of tokens looks
up the slope and the offset of its piece. On a CPU, pairs with the same distance are computed once, unless a sentence
exceeds L.
"""

from __future__ import annotations

from typing import Annotated, Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from typing_extensions import override

from wordorder.config.encodings import ControllableConfig
from wordorder.encodings.base import AttentionEncoding, Positions, Shape, Stack
from wordorder.encodings.layers import PerLayer
from wordorder.encodings.lookup import distances, spread
from wordorder.encodings.registry import register


class FIREConfig(ControllableConfig):
    """Parameters of an entry with ``type: fire``."""

    type: Literal["fire"] = "fire"
    hidden: Annotated[int, Field(gt=0, description="Size of the hidden layer of the MLP.")] = 32
    c: Annotated[float, Field(gt=0, description="Where c starts.")] = 0.1
    threshold: Annotated[float, Field(gt=0, description="Start value of L, in tokens.")] = 512.0

    @override
    def parameter_count(self, shape: Shape) -> int:
        curve = 2 * self.hidden + self.hidden * shape.heads
        each = {"encoder": 2 + 2 * (curve + shape.heads), "decoder": 2 + curve}
        return sum(each[stack] * shape.layers(stack) for stack in self.stacks)


class Curve(nn.Module):
    """The function f, from one number to one number per head."""

    def __init__(self, hidden: int, heads: int, *, last_bias: bool) -> None:
        super().__init__()
        self.inner = nn.Linear(1, hidden)
        self.outer = nn.Linear(hidden, heads, bias=last_bias)

    def pieces(self) -> tuple[Tensor, Tensor, Tensor]:
        """Compute the linear pieces of f.

        Returns:
            The bends of f in ascending order, (hidden,), and the slopes and offsets of its pieces, (H, hidden + 1)
            each.
        """
        weight, bias = self.inner.weight[:, 0], self.inner.bias
        with torch.no_grad():
            rises = weight > 0
            bends, order = (torch.where(rises, -bias, bias) / weight.abs()).sort()
            piece = torch.arange(len(weight) + 1, device=weight.device)[:, None]
            # A rising unit is active beyond its bend, a falling unit before it.
            active = torch.where(rises, order.argsort() < piece, order.argsort() >= piece)  # (pieces, hidden)
        # Plain sums stay in single precision where matrix products do not.
        slopes = (self.outer.weight[:, None] * (active * weight)).sum(-1)
        offsets = (self.outer.weight[:, None] * (active * bias)).sum(-1)
        return bends, slopes, offsets if self.outer.bias is None else offsets + self.outer.bias[:, None]


class FIREAttention(AttentionEncoding):
    """One layer: c, L as a multiple of its start value, and the curves of keys up to the query and after it."""

    needs = frozenset({"bias"})

    def __init__(self, config: FIREConfig, shape: Shape, stack: Stack) -> None:
        super().__init__()
        self.start = config.threshold
        self.control = config.places is not None
        self.c = nn.Parameter(torch.tensor(config.c))
        self.multiple = nn.Parameter(torch.tensor(1.0))
        both_sides = stack == "encoder"
        self.curves = nn.ModuleList(
            Curve(config.hidden, shape.heads, last_bias=both_sides) for _ in range(1 + both_sides)
        )

    @override
    def bias(self, query: Positions, key: Positions) -> Tensor:
        apart = distances(query, key)
        threshold = self.start * self.multiple.abs()
        limit = max(query.limit, key.limit)
        # An accelerator would have to wait for the answer.
        if apart.device.type == "cpu" and limit - 1 <= threshold.item():
            every = torch.arange(1 - limit, limit)[None, None]
            values = self._interpolate(every, threshold)[0, :, 0]  # (H, distances)
            return spread(values, apart + limit - 1)
        later = torch.maximum(query.absolute[:, :, None], key.absolute[:, None, :])
        # The smallest place in a control may be that of a later target token or of padding.
        first = 0 if self.control else key.absolute.amin(dim=1)[:, None, None]
        return self._interpolate(apart, torch.maximum(threshold, later - first))

    def _interpolate(self, apart: Tensor, farthest: Tensor) -> Tensor:
        """Compute f at ψ(|apart|) / ψ(farthest), from (1 | B, Lq, Lk) to (1 | B, H, Lq, Lk)."""
        x = self._psi(apart.abs()) / (self._psi(farthest) + 1e-6)
        pieces = [cast(Curve, curve).pieces() for curve in self.curves]
        rows, *behind = (torch.searchsorted(bends, x.detach()) for bends, _, _ in pieces)
        for row in behind:
            rows = torch.where(apart > 0, row + len(pieces[0][0]) + 1, rows)
        slopes = torch.cat([slopes for _, slopes, _ in pieces], dim=1)
        offsets = torch.cat([offsets for _, _, offsets in pieces], dim=1)
        return spread(slopes, rows) * x[:, None] + spread(offsets, rows)

    def _psi(self, x: Tensor) -> Tensor:
        return torch.log1p(self.c.abs() * x)


@register(FIREConfig)
class FIRE(PerLayer):
    """Acts inside every self-attention of the stacks where it is placed."""

    relative = True

    def __init__(self, config: FIREConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self._fill(lambda stack: FIREAttention(config, shape, stack))
