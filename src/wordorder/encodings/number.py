"""The number of a position, as one number: the two encodings that the article on sinusoids rejects.

    index:  P(pos) = (pos + 1) · s
    unit:   P(pos) = pos / (n - 1) · s,   n tokens in the sentence

s = (1, -1, 1, -1, …) has the mean 0, because the normalisation of a layer removes the mean of a vector.
Source: "The Positional Encoding" (2019), which counts positions linearly from 1, or within [0, 1] from the first word
to the last one, and expects both to fail.
Promises: absolute; works at any length, with values that grow with the position (index) or steps that shrink with the
length of the sentence (unit); no parameters.
Departures: the article does not say how a number becomes a vector. The length of a target is unknown while it is
written, as is that of a source in a prefix language model: there, n is ``assumed``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from torch import Tensor, arange, where
from typing_extensions import override

from wordorder.encodings.base import Encoding, EncodingConfig, Positions, Stack
from wordorder.encodings.registry import register


class NumberConfig(EncodingConfig):
    """Parameters of an entry with ``type: number``."""

    type: Literal["number"] = "number"
    range: Annotated[
        Literal["index", "unit"],
        Field(description="'index' counts 1, 2, …; 'unit' is 0 for the first token and 1 for the last one."),
    ] = "index"
    assumed: Annotated[
        int, Field(gt=1, description="With 'range: unit', the number of tokens of a sentence of unknown length.")
    ] = 64


@register(NumberConfig)
class Number(Encoding):
    """Adds the number of each position, in alternating signs, to the scaled embeddings."""

    absolute = True
    config: NumberConfig

    @override
    def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        return x + self._vectors(positions.absolute, positions.lengths).to(x.dtype)

    def _vectors(self, positions: Tensor, lengths: Tensor | None) -> Tensor:
        """Return the vectors of positions (1 | B, L) in sentences of ``lengths`` (B, 1), (1 | B, L, d)."""
        numbers = positions + 1.0
        if self.config.range == "unit":
            numbers = positions / (self.config.assumed - 1.0 if lengths is None else (lengths - 1.0).clamp(min=1))
        even = arange(self.shape.dim, device=positions.device) % 2 == 0
        return where(even, numbers[..., None], -numbers[..., None])

    @override
    def _table(self, length: int, stack: Stack) -> Tensor:
        return self._vectors(arange(length)[None], None)[0]
