"""What training, loss and search use of a model, whatever its architecture, and the embeddings at its ends.

B sentences, S source tokens, T target tokens, d model size, K hypotheses a sentence, V vocabulary.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from wordorder.config.models import LSTMSize, Recipe, Size
from wordorder.dropout import Drop, Dropout
from wordorder.encodings.base import Encoding, Positions, Stack
from wordorder.model.batch import PAD


class EncodedSource(Protocol):
    """What the decoder knows of the source."""

    def select(self, rows: Tensor) -> Self:
        """Keep the given sentences (indices into B), in that order."""


class DecoderCache(Protocol):
    """A part of what a step-by-step decoder has already read, a row a hypothesis."""

    def select(self, rows: Tensor) -> None:
        """Keep the given hypotheses (indices b·K + k), in that order."""


class Translator(nn.Module, ABC):
    """A model that translates: an encoder and a decoder between embeddings, with a positional encoding inside."""

    def __init__(self, size: Size | LSTMSize, recipe: Recipe, encoding: Encoding, vocabulary_size: int) -> None:
        super().__init__()
        self.dim = size.dim
        self.encoding = encoding
        self.source_embedding = _embedding(vocabulary_size, size.dim)
        self.target_embedding = (
            self.source_embedding if recipe.tie_embeddings == "all" else _embedding(vocabulary_size, size.dim)
        )
        self.output = nn.Linear(size.dim, vocabulary_size, bias=False)
        if recipe.tie_embeddings == "none":
            nn.init.normal_(self.output.weight, std=size.dim**-0.5)
        else:
            self.output.weight = self.target_embedding.weight
        self.dropout = Dropout(dropout_rate(size, recipe))

    @abstractmethod
    def encode(self, source: Tensor, *, positions: Positions | None = None) -> EncodedSource:
        """(B, S) token numbers, padded at the right -> what the decoder knows of them."""

    @abstractmethod
    def decode(self, target: Tensor, memory: Any) -> Tensor:
        """All target positions at once, each seeing the ones before: (B, T) -> (B, T, d).

        memory: what ``encode`` gave.
        """

    @abstractmethod
    def step(self, tokens: Tensor, memory: Any, caches: Any, step: int) -> Tensor:
        """One more token of each hypothesis: (B, K) tokens at position ``step`` -> (B, K, d).

        memory: what ``encode`` gave; caches: what ``new_caches`` gave before the first step.
        """

    @abstractmethod
    def new_caches(self) -> Sequence[DecoderCache]:
        """The caches of a decoder that has read nothing yet."""

    def forward(self, source: Tensor, target: Tensor, *, source_positions: Positions | None = None) -> Tensor:
        """Source (B, S), target input beginning with BEGIN (B, T); both padded at the right -> hidden (B, T, d)."""
        return self.decode(target, self.encode(source, positions=source_positions))

    def logits(self, hidden: Tensor) -> Tensor:
        """(…, d) -> (…, V)"""
        return functional.linear(hidden, self.output.weight)

    def _embed(self, table: nn.Embedding, tokens: Tensor, positions: Positions, stack: Stack) -> tuple[Tensor, Drop]:
        """What enters the first layer, and the dropout that was drawn for it."""
        x = table(tokens) * math.sqrt(self.dim)
        x, drop = self.dropout.drawn(self.encoding.add_to_embeddings(x, positions, stack))
        return self.encoding.transform_embeddings(x, positions, stack), drop


def dropout_rate(size: Size | LSTMSize, recipe: Recipe) -> float:
    return size.dropout if recipe.dropout is None else recipe.dropout


def _embedding(vocabulary_size: int, dim: int) -> nn.Embedding:
    table = nn.Embedding(vocabulary_size, dim, padding_idx=PAD)
    nn.init.normal_(table.weight, std=dim**-0.5)
    with torch.no_grad():
        table.weight[PAD].zero_()
    return table
