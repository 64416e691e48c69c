"""The layout of a batch's tokens in the tensors that layers pass on.

Attention needs sentences, (B, L, k). All other operations of a layer process each token separately, so that its tensors
may be lists of tokens, (N, k): matrix products then need no changes of shape, and padding can be excluded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from typing_extensions import override


class Layout(ABC):
    """The layout of the tensors between the attentions of a layer."""

    @abstractmethod
    def to_sentences(self, x: Tensor, *parts: int) -> Tensor:
        """Return features of tokens in this layout as sentences.

        Args:
            x: Features, (B, L, k) or (N, k).
            parts: Sizes of the dimensions into which the features are divided before the last one.

        Returns:
            Features, (B, L, *parts, k / product of parts).
        """

    @abstractmethod
    def from_sentences(self, x: Tensor) -> Tensor:
        """Return features of the tokens of sentences, (B, L, …), in this layout, with one dimension of features."""


class Sentences(Layout):
    """Sentences with padding, (B, L, k)."""

    @override
    def to_sentences(self, x: Tensor, *parts: int) -> Tensor:
        return x.view(*x.shape[:2], *parts, -1) if parts else x

    @override
    def from_sentences(self, x: Tensor) -> Tensor:
        return x.flatten(2)


@dataclass(frozen=True)
class Flat(Layout):
    """One token after another, sentence by sentence, with padding, (B·L, k).

    Attributes:
        sentences: Number of sentences, B.
        length: Tokens of each sentence, L.
    """

    sentences: int
    length: int

    @override
    def to_sentences(self, x: Tensor, *parts: int) -> Tensor:
        return x.view(self.sentences, self.length, *parts, -1)

    @override
    def from_sentences(self, x: Tensor) -> Tensor:
        return x.reshape(self.sentences * self.length, -1)


@dataclass(frozen=True)
class Packed(Layout):
    """One token after another, sentence by sentence, without padding, (N, k).

    Attributes:
        flat: The layout with padding.
        places: The places of the N tokens in it, (N,) int64.
    """

    flat: Flat
    places: Tensor

    @override
    def to_sentences(self, x: Tensor, *parts: int) -> Tensor:
        padded: Tensor = _Pad.apply(x, self.places, self.flat.sentences * self.flat.length)  # type: ignore[no-untyped-call]
        return self.flat.to_sentences(padded, *parts)

    @override
    def from_sentences(self, x: Tensor) -> Tensor:
        packed: Tensor = _Pack.apply(self.flat.from_sentences(x), self.places)  # type: ignore[no-untyped-call]
        return packed


def _padded(x: Tensor, places: Tensor, rows: int) -> Tensor:
    return x.new_zeros(rows, x.size(-1)).index_copy_(0, places, x)


# Each of the two is the gradient of the other. PyTorch's own gradients are the same, in more operations.
class _Pad(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor, places: Tensor, rows: int) -> Tensor:
        context.save_for_backward(places)
        return _padded(x, places, rows)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (places,) = context.saved_tensors
        return gradients[0].index_select(0, places), None, None


class _Pack(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor, places: Tensor) -> Tensor:
        context.save_for_backward(places)
        context.rows = x.size(0)
        return x.index_select(0, places)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (places,) = context.saved_tensors
        return _padded(gradients[0], places, context.rows), None


SENTENCES = Sentences()


def layout_of(tokens: Tensor, places: Tensor | None = None) -> Layout:
    """Return the layout for a matrix of tokens, (B, L).

    Args:
        tokens: Token indices, padded at the right.
        places: The places of the real tokens in the flattened matrix, (N,) int64, if padding is to be left out.
    """
    flat = Flat(tokens.size(0), tokens.size(1))
    return flat if places is None else Packed(flat, places)
