"""Orthogonal position representation (OPR).

    P(pos, 2m)     = sin(pos · (2π / k) · (2m / d))
    P(pos, 2m + 1) = cos(pos · (2π / k) · (2m / d)),   m = 0 … d/2 - 1

Source: the OPR paper (2025), with the formula of its released module; k = 8 by default.
Promises: absolute; works at any length but repeats with a period of k·d/2 positions; no parameters. At k = 1 any two
positions of one period are orthogonal. The similarity of neighbours is a Dirichlet kernel that widens with k.
Departures: the released module has all sines before all cosines, computes angles in single precision and starts at
position 2. Its constructor call swaps k and the length of the table, so that the trained models had a k of about 1026
(the preset ``opr_released``).
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from wordorder.encodings.base import EncodingConfig, Shape
from wordorder.encodings.registry import register
from wordorder.encodings.waves import WaveEncoding


class OPRConfig(EncodingConfig):
    """Parameters of an entry with ``type: opr``."""

    type: Literal["opr"] = "opr"
    k: Annotated[float, Field(gt=0, description="Width of the similarity of neighbouring positions.")] = 8.0


def frequencies(dim: int, k: float) -> Tensor:
    """Compute angular frequencies in radians per position.

    Args:
        dim: Model size, d.
        k: Width of the similarity.

    Returns:
        One frequency per sine-cosine pair, (d/2,) in double precision.
    """
    return (2 * math.pi / k) * torch.arange(0, dim, 2, dtype=torch.float64) / dim


@register(OPRConfig)
class OPR(WaveEncoding):
    """Adds P to the scaled embeddings."""

    one_by_one = True

    def __init__(self, config: OPRConfig, shape: Shape) -> None:
        super().__init__(config, shape, frequencies(shape.dim, config.k))
