"""The attentional LSTM (Luong et al. 2015), with a positional encoding at its embeddings.

    encoder   layers of LSTMs, by default bidirectional with d/2 per direction
    decoder   layers of LSTMs, each starting from the final state of the encoder layer with the same number
    score     h_t · W_a s_j                            "general" attention over all states s_j of the encoder
    output    tanh(W_c [Σ_j softmax_j(score) s_j; h_t])

Source: Luong, Pham and Manning 2015, sections 2-3, with global attention; dropout after the embeddings, between layers
and after the output. Their input feeding, in which a step also reads the output of the previous step, is off unless the
size enables it. Without it the whole target passes through each layer at once, and a training step is several times
faster.

Notation: B sentences, S source tokens, T target tokens, d model size, K hypotheses per sentence.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence
from typing_extensions import override

from wordorder.config.base import Positive
from wordorder.config.models import Recipe
from wordorder.config.sizes import ArchitectureSize
from wordorder.draws import moved, repeated, rows_of
from wordorder.dropout import Dropout, dropout
from wordorder.encodings.base import Encoding, Positions, Shape
from wordorder.model.architectures.base import Translator, register
from wordorder.model.attention.base import WeightsReader
from wordorder.model.batch import PAD
from wordorder.model.masks import padding_mask
from wordorder.model.places import refuse_attention
from wordorder.precision import without_autocast

State = tuple[Tensor, Tensor]  # hidden and cell, (N, d) each


class LSTMSize(ArchitectureSize):
    """Size of an LSTM with attention."""

    architecture: Literal["lstm"]
    layers: Positive = Field(description="Number of layers of the encoder, and of the decoder.")
    dim: Positive = Field(description="Size of the embeddings and of the states.")
    bidirectional: bool = Field(
        default=True, description="Encode in both directions, with half of dim each; if false, only forward."
    )
    input_feeding: bool = Field(
        default=False,
        description="Feed the attentional vector of the previous step to each step, so that training runs token by "
        "token.",
    )

    @model_validator(mode="after")
    def _directions_divide_dim(self) -> LSTMSize:
        if self.bidirectional and self.dim % 2:
            raise ValueError(f"dim ({self.dim}) must be even, because each direction of the encoder has half of it")
        return self


@dataclass
class Memory:
    """The encoded source that the decoder reads.

    Attributes:
        keys: Keys of the attention, (B, S, d).
        states: States of the encoder, (B, S, d).
        mask: -inf at padding, (B, 1, S), or None.
        start: Start state of each decoder layer.
        drawn: The random numbers that the encoding drew for each sentence, (B, D), or None.
    """

    keys: Tensor
    states: Tensor
    mask: Tensor | None
    start: list[State]
    drawn: Tensor | None

    def select(self, rows: Tensor) -> Memory:
        """Select sentences (indices into B), in the given order."""
        mask = None if self.mask is None else self.mask.index_select(0, rows)
        start = [_rows(state, rows) for state in self.start]
        drawn = None if self.drawn is None else rows_of(self.drawn, rows)
        return Memory(self.keys.index_select(0, rows), self.states.index_select(0, rows), mask, start, drawn)


class Cache:
    """The state of each decoder layer, and the last output (N, d), of every hypothesis."""

    def __init__(self) -> None:
        self.layers: list[State] = []
        self.output: Tensor | None = None

    def begin(self, memory: Memory, hypotheses: int) -> None:
        """Set the state before the first token: the final encoder state of the sentence of each hypothesis."""
        rows = torch.arange(len(memory.keys), device=memory.keys.device).repeat_interleave(hypotheses)
        self.layers = [_rows(state, rows) for state in memory.start]
        self.output = torch.zeros_like(self.layers[0][0])

    def select(self, rows: Tensor) -> None:
        """Select hypotheses (indices into N of any shape), in the given order."""
        rows = rows.flatten()
        self.layers = [_rows(state, rows) for state in self.layers]
        self.output = None if self.output is None else self.output.index_select(0, rows)


class GlobalAttention(nn.Module):
    """Luong's "general" score over all states of the encoder, and the combination of context and query."""

    def __init__(self, dim: int, dropout_probability: float) -> None:
        super().__init__()
        self.dropout_probability = dropout_probability
        self.score = nn.Linear(dim, dim, bias=False)
        self.combine = nn.Linear(2 * dim, dim, bias=False)
        for linear in (self.score, self.combine):
            nn.init.xavier_uniform_(linear.weight)

    def weights(self, queries: Tensor, memory: Memory) -> Tensor:
        """Compute attention weights, (B, T, d) to (B, T, S)."""
        scores = queries @ memory.keys.transpose(1, 2)
        if memory.mask is not None:
            scores = scores + memory.mask
        return torch.softmax(scores, dim=-1)

    def forward(self, queries: Tensor, memory: Memory, weights_reader: WeightsReader | None = None) -> Tensor:
        """Attend to the source, (B, T, d) to (B, T, d); the reader receives the weights of one head, (B, 1, T, S)."""
        weights = dropout(self.weights(queries, memory), self.dropout_probability, self.training)
        if weights_reader is not None:
            weights_reader(weights[:, None])
        context = weights.to(memory.states.dtype) @ memory.states
        return torch.tanh(self.combine(torch.cat((context, queries), dim=-1)))


@register
class LSTMTranslator(Translator):
    """An attentional LSTM, which rejects encodings that act inside attention.

    The keys ``norm`` and ``activation_dropout`` of the recipe have no effect here; ``attention_dropout`` applies to the
    weights of the attention.
    """

    configuration = LSTMSize

    def __init__(self, size: LSTMSize, recipe: Recipe, encoding: Encoding, vocabulary_size: int) -> None:
        super().__init__(size, recipe, encoding, vocabulary_size)
        refuse_attention(encoding, size.architecture)
        self.input_feeding = size.input_feeding
        directions = 2 if size.bidirectional else 1
        # One module a layer, with our dropout between them: that of several layers in one module would not be
        # repeatable on a GPU, where cuDNN has its own generator.
        self.encoder = nn.ModuleList(
            nn.LSTM(size.dim, size.dim // directions, batch_first=True, bidirectional=size.bidirectional)
            for _ in range(size.layers)
        )
        self.decoder = nn.ModuleList(
            nn.LSTM(2 * size.dim if size.input_feeding and not layer else size.dim, size.dim, batch_first=True)
            for layer in range(size.layers)
        )
        self.attention = GlobalAttention(size.dim, recipe.attention_dropout)

    @classmethod
    def shape(cls, size: LSTMSize) -> Shape:
        """Return the layers of both stacks; there is one head."""
        return Shape(size.dim, heads=1, encoder_layers=size.layers, decoder_layers=size.layers)

    def encoder_output(self, source: Tensor, *, positions: Positions | None = None) -> Tensor:
        """Return the states of the last encoder layer, (B, S, d)."""
        return self.encode(source, positions=positions).states

    @override
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
        if type(self).encode is not LSTMTranslator.encode:
            return super().forward(source, target, source_positions=source_positions)
        return self.decode(target, self._encoded(source, source_positions, source_lengths))

    def encode(self, source: Tensor, *, positions: Positions | None = None) -> Memory:
        """Encode source tokens (B, S), padded at the right."""
        return self._encoded(source, positions, None)

    def _encoded(self, source: Tensor, positions: Positions | None, lengths: Tensor | None) -> Memory:
        """Encode source tokens (B, S); ``lengths`` is their number in each sentence, (B,) on the CPU, if known."""
        positions = self._drawn(positions or Positions.range(source.size(1), on=source.device), source)
        x = self._embed(self.source_embedding, source, positions, "encoder")[0].to(self.output.weight.dtype)
        # Packing makes the backward direction begin at the end of each sentence.
        lengths = (source != PAD).sum(1).cpu() if lengths is None else lengths
        lengths, order = lengths.sort(descending=True)
        # Sorted here and not by PyTorch, which would wait for the device.
        longest_first, back = moved(order, source.device), moved(order.argsort(), source.device)
        packed = pack_padded_sequence(x.index_select(0, longest_first), lengths, batch_first=True)
        start = []
        with _single_precision(source):
            for number, layer in enumerate(self.encoder):
                packed, (hidden, cell) = layer(_dropped(packed, self.dropout) if number else packed)
                start.append(_rows((_joined(hidden), _joined(cell)), back))
        states, _ = pad_packed_sequence(packed, batch_first=True, total_length=source.size(1))
        states = states.index_select(0, back)
        mask = padding_mask(source)
        mask = None if mask is None else mask.squeeze(1)
        return Memory(self.attention.score(states), states, mask, start, positions.drawn)

    def decode(self, target: Tensor, memory: Memory) -> Tensor:
        """Decode all target positions at once, each of which sees the earlier ones, (B, T) to (B, T, d)."""
        positions = replace(Positions.range(target.size(1), on=target.device), drawn=memory.drawn, tokens=target)
        x, _ = self._embed(self.target_embedding, target, positions, "decoder")
        cache = Cache()
        cache.begin(memory, 1)
        if not self.input_feeding:
            return self._advance(x, memory, cache)
        return torch.cat([self._advance(x[:, place : place + 1], memory, cache) for place in range(x.size(1))], dim=1)

    def step(self, tokens: Tensor, memory: Memory, caches: list[Cache], step: int) -> Tensor:
        """Decode one more token of each hypothesis, (B, K) tokens at position ``step`` to (B, K, d).

        Args:
            tokens: Token indices, (B, K).
            memory: The result of ``encode``.
            caches: One cache, empty before the first step; rows are b·K + k.
            step: Number of earlier tokens.

        Returns:
            Hidden states, (B, K, d).
        """
        (cache,) = caches
        if not cache.layers:
            cache.begin(memory, tokens.size(1))
        positions = replace(Positions.range(1, offset=step, on=tokens.device), tokens=tokens.reshape(-1, 1))
        if memory.drawn is not None:
            positions = replace(positions, drawn=repeated(memory.drawn, tokens.size(1)))  # (B·K, D)
        x, _ = self._embed(self.target_embedding, tokens.reshape(-1, 1), positions, "decoder")
        return self._advance(x, memory, cache)

    @override
    def new_caches(self) -> list[Cache]:
        return [Cache()]

    def _advance(self, x: Tensor, memory: Memory, cache: Cache) -> Tensor:
        """Read the next T tokens of each of B·K rows, (B·K, T, d), with T or K equal to 1, and return (B, T · K, d)."""
        if self.input_feeding:
            assert cache.output is not None
            x = torch.cat((x, cache.output[:, None]), dim=-1)
        x = x.to(self.output.weight.dtype)
        with _single_precision(x):
            for number, layer in enumerate(self.decoder):
                hidden, cell = cache.layers[number]
                x, (hidden, cell) = layer(self.dropout(x) if number else x, (hidden[None], cell[None]))
                cache.layers[number] = hidden[0], cell[0]
        queries = x.reshape(len(memory.keys), -1, self.dim)
        output: Tensor = self.dropout(self.attention(queries, memory, self._reader("cross", 0)))
        cache.output = output.reshape(*x.shape)[:, -1]
        return output


def _single_precision(on: Tensor) -> AbstractContextManager[object]:
    """No automatic half precision for LSTMs.

    On a CPU oneDNN refuses bfloat16 where there is no such arithmetic. On a GPU PyTorch runs them in float16, whatever
    was asked for, and gradients that nothing scales would vanish.
    """
    return without_autocast(on.device.type)


def _dropped(packed: PackedSequence, drop: Dropout) -> PackedSequence:
    return packed._replace(data=drop(packed.data))


def _joined(ends: Tensor) -> Tensor:
    """Join the final states of an encoder layer's directions, (directions, B, d / directions) to (B, d)."""
    return ends.transpose(0, 1).flatten(1)


def _rows(state: State, rows: Tensor) -> State:
    return state[0].index_select(0, rows), state[1].index_select(0, rows)
