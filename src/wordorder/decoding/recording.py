"""The attention weights of a finished model, taken where the model computes them.

An encoding is told the weights of every attention at its place ``context``. For the time of a ``with`` block the
model's encoding is composed with one that does nothing there but keep them. So they hold whatever the encoding did to
the scores, and the attention itself, and the speed of training with it, stay as they are.

B sentences, H heads, Lq queries, Lk keys.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor

from wordorder.encodings.base import AttentionEncoding, Encoding, Positions, Stack
from wordorder.encodings.compose import ComposedAttention
from wordorder.model.lstm import LSTMTranslator
from wordorder.model.translator import Translator

# Self-attention of the encoder and of the decoder, and the decoder's attention to the source.
Kind = Literal["encoder", "decoder", "cross"]


class Recording:
    """The weights of those kinds of attention that were asked for."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.kinds = frozenset(kinds)
        self._found: defaultdict[Kind, defaultdict[int, list[Tensor]]]
        self._clear()

    def add(self, kind: Kind, layer: int, weights: Tensor) -> None:
        if kind in self.kinds:
            self._found[kind][layer].append(weights)

    def take(self) -> dict[Kind, list[Tensor]]:
        """What was recorded since the last time: of each kind a list of layers, (B, H, Lq, Lk) each."""
        # A decoder that goes token by token has told the rows one after the other.
        taken: dict[Kind, list[Tensor]] = {kind: [] for kind in self.kinds}
        for kind, layers in self._found.items():
            taken[kind] = [torch.cat(layers[number], dim=2) for number in sorted(layers)]
        self._clear()
        return taken

    def _clear(self) -> None:
        self._found = defaultdict(lambda: defaultdict(list))


class _RecordedAttention(AttentionEncoding):
    """Keeps the weights. As it overrides ``context``, no fused kernel can hide them."""

    def __init__(self, recording: Recording, kind: Kind, layer: int) -> None:
        super().__init__()
        self.recording, self.kind, self.layer = recording, kind, layer

    def context(self, context: Tensor, weights: Tensor, query: Positions, key: Positions) -> Tensor:
        self.recording.add(self.kind, self.layer, weights)
        return context


class _RecordedEncoding(Encoding):
    """Another encoding, whose attention is recorded."""

    def __init__(self, inner: Encoding, recording: Recording) -> None:
        super().__init__(inner.config, inner.shape)
        self.inner, self.recording = inner, recording

    def add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        return self.inner.add_to_embeddings(x, positions, stack)

    def transform_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        return self.inner.transform_embeddings(x, positions, stack)

    def attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return self._recorded(self.inner.attention(stack, layer), stack, layer)

    def cross_attention(self, layer: int) -> AttentionEncoding:
        return self._recorded(self.inner.cross_attention(layer), "cross", layer)

    def limit(self, stack: Stack) -> int | None:
        return self.inner.limit(stack)

    def table(self, length: int, stack: Stack = "encoder") -> Tensor | None:
        return self.inner.table(length, stack)

    def _recorded(self, attention: AttentionEncoding, kind: Kind, layer: int) -> AttentionEncoding:
        if kind not in self.recording.kinds:
            return attention
        return ComposedAttention([attention, _RecordedAttention(self.recording, kind, layer)])


@contextmanager
def recorded(model: Translator, kinds: Sequence[Kind]) -> Iterator[Recording]:
    """Record the attention weights of every pass of ``model`` within the block; the model computes what it always does.

    The model must be in evaluation mode, because in training the weights would be those after dropout. An LSTM has
    ``cross`` attention alone, of one layer and one head.
    """
    if model.training:
        raise ValueError("the model must be in evaluation mode")
    recording = Recording(kinds)
    if isinstance(model, LSTMTranslator):

        def listen(module: Any, arguments: Any) -> None:
            recording.add("cross", 0, module.weights(*arguments)[:, None])

        handle = model.attention.register_forward_pre_hook(listen)
        try:
            yield recording
        finally:
            handle.remove()
        return
    inner = model.encoding
    model.encoding = _RecordedEncoding(inner, recording).eval()
    try:
        yield recording
    finally:
        model.encoding = inner
