"""Rotary positions (RoPE), for all pairs of a head or for some, in all layers or in some.

    q_i, k_j  ->  R_i q_i, R_j k_j,   so that  (R_i q_i) · (R_j k_j) = q_i · R_(j-i) k_j
    R_p rotates the pair m of a head by the angle p · w_m

    w_m = base^(-2m/d_h),   m = 0 … d_h/2 - 1      as printed
    w_m = base^(-2m/(2n)),  m = 0 … n - 1          fraction < 1, spectrum: partial
    w_m = base^(-2m/d_h),   m = 0 … n - 1          fraction < 1, spectrum: proportional

With a fraction f, n = ⌊f · d_h/2⌋ pairs are rotated and the others are not.

Source: Su et al. 2021 (RoFormer), equations 13-16. The pair m is (2m, 2m + 1) with ``layout: interleaved``, as printed,
and (m, m + d_h/2) with ``layout: half``, as in GPT-NeoX and Llama. The difference is a fixed permutation of the rows of
W_Q and W_K, which a learned projection absorbs. Other variants: GPT-NeoX pairs only the first 2n numbers of a head
(``partial``); p-RoPE (Barbero et al. 2025) has no low frequencies (``proportional``); GRAPE-M learns log w_m, once for
all heads (``trained``); RNoPE (Yang et al. 2025) alternates with layers without positions (``skip: 2``).
Promises: relative; works at any length; no parameters, or with ``trained`` one in each layer for each rotated pair.
Departures: layers of the same number in both stacks share learned frequencies, because in a prefix language model
queries of the target meet keys of the source.
Start values: log w_m as above.
"""

from __future__ import annotations

from typing import Annotated, Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from wordorder.encodings.base import AttentionEncoding, Encoding, EncodingConfig, Positions, Shape, Stack
from wordorder.encodings.registry import register
from wordorder.errors import WordorderError


class RoPEConfig(EncodingConfig):
    """Parameters of an entry with ``type: rope``."""

    type: Literal["rope"] = "rope"
    base: Annotated[float, Field(gt=1, description="Base of the powers that are the frequencies.")] = 10000.0
    layout: Annotated[
        Literal["half", "interleaved"], Field(description="Pairs of a head: (m, m + d_h/2), or neighbouring numbers.")
    ] = "half"
    fraction: Annotated[float, Field(gt=0, le=1, description="Fraction of the pairs of a head that are rotated.")] = 1.0
    spectrum: Annotated[
        Literal["partial", "proportional"],
        Field(
            description="Frequencies of these pairs: those of a head of this size, or the highest of the whole head."
        ),
    ] = "partial"
    trained: Annotated[bool, Field(description="Learn the logarithms of the frequencies.")] = False
    skip: Annotated[int | None, Field(ge=2, description="Layers skip, 2 · skip, … have no positions.")] = None

    def pairs(self, shape: Shape) -> int:
        """Count the rotated pairs of a head."""
        return int(self.fraction * shape.head_dim / 2)

    def layers(self, shape: Shape) -> list[int]:
        """List the layers with positions, counted from 0."""
        deepest = max(shape.layers(stack) for stack in self.stacks)
        return [layer for layer in range(deepest) if self.skip is None or (layer + 1) % self.skip]

    @override
    def parameter_count(self, shape: Shape) -> int:
        return len(self.layers(shape)) * self.pairs(shape) if self.trained else 0


class RoPEAttention(AttentionEncoding):
    """The rotations, shared by heads. The table of cosines and sines of fixed frequencies grows on demand.

    Args:
        head_dim: Size of a head, d_h.
        base: Base of the powers that are the frequencies.
        interleaved: Whether neighbouring numbers form a pair.
        pairs: Number of rotated pairs; all by default.
        proportional: Whether fewer pairs have the highest frequencies of all, instead of separate ones.
        trained: Whether the logarithms of the frequencies are learned.
    """

    needs = frozenset({"rotate"})
    not_rounded = ("log_frequencies",)
    _table: Tensor

    def __init__(
        self,
        head_dim: int,
        base: float,
        *,
        interleaved: bool = False,
        pairs: int | None = None,
        proportional: bool = False,
        trained: bool = False,
    ) -> None:
        super().__init__()
        self.interleaved, self.trained = interleaved, trained
        pairs = head_dim // 2 if pairs is None else pairs
        self.size = head_dim if proportional else 2 * pairs  # numbers of a head that form pairs
        self._frequencies = base ** (-2 * torch.arange(pairs, dtype=torch.float64) / self.size)
        if trained:
            self.log_frequencies = nn.Parameter(self._frequencies.log().float())
        else:
            self.register_buffer("_table", self._turns(torch.arange(256), self._frequencies), persistent=False)

    def _turns(self, positions: Tensor, frequencies: Tensor) -> Tensor:
        """Compute cosine and sine of every angle, internally in double precision: (…) positions to (2, …, size/2)."""
        angles = positions[..., None] * functional.pad(frequencies, (0, self.size // 2 - len(frequencies)))
        return torch.stack((angles.cos(), angles.sin())).float()

    @override
    def rotate(self, queries: Tensor, keys: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        kind = queries.dtype
        cosine, sine = positions.once((self, kind), lambda: self._cosine_and_sine(positions).to(kind))
        return self._turn(queries, cosine, sine), self._turn(keys, cosine, sine)

    def _cosine_and_sine(self, positions: Positions) -> Tensor:
        """Return cosine and sine of the angles of all pairs, (2, 1 | B, 1, L, size/2)."""
        if self.trained:
            return self._turns(positions.absolute, self.log_frequencies.double().exp()).unsqueeze(2)
        if positions.limit > self._table.size(1):
            self._table = self._turns(torch.arange(2 * positions.limit), self._frequencies).to(self._table)
        return self._table[:, positions.absolute].unsqueeze(2)

    def _turn(self, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        paired, others = x[..., : self.size], x[..., self.size :]
        first, second = (paired[..., 0::2], paired[..., 1::2]) if self.interleaved else paired.chunk(2, dim=-1)
        turned = first * cosine - second * sine, second * cosine + first * sine
        both = torch.stack(turned, dim=-1).flatten(-2) if self.interleaved else torch.cat(turned, dim=-1)
        return torch.cat((both, others), dim=-1) if others.size(-1) else both


def even_heads(name: str, shape: Shape) -> None:
    """Reject heads of an odd size, which cannot be split into pairs, for the encoding ``name``."""
    if shape.head_dim % 2:
        raise WordorderError(
            f"The encoding '{name}' needs heads of an even size, because it rotates pairs of numbers, but the size's "
            f"dim {shape.dim} and {shape.heads} heads make {shape.head_dim}. Choose another dim or number of heads in "
            "sizes.yaml.",
            code="unfit-size",
            key="heads",
            found=shape.head_dim,
        )


@register(RoPEConfig)
class RoPE(Encoding):
    """Acts inside the self-attention of the stacks where it is placed."""

    relative = True
    product = "rotated"
    one_by_one = True

    def __init__(self, config: RoPEConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        even_heads("rope", shape)
        pairs = config.pairs(shape)
        if not pairs:
            raise WordorderError(
                f"The encoding 'rope' with 'fraction: {config.fraction}' rotates none of the {shape.head_dim // 2} "
                f"pairs of a head. Set 'fraction' of this encoding to at least {2 / shape.head_dim:g} in "
                "encodings.yaml, or choose larger heads in sizes.yaml.",
                code="unfit-size",
                key="fraction",
                found=config.fraction,
            )
        self.rotations = nn.ModuleDict()
        for layer in config.layers(shape):
            if config.trained or not self.rotations:
                rotations = RoPEAttention(
                    shape.head_dim,
                    config.base,
                    interleaved=config.layout == "interleaved",
                    pairs=pairs,
                    proportional=config.spectrum == "proportional",
                    trained=config.trained,
                )
            self.rotations[str(layer)] = rotations

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        rotations = self.rotations
        return cast(AttentionEncoding, rotations[str(layer)]) if str(layer) in rotations else self._nothing
