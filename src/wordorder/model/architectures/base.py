"""The interface of architectures for training, loss and search, and the embeddings at both ends of a model.

An architecture is one file: a class derived from :class:`Translator`, its size configuration, and the mapping of both
to the :class:`.Shape` that an encoding sees.

Notation: B sentences, S source tokens, T target tokens, d model size, K hypotheses per sentence, V vocabulary.
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

from wordorder.config.models import Recipe
from wordorder.config.sizes import ArchitectureSize
from wordorder.draws import moved
from wordorder.dropout import Drop, Dropout
from wordorder.encodings.base import Encoding, Positions, Shape, Stack
from wordorder.model.attention.base import WeightsReader
from wordorder.model.batch import PAD
from wordorder.model.layers import dropout_rate
from wordorder.registry import Registry

# self-attention of the source and of the target, and the attention of the target to the source
Kind = Literal["encoder", "decoder", "cross"]


class EncodedSource(Protocol):
    """The encoded source that the decoder reads."""

    def select(self, rows: Tensor) -> Self:
        """Select sentences (indices into B), in the given order."""


class DecoderCache(Protocol):
    """A part of the tokens that a step-by-step decoder has already read, one row per hypothesis."""

    def select(self, rows: Tensor) -> None:
        """Select the hypotheses that are continued, indices b·K + k, (B, K).

        Those in a row are of one sentence. Sentences without a row have left the batch; the others keep their order.
        """


class WeightsRecorder(Protocol):
    """A request for attention weights."""

    kinds: frozenset[Kind]

    def add(self, kind: Kind, layer: int, weights: Tensor) -> None:
        """Store the weights of one attention, (B, H, queries, keys); ``layer`` counts from 0."""


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

    # Whether ``forward`` uses ``places`` to leave padding out. It is False if a class derives from one with such a
    # ``forward`` and overrides only ``encode`` or ``decode``, which a pass without padding does not call.
    packs: ClassVar[bool] = False

    # If this is set, it receives the attention weights.
    recorder: WeightsRecorder | None = None

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if cls.packs and min(map(cls._level, ("encode", "decode"))) < cls._level("forward"):
            cls.packs = False

    @classmethod
    def _level(cls, method: str) -> int:
        """Return the number of the class that defines a method, in the order in which Python looks it up."""
        return next(number for number, each in enumerate(cls.__mro__) if method in vars(each))

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
        self.dropout = Dropout(dropout_rate(recipe, size.dropout))

    @classmethod
    @abstractmethod
    def shape(cls, size: Any) -> Shape:
        """Return the shape that an encoding sees in a model of this size."""

    @abstractmethod
    def encode(self, source: Tensor, *, positions: Positions | None = None) -> EncodedSource:
        """Encode source tokens once per sentence, for :meth:`decode` and :meth:`step`.

        Args:
            source: Token indices, (B, S), padded at the right.
            positions: Positions of the tokens; by default 0, 1, ….

        Returns:
            The encoded source.
        """

    @abstractmethod
    def encoder_output(self, source: Tensor, *, positions: Positions | None = None) -> Tensor:
        """Return the last representation of source tokens (B, S): (B, S, d)."""

    @abstractmethod
    def decode(self, target: Tensor, memory: Any) -> Tensor:
        """Decode all target positions at once; each of them sees the earlier ones.

        Args:
            target: Token indices, (B, T).
            memory: The result of ``encode``.

        Returns:
            Hidden states, (B, T, d).
        """

    @abstractmethod
    def step(self, tokens: Tensor, memory: Any, caches: Any, step: int) -> Tensor:
        """Decode one more token of each hypothesis.

        Args:
            tokens: Token indices, (B, K), at position ``step``.
            memory: The result of ``encode``.
            caches: The result of ``new_caches`` before the first step.
            step: Number of earlier tokens.

        Returns:
            Hidden states, (B, K, d).
        """

    @abstractmethod
    def new_caches(self) -> Sequence[DecoderCache]:
        """Create the caches of a decoder that has not read anything."""

    @property
    def shares_rows(self) -> bool:
        """Whether rows of a training batch may hold several sentences."""
        return False

    def room(self, source_tokens: int) -> int | None:
        """Return the largest number of target positions after a source of this length; None if any number works."""
        return self.encoding.limit("decoder")

    @staticmethod
    def meets(parameter: str) -> tuple[Stack, ...]:
        """Return the stacks whose tokens a weight matrix is applied to, "encoder" or "decoder"."""
        return ("encoder",) if parameter.startswith("encoder") or "project_memory" in parameter else ("decoder",)

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        *,
        source_positions: Positions | None = None,
        target_positions: Positions | None = None,
        source_lengths: Tensor | None = None,
        places: tuple[Tensor, Tensor] | None = None,
    ) -> Tensor:
        """Compute the hidden states of target tokens.

        Args:
            source: Source tokens, (B, S), padded at the right.
            target: Target tokens that start with BEGIN, (B, T), padded at the right.
            source_positions: Positions of the source; by default 0, 1, ….
            target_positions: Positions of the target, for a model that takes several sentences per row
                (``shares_rows``); by default 0, 1, ….
            source_lengths: Number of tokens of each source, (B,) int64 on the CPU, for models whose host must know it.
            places: The places of the real tokens in the flattened source and target, (N,) int64 each, for a model that
                leaves padding out (``packs``).

        Returns:
            Hidden states, (B, T, d); with ``places`` those of the real tokens only, (N, d).
        """
        return self.decode(target, self.encode(source, positions=source_positions))

    def logits(self, hidden: Tensor) -> Tensor:
        """Compute logits, (…, d) to (…, V)."""
        logits: Tensor = self.output(hidden)
        return logits

    def _drawn(self, positions: Positions, tokens: Tensor) -> Positions:
        """Add source tokens (B, S), their number per sentence, and the random numbers of the encoding for this pass."""
        drawn = self.encoding.draw(len(tokens))
        unknown = self.one_stream or positions.sentences is not None
        lengths = None if unknown else (tokens != PAD).sum(1, keepdim=True)
        drawn = None if drawn is None else moved(drawn, tokens.device)
        return replace(positions, drawn=drawn, lengths=lengths, tokens=tokens, shared={})

    def _reader(self, kind: Kind, layer: int) -> WeightsReader | None:
        """Return the function that receives the weights of one attention."""
        recorder = self.recorder
        return partial(recorder.add, kind, layer) if recorder is not None and kind in recorder.kinds else None

    def _embed(self, table: nn.Embedding, tokens: Tensor, positions: Positions, stack: Stack) -> tuple[Tensor, Drop]:
        """Return the input of the first layer, and the dropout that was drawn for it."""
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


def _embedding(vocabulary_size: int, dim: int) -> nn.Embedding:
    table = nn.Embedding(vocabulary_size, dim, padding_idx=PAD)
    nn.init.normal_(table.weight, std=dim**-0.5)
    with torch.no_grad():
        table.weight[PAD].zero_()
    return table
