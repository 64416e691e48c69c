"""Fixed encodings made of sine-cosine pairs: the shared parts of the sinusoidal and the orthogonal encoding."""

from __future__ import annotations

import torch
from torch import Tensor

from wordorder.encodings.base import Encoding, EncodingConfig, Positions, Shape, Stack
from wordorder.errors import WordorderError


def waves(positions: Tensor, frequencies: Tensor) -> Tensor:
    """Compute sin, cos, sin, cos, … of positions in double precision.

    In single precision, the angle of position 1,000 would already be wrong by 1e-4.

    Args:
        positions: Positions, (…).
        frequencies: Radians per position, (d/2,).

    Returns:
        Sines and cosines, (…, d).
    """
    angles = positions[..., None].double() * frequencies.double()
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)


class WaveEncoding(Encoding):
    """Adds sines and cosines of given frequencies to the scaled embeddings.

    The table grows on demand, so any length works. It is not a parameter and is not saved.
    """

    absolute = True
    _table_of_waves: Tensor

    def __init__(self, config: EncodingConfig, shape: Shape, frequencies: Tensor) -> None:
        super().__init__(config, shape)
        if shape.dim % 2:
            raise WordorderError(
                f"The encoding '{config.type}' needs an even model size, because it is made of sine-cosine pairs, "
                f"but the size's dim is {shape.dim}. Choose an even dim in sizes.yaml.",
                code="unfit-size",
                key="dim",
                found=shape.dim,
            )
        self._frequencies = frequencies
        self.register_buffer("_table_of_waves", waves(torch.arange(256), frequencies).float(), persistent=False)

    def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        return x + self._vectors(positions.absolute, positions.limit).to(x.dtype)

    def _vectors(self, positions: Tensor, limit: int) -> Tensor:
        if limit > len(self._table_of_waves):
            longer = waves(torch.arange(2 * limit), self._frequencies)
            self._table_of_waves = longer.to(self._table_of_waves)
        return self._table_of_waves[positions]

    def _table(self, length: int, stack: Stack) -> Tensor | None:
        return waves(torch.arange(length), self._frequencies).float()
