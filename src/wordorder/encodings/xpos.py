"""Rotary positions that decay with the distance (xPos).

    e_ij = Σ_m (R_i q_i)_m · (R_j k_j)_m · ζ_m^(|i - j| / scale_base) / √d_h      over the pairs m of RoPE
    ζ_m = (2m + 0.4 d_h) / (1.4 d_h),   m = 0 … d_h/2 - 1

For keys up to the query this is a product of R_i q_i · ζ^(i / scale_base) and R_j k_j · ζ^(-j / scale_base).

Source: Sun et al. 2023 (A Length-Extrapolatable Transformer), which describes decoders only; ζ and the scale base are
those of the released code (torchscale).
Promises: relative; no parameters. With the default ``scale_base``, the decoder works at any length up to about 35,700
tokens (34,000 in bfloat16), where the factors of single queries and keys leave the range of single precision. With
``sides: symmetric``, scores of later keys lose their digits earlier. Those of keys far from the query lose them by a
subtraction, from a distance of about 4,000 tokens in single precision and 1,500 in bfloat16. All lose them from about
position 18,500 on, where squares of the factors leave the range: at 20,000, a key 100 tokens later is wrong in the
fourth digit. No factor of a pair exceeds 1, unless ``sides: released``.
Departures: in the encoder, keys later than the query decay as well, which takes two more products of queries and keys.
The released code uses one product for both sides (``sides: released``), so that later keys grow with the distance.
Pairs are those of ``layout``, as in RoPE; the released code uses neighbours. Blockwise attention to longer texts, the
paper's other idea, is not an encoding and is not included.
Start values: none.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor
from typing_extensions import override

from wordorder.draws import moved
from wordorder.encodings.base import AttentionEncoding, Encoding, EncodingConfig, Positions, Shape, Stack
from wordorder.encodings.lookup import distances
from wordorder.encodings.registry import register
from wordorder.encodings.rope import RoPEAttention, even_heads

SMOOTHING = 0.4  # the released γ


class XPosConfig(EncodingConfig):
    """Parameters of an entry with ``type: xpos``."""

    type: Literal["xpos"] = "xpos"
    base: Annotated[float, Field(gt=1, description="Base of the powers that are the frequencies.")] = 10000.0
    scale_base: Annotated[float, Field(gt=0, description="Distance in tokens at which the factor is ζ.")] = 512.0
    layout: Annotated[
        Literal["half", "interleaved"], Field(description="Pairs of a head: (m, m + d_h/2), or neighbouring numbers.")
    ] = "half"
    sides: Annotated[
        Literal["symmetric", "released"],
        Field(description="In the encoder, later keys decay as earlier ones, or grow with the distance."),
    ] = "symmetric"


class XPosAttention(RoPEAttention):
    """Rotations and factors, shared by heads and layers.

    Args:
        head_dim: Size of a head, d_h.
        config: The configuration.
        symmetric: Whether keys may be later than the query and decay there.
    """

    needs = frozenset({"rotate", "scores"})
    additive = True

    def __init__(self, head_dim: int, config: XPosConfig, *, symmetric: bool) -> None:
        super().__init__(head_dim, config.base, interleaved=config.layout == "interleaved")
        self.symmetric = symmetric
        self.needs = XPosAttention.needs if symmetric else frozenset({"rotate"})
        zeta = (torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim + SMOOTHING) / (1 + SMOOTHING)
        self._exponents = zeta.log() / config.scale_base  # (d_h/2,)

    def _factors(self, positions: Positions) -> Tensor:
        """Compute ζ^(position / scale_base), (1 | B, 1, L, d_h/2)."""
        absolute = positions.absolute[:, None, :, None]
        return positions.once((self, "factors"), lambda: (absolute * moved(self._exponents, absolute.device)).exp())

    def _shared_turns(self, positions: Positions) -> Tensor:
        return positions.once((self, "turns"), lambda: self._cosine_and_sine(positions))

    def _scaled(self, x: Tensor, turns: Tensor, factors: Tensor) -> Tensor:
        """Rotate queries or keys and multiply them by factors."""
        cosine, sine = (turns * factors).to(x.dtype)
        return self._turn(x, cosine, sine)

    @override
    def rotate(self, queries: Tensor, keys: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        turns, factors = self._shared_turns(positions), self._factors(positions)
        return self._scaled(queries, turns, factors), self._scaled(keys, turns, 1 / factors)

    @override
    def scores(self, scores: Tensor, queries: Tensor, keys: Tensor, query: Positions, key: Positions) -> Tensor:
        if not self.symmetric:
            return scores
        turns, factors = self._shared_turns(query), self._factors(query)
        squares = self._factors(key).square().to(keys.dtype)
        squares = squares.repeat_interleave(2, dim=-1) if self.interleaved else squares.repeat(1, 1, 1, 2)
        # The decay to the other side, minus what the scores already contain.
        behind = self._scaled(queries, turns, 1 / factors) @ (keys * squares).mT
        change = behind - self._scaled(queries, turns, factors) @ keys.mT
        return scores + change.masked_fill(distances(query, key)[:, None] <= 0, 0)


@register(XPosConfig)
class XPos(Encoding):
    """Acts inside every self-attention of the stacks where it is placed."""

    relative = True
    product = "own"

    def __init__(self, config: XPosConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        even_heads("xpos", shape)
        self.one_side, self.both_sides = (
            XPosAttention(shape.head_dim, config, symmetric=symmetric) for symmetric in (False, True)
        )
        self.released = config.sides == "released"

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return self.one_side if stack == "decoder" or self.released else self.both_sides
