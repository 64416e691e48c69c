"""Learned absolute encoding (LAPE, LPE).

    P(pos) = row pos of a learned table, one table for the encoder and one for the decoder

Source: Gehring et al. 2017; the PosNet paper's LAPE (two tables of 1,024 vectors).
Promises: absolute; stops with an error beyond its table; 2 · table · d parameters (one table if it is placed in one
stack only). Positions beyond any training sentence keep their random start.
Start: normal with standard deviation d^-1/2, like the word embeddings.
Departures: Gehring et al. use convolutions and embeddings that are not scaled, and start both tables from N(0, 0.1²).
"""

from __future__ import annotations

from typing import Annotated, Literal, cast

from pydantic import Field
from torch import Tensor, nn
from typing_extensions import override

from wordorder.config.encodings import ControllableConfig
from wordorder.encodings.base import Encoding, Positions, Shape, Stack
from wordorder.encodings.lookup import refuse_beyond
from wordorder.encodings.registry import register


class LearnedConfig(ControllableConfig):
    """Parameters of an entry with ``type: learned``."""

    type: Literal["learned"] = "learned"
    table: Annotated[int, Field(gt=0, description="Number of positions in each table.")] = 1024

    @override
    def parameter_count(self, shape: Shape) -> int:
        return len(self.stacks) * self.table * shape.dim


@register(LearnedConfig)
class Learned(Encoding):
    """Adds a learned vector per position to the scaled embeddings."""

    absolute = True
    one_by_one = True

    def __init__(self, config: LearnedConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self.size = config.table
        self.tables = nn.ModuleDict({stack: nn.Embedding(config.table, shape.dim) for stack in config.stacks})
        for stack in config.stacks:
            nn.init.normal_(self._embedding(stack).weight, std=shape.dim**-0.5)

    def _embedding(self, stack: Stack) -> nn.Embedding:
        return cast(nn.Embedding, self.tables[stack])

    def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        refuse_beyond("learned", self.size, positions.limit)
        vectors: Tensor = self._embedding(stack)(positions.absolute)
        return x + vectors.to(x.dtype)

    def _table(self, length: int, stack: Stack) -> Tensor:
        refuse_beyond("learned", self.size, length)
        return self._embedding(stack).weight[:length].detach()

    def _limit(self, stack: Stack) -> int:
        return self.size
