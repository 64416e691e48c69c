"""Recording of the attention weights of a finished model.

During a ``with`` block the model has a recorder. Each recorded attention requests its weights from its backend, and a
backend that can return them is selected. Everything else stays the same.

Notation: B sentences, H heads, Lq queries, Lk keys.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from wordorder.model.architectures.base import Kind, Translator


class Recording:
    """The weights of the requested kinds of attention."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.kinds = frozenset(kinds)
        self._found: defaultdict[Kind, defaultdict[int, list[Tensor]]]
        self._clear()

    def add(self, kind: Kind, layer: int, weights: Tensor) -> None:
        """Store the weights of one attention, (B, H, Lq, Lk)."""
        self._found[kind][layer].append(weights)

    def take(self) -> dict[Kind, list[Tensor]]:
        """Return the weights recorded since the last call: for each kind a list of layers, (B, H, Lq, Lk) each.

        A list is empty if the model has no such attention.
        """
        # A decoder that runs token by token passes one row after the other.
        taken: dict[Kind, list[Tensor]] = {kind: [] for kind in self.kinds}
        for kind, layers in self._found.items():
            taken[kind] = [torch.cat(layers[number], dim=2) for number in sorted(layers)]
        self._clear()
        return taken

    def _clear(self) -> None:
        self._found = defaultdict(lambda: defaultdict(list))


@contextmanager
def recorded(model: Translator, kinds: Sequence[Kind]) -> Iterator[Recording]:
    """Record the attention weights of every pass of ``model`` within the block; its results stay the same.

    An LSTM has only ``cross`` attention, of one layer and one head. A prefix language model has no separate ``decoder``
    attention; its ``cross`` weights are those of target queries on source tokens, and sum to less than 1.

    Args:
        model: The model, in evaluation mode.
        kinds: The kinds of attention.

    Yields:
        The recording.

    Raises:
        ValueError: The model is in training mode, in which the weights would be those after dropout.
    """
    if model.training:
        raise ValueError("the model must be in evaluation mode")
    recording = Recording(kinds)
    before, model.recorder = model.recorder, recording
    try:
        yield recording
    finally:
        model.recorder = before
