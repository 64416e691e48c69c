"""Learned absolute encoding (LAPE, LPE).

    P(pos) = row pos of a trained table, one table for the encoder and one for the decoder

Source: Gehring et al. 2017; the PosNet paper's LAPE (two tables of 1,024 vectors).
Promises: absolute; stops with an error beyond its table; 2 · table · d parameters (one table where it is placed in
one stack only). Positions longer than any training sentence keep their random start.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from torch import Tensor, nn

from wordorder.encodings.base import Encoding, EncodingConfig, Positions, Shape, Stack
from wordorder.encodings.registry import register
from wordorder.errors import WordorderError


class LearnedConfig(EncodingConfig):
    type: Literal["learned"] = "learned"
    table: Annotated[int, Field(gt=0, description="Positions a table holds.")] = 1024


@register(LearnedConfig)
class Learned(Encoding):
    """Adds a trained vector a position to the scaled embeddings."""

    absolute = True

    def __init__(self, config: LearnedConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self.size = config.table
        stacks: tuple[Stack, ...] = ("encoder", "decoder")
        self.tables = nn.ModuleDict(
            {stack: nn.Embedding(config.table, shape.dim) for stack in stacks if self.acts_in(stack)}
        )
        for table in self.tables.values():
            nn.init.normal_(table.weight, std=shape.dim**-0.5)

    def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        self._check(positions.limit)
        vectors: Tensor = self.tables[stack](positions.absolute)
        return x + vectors.to(x.dtype)

    def _check(self, limit: int) -> None:
        if limit > self.size:
            raise WordorderError(
                f"The encoding 'learned' has a table of {self.size} positions, but a sentence needs {limit}. "
                "Raise 'table' of this encoding in encodings.yaml and train again, or shorten the sentence."
            )

    def _table(self, length: int, stack: Stack) -> Tensor:
        self._check(length)
        table: nn.Embedding = self.tables[stack]
        return table.weight[:length].detach()

    def _limit(self, stack: Stack) -> int:
        return self.size
