"""Sinusoidal absolute encoding (SAPE, APE).

    P(pos, 2m)     = sin(pos / 10000^(2m/d))
    P(pos, 2m + 1) = cos(pos / 10000^(2m/d)),   m = 0 … d/2 - 1

Source: Vaswani et al. 2017, section 3.5; "The Positional Encoding" (2019). Sines and cosines interleaved, as written.
Promises: absolute; works at any length; no parameters. P_i · P_j depends on |i - j| alone, and for every offset there
is a rotation, the same at all positions, that takes P_pos to P_(pos + offset).
Departures: none. Toolkits order the dimensions otherwise (Marian: all sines, then all cosines), and fairseq also has
the frequencies 10000^(-m / (d/2 - 1)) and starts at position 2 where the padding index is 1.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from wordorder.encodings.base import EncodingConfig, Shape
from wordorder.encodings.registry import register
from wordorder.encodings.waves import WaveEncoding


class SinusoidalConfig(EncodingConfig):
    type: Literal["sinusoidal"] = "sinusoidal"


def frequencies(dim: int) -> Tensor:
    """Radians a position of every sine-cosine pair: (d/2,), double precision."""
    return 10000.0 ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)


def rotation(offset: int, dim: int) -> Tensor:
    """The matrix M of a shift, (d, d) in double precision: P(pos + offset) = M P(pos) at every position.

    M is made of one 2 x 2 rotation a frequency; "The Positional Encoding" (2019) calls it M_φ. With the positions as
    rows of a table, ``table[offset:] = table[:-offset] @ M.T``.
    """
    angles = offset * frequencies(dim)
    sine = torch.arange(0, dim, 2)
    cosine = sine + 1
    matrix = torch.zeros(dim, dim, dtype=torch.float64)
    matrix[sine, sine] = matrix[cosine, cosine] = angles.cos()
    matrix[sine, cosine] = angles.sin()
    matrix[cosine, sine] = -angles.sin()
    return matrix


@register(SinusoidalConfig)
class Sinusoidal(WaveEncoding):
    """Adds P to the scaled embeddings."""

    def __init__(self, config: SinusoidalConfig, shape: Shape) -> None:
        super().__init__(config, shape, frequencies(shape.dim))
