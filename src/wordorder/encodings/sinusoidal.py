"""Sinusoidal absolute encoding (SAPE, APE).

    P(pos, 2m)     = sin(pos / 10000^(2m/d))
    P(pos, 2m + 1) = cos(pos / 10000^(2m/d)),   m = 0 … d/2 - 1

Source: Vaswani et al. 2017, section 3.5; "The Positional Encoding" (2019). Sines and cosines are interleaved, as
printed.
Promises: absolute; works at any length; no parameters. P_i · P_j depends only on |i - j|. For every offset there is one
rotation that maps P_pos to P_(pos + offset) at all positions.
Departures: none. Toolkits order the dimensions differently (Marian: all sines, then all cosines). fairseq also has the
frequencies 10000^(-m / (d/2 - 1)) and starts at position 2 if the padding index is 1.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from wordorder.encodings.base import EncodingConfig, Shape
from wordorder.encodings.registry import register
from wordorder.encodings.waves import WaveEncoding


class SinusoidalConfig(EncodingConfig):
    """Parameters of an entry with ``type: sinusoidal``."""

    type: Literal["sinusoidal"] = "sinusoidal"


def frequencies(dim: int) -> Tensor:
    """Compute angular frequencies in radians per position.

    Args:
        dim: Model size, d.

    Returns:
        One frequency per sine-cosine pair, (d/2,) in double precision.
    """
    return 10000.0 ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)


def rotation(offset: int, dim: int) -> Tensor:
    """Compute the matrix M of a shift: P(pos + offset) = M P(pos) at every position.

    M consists of one 2 x 2 rotation per frequency; "The Positional Encoding" (2019) calls it M_φ. With the positions as
    rows of a table, ``table[offset:] = table[:-offset] @ M.T``.

    Args:
        offset: Number of positions.
        dim: Model size, d.

    Returns:
        M, (d, d) in double precision.
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

    one_by_one = True

    def __init__(self, config: SinusoidalConfig, shape: Shape) -> None:
        super().__init__(config, shape, frequencies(shape.dim))
