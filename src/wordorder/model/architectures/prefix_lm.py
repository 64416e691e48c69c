"""The prefix language model: one stack of layers reads source and target as one stream.

    source_1 … source_s END BEGIN target_1 … target_t

Source tokens attend to all source tokens, target tokens to the source and to the target up to themselves. There is no
cross-attention, and all layers are shared.

Source: Dong et al. 2019 (UniLM, sequence-to-sequence mask); Raffel et al. 2020 (T5, section 3.2.1, "prefix LM"). The
loss is that of the target only.

Positions continue over the stream. A source of s tokens, END included, has the positions 0 … s - 1, and the token t of
its target, from BEGIN at t = 0, has the position s + t. Padding of shorter sources moves no target token.

An encoding sees two stacks of the same layers: "encoder" is what it does to source tokens and with source queries,
"decoder" what it does to target tokens and with target queries, which see keys of both sides, all of them behind. So
``placement`` keeps its meaning, reordered source positions and inputs of single heads work as in an encoder, and
tables for keys behind a query are those of a decoder. Refused are encodings between target and source, which act in
cross-attention, and rotations of one side only, whose products with the other side mean nothing.

B sentences, S source tokens, T target tokens, d model size, H heads, d_h head size, K hypotheses per sentence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from wordorder.config.base import Positive
from wordorder.config.models import Recipe
from wordorder.config.sizes import ArchitectureSize
from wordorder.encodings.base import Encoding, Positions, Shape, Stack
from wordorder.model.architectures.base import Translator, register
from wordorder.model.attention.base import WeightsReader
from wordorder.model.attention.multihead import KeyValueCache, Prefix
from wordorder.model.batch import PAD
from wordorder.model.layers import EncoderLayer, heads_divide_dim
from wordorder.model.layout import layout_of
from wordorder.model.masks import causal_mask, padding_mask
from wordorder.model.places import refuse_idle, refuse_rotation_of_one_side


class PrefixLMSize(ArchitectureSize):
    """Size of a prefix language model."""

    architecture: Literal["prefix_lm"]
    layers: Positive = Field(description="Number of layers of the one stack.")
    ffn_dim: Positive = Field(description="Size of the hidden layer of the feed-forward networks.")
    heads: Positive = Field(description="Number of attention heads.")

    _heads_divide_dim = model_validator(mode="after")(heads_divide_dim)


@dataclass
class Memory:
    """The encoded source that target tokens read.

    Attributes:
        keys_values: Keys and values of each layer, (B, H, S, d_h) twice.
        states: The encoding's state of each token in each layer, (B, S, …), or None.
        mask: Added to scores: -inf at padding, (B, 1, 1, S); None without padding.
        positions: Positions of the source tokens, (1 | B, S).
        real: False at padding, (B, S).
        start: Position of the first target token, (B,).
    """

    keys_values: list[tuple[Tensor, Tensor]]
    states: list[Tensor | None]
    mask: Tensor | None
    positions: Positions
    real: Tensor
    start: Tensor

    def select(self, rows: Tensor) -> Memory:
        """Select sentences (indices into B), in the given order."""
        return Memory(
            [(keys.index_select(0, rows), values.index_select(0, rows)) for keys, values in self.keys_values],
            [None if state is None else state.index_select(0, rows) for state in self.states],
            None if self.mask is None else self.mask.index_select(0, rows),
            self.positions.select(rows),
            self.real.index_select(0, rows),
            self.start.index_select(0, rows),
        )

    def prefixes(self, target_tokens: int, most: int | None) -> list[Prefix]:
        """Return the source as keys of each layer; the positions of padding are behind all target tokens.

        Args:
            target_tokens: The number of target tokens.
            most: The limit of positions; those of padding are cut there. None keeps all.
        """
        behind = self.start[:, None] + target_tokens
        absolute = torch.where(self.real, self.positions.absolute, behind)  # (B, S)
        limit = self.positions.limit + target_tokens + 1
        positions = replace(self.positions, absolute=absolute, limit=limit, reordered=None)
        if most is not None:
            positions = _cut(positions, most)
        layers = zip(self.keys_values, self.states, strict=True)
        return [Prefix(*own, replace(positions, state=state)) for own, state in layers]


@register
class PrefixLM(Translator):
    """A decoder-only model that translates.

    The source is read once per sentence; its keys and values are the prefix of every target token.
    """

    configuration = PrefixLMSize
    one_stream = True

    def __init__(self, size: PrefixLMSize, recipe: Recipe, encoding: Encoding, vocabulary_size: int) -> None:
        super().__init__(size, recipe, encoding, vocabulary_size)
        refuse_idle(encoding, cross=False)
        refuse_rotation_of_one_side(encoding)
        self.layers = nn.ModuleList(EncoderLayer(size, recipe) for _ in range(size.layers))
        self.norm = nn.LayerNorm(size.dim) if recipe.norm == "pre" else nn.Identity()

    @classmethod
    def shape(cls, size: PrefixLMSize) -> Shape:
        """Return the same layers for both stacks."""
        return Shape(size.dim, size.heads, encoder_layers=size.layers, decoder_layers=size.layers)

    @staticmethod
    def meets(parameter: str) -> tuple[Stack, ...]:
        """Return the tokens that a weight matrix is applied to: source and target tokens use all layers."""
        return ("encoder", "decoder") if parameter.startswith("layers") else ("decoder",)

    def room(self, source_tokens: int) -> int | None:
        """Return the largest number of target positions after a source of this length; None if any number works."""
        limit = super().room(source_tokens)
        return None if limit is None else max(0, limit - source_tokens)

    def encode(self, source: Tensor, *, positions: Positions | None = None) -> Memory:
        """Return the keys and values of source tokens (B, S) in each layer."""
        positions = self._drawn(positions or Positions.range(source.size(1), on=source.device), source)
        _, mask, caches = self._read(source, positions)
        real = source != PAD
        keys_values = [(cache.keys, cache.values) for cache in caches]
        states = [None if cache.positions is None else cache.positions.state for cache in caches]
        start = positions.absolute.masked_fill(~real, -1).amax(1) + 1
        positions = replace(positions, shared=None)
        return Memory(keys_values, states, mask, positions, real, start)  # type: ignore[arg-type]

    def encoder_output(self, source: Tensor, *, positions: Positions | None = None) -> Tensor:
        """Return the source's representation in the last layer, (B, S, d), which the output layer never reads."""
        positions = positions or Positions.range(source.size(1), on=source.device)
        return self._read(source, self._drawn(positions, source))[0]

    def _read(self, source: Tensor, positions: Positions) -> tuple[Tensor, Tensor | None, list[KeyValueCache]]:
        """Return output (B, S, d), padding mask, and the keys and values of each layer."""
        embedded, drop = self._embed(self.source_embedding, source, positions, "encoder")
        layout = layout_of(source)
        x = layout.from_sentences(embedded)
        mask, caches = padding_mask(source), self.new_caches()
        for number, layer in enumerate(self.layers):
            x = layer(
                x,
                mask=mask,
                encoding=self.encoding.attention("encoder", number),
                positions=positions,
                cache=caches[number],
                drop=drop,
                weights_reader=self._reader("encoder", number),
                layout=layout,
            )
        return layout.to_sentences(self.norm(x)), mask, caches

    def decode(self, target: Tensor, memory: Memory) -> Tensor:
        """Decode all target tokens at once; each sees the source and earlier targets, (B, T) to (B, T, d)."""
        count = target.size(1)
        absolute = memory.start[:, None] + torch.arange(count, device=target.device)  # (B, T)
        limit = memory.positions.limit + count
        positions = Positions(absolute, limit, drawn=memory.positions.drawn, tokens=target)
        if (most := self.encoding.limit("decoder")) is not None:
            # The longest source and the longest target need not belong together; only padding is cut off. A training
            # has compared all lengths with the limit before its first update, and need not wait for the answer.
            if limit > most and not self.training:
                most = max(most, int(absolute.masked_fill(target == PAD, 0).amax()) + 1)
            positions = _cut(positions, most)
        mask = causal_mask(count, on=target.device)  # (1, 1, T, T)
        if memory.mask is None:
            mask = functional.pad(mask, (memory.real.size(1), 0))  # (1, 1, T, S + T)
        else:
            source_mask = memory.mask.expand(-1, -1, count, -1)  # (B, 1, T, S)
            mask = torch.cat((source_mask, mask.expand(len(source_mask), -1, -1, -1)), dim=-1)  # (B, 1, T, S + T)
        prefixes = memory.prefixes(count, most)
        return self._advance(target, positions, mask, prefixes, [None] * len(prefixes))

    def step(self, tokens: Tensor, memory: Memory, caches: list[KeyValueCache], step: int) -> Tensor:
        """Read one more token of each hypothesis: (B, K) tokens at target position ``step`` -> (B, K, d).

        Args:
            tokens: The last token of each hypothesis.
            memory: What ``encode`` returned.
            caches: One per layer, empty before the first step; rows are b·K + k.
            step: Number of target tokens before.
        """
        hypotheses = tokens.size(1)
        rows = torch.arange(len(tokens), device=tokens.device).repeat_interleave(hypotheses)
        own = memory.select(rows) if hypotheses > 1 else memory
        absolute = own.start[:, None] + step  # (B·K, 1)
        limit = memory.positions.limit + step + 1
        positions = Positions(absolute, limit, drawn=own.positions.drawn, tokens=tokens.reshape(-1, 1))
        if (most := self.encoding.limit("decoder")) is not None:
            # A sentence that needs more positions than there are has been ended by the search, unless all do.
            most = max(most, int(absolute.amin()) + 1)
            positions = _cut(positions, most)
        past = caches[0].keys
        target_keys = 1 if past is None else past.size(2) + 1
        mask = None if own.mask is None else functional.pad(own.mask, (0, target_keys))  # (B·K, 1, 1, S + step + 1)
        x = self._advance(tokens.reshape(-1, 1), positions, mask, own.prefixes(step + 1, most), caches)
        return x.view(*tokens.shape, -1)

    def new_caches(self) -> list[KeyValueCache]:
        """Return the caches of a model that has read no target token."""
        return [KeyValueCache() for _ in self.layers]

    def _advance(
        self,
        tokens: Tensor,
        positions: Positions,
        mask: Tensor | None,
        prefixes: list[Prefix],
        caches: list[KeyValueCache] | list[None],
    ) -> Tensor:
        """Read target tokens (N, L) after a prefix and caches -> (N, L, d)."""
        embedded, drop = self._embed(self.target_embedding, tokens, positions, "decoder")
        layout = layout_of(tokens)
        x = layout.from_sentences(embedded)
        for number, (layer, prefix) in enumerate(zip(self.layers, prefixes, strict=True)):
            x = layer(
                x,
                mask=mask,
                encoding=self.encoding.attention("decoder", number),
                positions=positions,
                cache=caches[number],
                prefix=prefix,
                drop=drop,
                weights_reader=self._source_reader(number, prefix),
                layout=layout,
            )
        return layout.to_sentences(self.norm(x))

    def _source_reader(self, layer: int, prefix: Prefix) -> WeightsReader | None:
        """Return the function that receives the weights of target queries on source tokens."""
        reader = self._reader("cross", layer)
        return None if reader is None else lambda weights: reader(weights[..., : prefix.keys.size(2)])


def _cut(positions: Positions, limit: int) -> Positions:
    """Return positions below a limit."""
    return replace(positions, absolute=positions.absolute.clamp(max=limit - 1), limit=min(limit, positions.limit))
