"""Forget gates in softmax attention (FoX, the Forgetting Transformer).

    e_ij = q_i · k_j / √d_h + log f_(j+1) + … + log f_i      j ≤ i
    f_t = σ(w_h · x_t + b_h)                                 the share that head h keeps before t; x: layer input

Source: Lin et al. 2025 (FoX), the forget gate only: neither output gates nor norms of queries and keys. The paper
describes decoders only.
Promises: relative, since the tokens between key and query matter, not their positions; works at any length; H (d + 1)
parameters per layer of the decoder, 2H (d + 1) per layer of the encoder. No bias of the decoder is positive, and none
increases with the distance.
Departures: in the encoder, later keys have separate gates, log f_i+1 + … + log f_j. Otherwise a sentence and its mirror
image would look alike. In a prefix language model, source tokens without gates forget nothing.
Start values: w from a normal distribution with standard deviation 0.02 and b = 0, as in the authors' code, so that
every f starts near 1/2. x-transformers starts at b = 5, where f is 0.993 (``start: 5``).
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from wordorder.encodings.base import AttentionEncoding, EncodingConfig, Positions, Shape, Stack, sides_of
from wordorder.encodings.layers import PerLayer
from wordorder.encodings.lookup import distances
from wordorder.encodings.registry import register


class ForgettingConfig(EncodingConfig):
    """Parameters of an entry with ``type: forgetting``."""

    type: Literal["forgetting"] = "forgetting"
    start: Annotated[float, Field(description="Where b starts.")] = 0.0

    @override
    def parameter_count(self, shape: Shape) -> int:
        gates = sum(sides_of(stack) * shape.layers(stack) for stack in self.stacks)
        return gates * shape.heads * (shape.dim + 1)


class ForgettingAttention(AttentionEncoding):
    """The gates of one layer; those of keys up to the query come first."""

    needs = frozenset({"gates", "bias"})

    def __init__(self, config: ForgettingConfig, shape: Shape, stack: Stack) -> None:
        super().__init__()
        self.heads, self.both_sides = shape.heads, stack == "encoder"
        self.project = nn.Linear(shape.dim, sides_of(stack) * shape.heads)
        nn.init.normal_(self.project.weight, std=0.02)
        nn.init.constant_(self.project.bias, config.start)

    def gates(self, x: Tensor, positions: Positions) -> Tensor:
        """Compute log f of both sides, (B, L, 2H). In a decoder, the missing side is 0."""
        kept = functional.logsigmoid(self.project(x).float())
        return kept if self.both_sides else functional.pad(kept, (0, self.heads))

    @override
    def bias(self, query: Positions, key: Positions) -> Tensor:
        assert key.state is not None
        if key.ordered and query.absolute is key.absolute:
            upto_each = key.state.cumsum(1).mT.contiguous()  # (B, 2H, L)
            return self._between(upto_each[..., None], upto_each[..., None, :], query, key)
        order = key.absolute.argsort(dim=-1)  # (1 | B, Lk)
        places = key.absolute.gather(-1, order)
        sorted_gates = key.state.gather(1, order[..., None].expand(key.state.shape))
        sums = functional.pad(sorted_gates.cumsum(1), (0, 0, 1, 0))  # (B, 1 + Lk, 2H): of the first 0 … Lk gates

        def upto(positions: Positions) -> Tensor:
            """Sum the gates up to and including each token, (B, 2H, L)."""
            counts = torch.searchsorted(places, positions.absolute.contiguous(), right=True).expand(len(sums), -1)
            return sums.gather(1, counts[..., None].expand(-1, -1, sums.size(2))).mT.contiguous()

        return self._between(upto(query)[..., None], upto(key)[..., None, :], query, key)

    def _between(self, rows: Tensor, columns: Tensor, query: Positions, key: Positions) -> Tensor:
        """Compute the bias from the sums up to the queries, (B, 2H, Lq, 1), and up to the keys, (B, 2H, 1, Lk)."""
        before = rows[:, : self.heads] - columns[:, : self.heads]  # (B, H, Lq, Lk)
        if not self.both_sides:
            return before
        after = columns[:, self.heads :] - rows[:, self.heads :]
        return torch.where(distances(query, key)[:, None] > 0, after, before)


@register(ForgettingConfig)
class Forgetting(PerLayer):
    """Acts inside every self-attention of the stacks where it is placed."""

    relative = True

    def __init__(self, config: ForgettingConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self._fill(lambda stack: ForgettingAttention(config, shape, stack))
