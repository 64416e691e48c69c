"""The interface of architectures: what training, loss and search use of a model, and the embeddings at its ends.

An architecture is one file: a class derived from :class:`Translator`, its size configuration, and how both map to the
:class:`.Shape` that an encoding sees.

B sentences, S source tokens, T target tokens, d model size, K hypotheses per sentence, V vocabulary.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, Protocol, Self, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from wordorder.config.models import Recipe
from wordorder.config.sizes import ArchitectureSize
from wordorder.dropout import Drop, Dropout
from wordorder.encodings.base import Encoding, Positions, Shape, Stack
from wordorder.model.attention.base import WeightsReader
from wordorder.model.batch import PAD
from wordorder.registry import Registry

# Self-attention of the source and of the target, and the attention of the target to the source.
Kind = Literal["encoder", "decoder", "cross"]


class EncodedSource(Protocol):
    """What the decoder knows of the source."""

    def select(self, rows: Tensor) -> Self:
        """Keep the given sentences (indices into B), in that order."""


class DecoderCache(Protocol):
    """A part of what a step-by-step decoder has already read, a row a hypothesis."""

    def select(self, rows: Tensor) -> None:
        """Keep the given hypotheses (indices b·K + k), in that order."""


class WeightsRecorder(Protocol):
    """A request for attention weights."""

    kinds: frozenset[Kind]

    def add(self, kind: Kind, layer: int, weights: Tensor) -> None:
        """Take the weights of one attention, (B, H, queries, keys); ``layer`` counts from 0."""


class Translator(nn.Module, ABC):
    """A model that translates: layers between embeddings, with a positional encoding inside.

    Args:
        size: Size configuration, of the class ``configuration``.
        recipe: Training recipe, for dropout, norms and tied embeddings.
        encoding: Positional encoding, built for the shape of the size.
        vocabulary_size: Number of subwords, V.
    """

    configuration: ClassVar[type[ArchitectureSize]]

    # Whether the positions of the target continue those of the source.
    one_stream: ClassVar[bool] = False

    # While this is set, attention weights are handed to it.
    recorder: WeightsRecorder | None = None

    def __init__(self, size: Any, recipe: Recipe, encoding: Encoding, vocabulary_size: int) -> None:
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
        self.dropout = Dropout(size.dropout if recipe.dropout is None else recipe.dropout)

    @classmethod
    @abstractmethod
    def shape(cls, size: Any) -> Shape:
        """Return what an encoding sees of a model of this size."""

    @classmethod
    @abstractmethod
    def label(cls, size: Any) -> str:
        """Return a short readable name of a size, such as "transformer-2x2-128"."""

    @abstractmethod
    def encode(self, source: Tensor, *, positions: Positions | None = None) -> EncodedSource:
        """Read source tokens (B, S), padded at the right, once per sentence, for :meth:`decode` and :meth:`step`."""

    @abstractmethod
    def encoder_output(self, source: Tensor, *, positions: Positions | None = None) -> Tensor:
        """Return the last representation of source tokens (B, S): (B, S, d)."""

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

    def room(self, source_tokens: int) -> int | None:
        """Return the largest number of target positions after a source of this length; None if any number works."""
        return self.encoding.limit("decoder")

    @staticmethod
    def meets(parameter: str) -> tuple[Stack, ...]:
        """Return which tokens meet a weight matrix: those of the source ("encoder") or of the target ("decoder")."""
        return ("encoder",) if parameter.startswith("encoder") or "project_memory" in parameter else ("decoder",)

    def forward(self, source: Tensor, target: Tensor, *, source_positions: Positions | None = None) -> Tensor:
        """Source (B, S), target input beginning with BEGIN (B, T); both padded at the right -> hidden (B, T, d)."""
        return self.decode(target, self.encode(source, positions=source_positions))

    def logits(self, hidden: Tensor) -> Tensor:
        """(…, d) -> (…, V)"""
        return functional.linear(hidden, self.output.weight)

    def _drawn(self, positions: Positions, tokens: Tensor) -> Positions:
        """Add source tokens (B, S), their number in each sentence, and what the encoding draws once per pass."""
        drawn = self.encoding.draw(len(tokens))
        lengths = None if self.one_stream else (tokens != PAD).sum(1, keepdim=True)
        drawn = None if drawn is None else drawn.to(tokens.device)
        return replace(positions, drawn=drawn, lengths=lengths, tokens=tokens)

    def _reader(self, kind: Kind, layer: int) -> WeightsReader | None:
        """Return who reads the weights of one attention."""
        recorder = self.recorder
        return partial(recorder.add, kind, layer) if recorder is not None and kind in recorder.kinds else None

    def _embed(self, table: nn.Embedding, tokens: Tensor, positions: Positions, stack: Stack) -> tuple[Tensor, Drop]:
        """What enters the first layer, and the dropout that was drawn for it."""
        x = table(tokens) * math.sqrt(self.dim)
        x, drop = self.dropout.drawn(self.encoding.add_to_embeddings(x, positions, stack))
        return self.encoding.transform_embeddings(x, positions, stack), drop


REGISTRY: Registry[type[Translator]] = Registry("architectures", "architecture")
Class = TypeVar("Class", bound=type[Translator])


def register(architecture: Class) -> Class:
    """Register an architecture under the ``architecture`` of its size configuration (class decorator)."""
    REGISTRY.add(architecture.configuration.name(), architecture)
    return architecture


def architecture_of(size: ArchitectureSize) -> type[Translator]:
    """Return the architecture of a size."""
    return REGISTRY.get(size.architecture)


def label(size: ArchitectureSize) -> str:
    """Return a short readable name of a size, such as "transformer-2x2-128"."""
    return architecture_of(size).label(size)


def _embedding(vocabulary_size: int, dim: int) -> nn.Embedding:
    table = nn.Embedding(vocabulary_size, dim, padding_idx=PAD)
    nn.init.normal_(table.weight, std=dim**-0.5)
    with torch.no_grad():
        table.weight[PAD].zero_()
    return table
