"""The encoder-decoder Transformer (Vaswani et al. 2017), pre- or post-norm, with a positional encoding inside.

Without encoder layers, the decoder attends directly to the source embeddings and their positions: the encoder-free
Transformer of Tang et al. 2019 and of the cross-lingual paper (section 4.4).

Notation: B sentences, S source tokens, T target tokens, d model size, K hypotheses per sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import Field, model_validator
from torch import Tensor, nn
from typing_extensions import override

from wordorder.config.base import Positive
from wordorder.config.models import Recipe
from wordorder.config.sizes import ArchitectureSize
from wordorder.draws import repeated
from wordorder.encodings.base import Encoding, Positions, Shape
from wordorder.model.architectures.base import Translator, register
from wordorder.model.attention.lineage import SUPPORTS, Lineage, LineageCache
from wordorder.model.attention.multihead import KeyValueCache
from wordorder.model.layers import DecoderLayer, EncoderLayer, heads_divide_dim
from wordorder.model.layout import Layout, layout_of
from wordorder.model.masks import causal_mask, padding_mask, sentence_mask
from wordorder.model.places import refuse_idle


class TransformerSize(ArchitectureSize):
    """Size of a Transformer (Vaswani et al. 2017, table 3)."""

    architecture: Literal["transformer"] = "transformer"
    encoder_layers: int = Field(
        ge=0,
        description="Number of encoder layers; with 0, the decoder attends to source embeddings and positions "
        "(encoder-free).",
    )
    decoder_layers: Positive = Field(description="Number of decoder layers.")
    dim: Positive = Field(description="Model size d.")
    ffn_dim: Positive = Field(description="Size of the hidden layer of the feed-forward networks.")
    heads: Positive = Field(description="Number of attention heads.")

    _heads_divide_dim = model_validator(mode="after")(heads_divide_dim)


@dataclass
class Memory:
    """The encoded source that the decoder reads: keys and values of each decoder layer, padding, positions."""

    keys_values: list[tuple[Tensor, Tensor]]
    mask: Tensor | None
    positions: Positions

    def select(self, rows: Tensor) -> Memory:
        """Select sentences (indices into B), in the given order."""
        kept = [(keys.index_select(0, rows), values.index_select(0, rows)) for keys, values in self.keys_values]
        mask = None if self.mask is None else self.mask.index_select(0, rows)
        return Memory(kept, mask, self.positions.select(rows))


@register
class Transformer(Translator):
    """The Transformer. Every encoding with hooks in its layers acts there."""

    configuration = TransformerSize
    packs = True

    def __init__(self, size: TransformerSize, recipe: Recipe, encoding: Encoding, vocabulary_size: int) -> None:
        super().__init__(size, recipe, encoding, vocabulary_size)
        refuse_idle(encoding)
        self.encoder = nn.ModuleList(EncoderLayer(size, recipe) for _ in range(size.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(size, recipe) for _ in range(size.decoder_layers))
        # A pre-norm stack leaves its sum unnormed; a post-norm stack ends with a norm already. Where there is no
        # stack, there is no sum.
        final = recipe.norm == "pre"
        self.encoder_norm = nn.LayerNorm(size.dim) if final and size.encoder_layers else nn.Identity()
        self.decoder_norm = nn.LayerNorm(size.dim) if final else nn.Identity()

    @classmethod
    def shape(cls, size: TransformerSize) -> Shape:
        """Return the layers of both stacks."""
        return Shape(size.dim, size.heads, size.encoder_layers, size.decoder_layers)

    @property
    @override
    def shares_rows(self) -> bool:
        return self.encoding.one_by_one

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
        if places is None and target_positions is None:
            return super().forward(source, target, source_positions=source_positions)
        source_places, target_places = places or (None, None)
        memory = self._encode(source, source_positions, layout_of(source, source_places))
        layout = layout_of(target, target_places)
        x = self._decode(target, memory, layout, target_positions)
        return layout.to_sentences(x) if places is None else x

    def encode(self, source: Tensor, *, positions: Positions | None = None) -> Memory:
        """Return the keys and values of source tokens (B, S) for each decoder layer."""
        return self._encode(source, positions, layout_of(source))

    def _encode(self, source: Tensor, positions: Positions | None, layout: Layout) -> Memory:
        positions = self._drawn(positions or Positions.range(source.size(1), on=source.device), source)
        x, mask = self._encoded(source, positions, layout)
        keys_values = [layer.cross_attention.read(x, layout) for layer in self._decoder_layers()]
        return Memory(keys_values, mask, replace(positions, shared=None))

    def encoder_output(self, source: Tensor, *, positions: Positions | None = None) -> Tensor:
        """Return the representation to which the decoder attends, (B, S, d); without encoder layers, the embeddings."""
        positions = positions or Positions.range(source.size(1), on=source.device)
        layout = layout_of(source)
        return layout.to_sentences(self._encoded(source, self._drawn(positions, source), layout)[0])

    def _encoded(self, source: Tensor, positions: Positions, layout: Layout) -> tuple[Tensor, Tensor | None]:
        """Return the encoder's output in the layout, (B·S | N, d), and the padding mask."""
        embedded, drop = self._embed(self.source_embedding, source, positions, "encoder")
        x, rows = layout.from_sentences(embedded), positions.sentences
        mask = padding_mask(source) if rows is None else sentence_mask(rows, rows)
        for number, layer in enumerate(self.encoder):
            encoding = self.encoding.attention("encoder", number)
            reader = self._reader("encoder", number)
            x = layer(
                x, mask=mask, encoding=encoding, positions=positions, drop=drop, weights_reader=reader, layout=layout
            )
        return self.encoder_norm(x), mask

    def decode(self, target: Tensor, memory: Memory) -> Tensor:
        """Decode all target positions at once, each of which sees the earlier ones, (B, T) to (B, T, d)."""
        layout = layout_of(target)
        return layout.to_sentences(self._decode(target, memory, layout))

    def _decode(self, target: Tensor, memory: Memory, layout: Layout, positions: Positions | None = None) -> Tensor:
        """Return the hidden states in the layout, (B·T | N, d)."""
        drawn = memory.positions.drawn
        positions = positions or Positions.range(target.size(1), on=target.device)
        positions = replace(positions, drawn=drawn, tokens=target, shared={})
        embedded, drop = self._embed(self.target_embedding, target, positions, "decoder")
        x = layout.from_sentences(embedded)
        rows, source_rows = positions.sentences, memory.positions.sentences
        if rows is None or source_rows is None:
            mask, memory_mask = causal_mask(target.size(1), on=target.device), memory.mask
        else:
            mask, memory_mask = sentence_mask(rows, rows, causal=True), sentence_mask(rows, source_rows)
        for number, layer in enumerate(self.decoder):
            x = layer(
                x,
                memory=memory.keys_values[number],
                memory_mask=memory_mask,
                memory_positions=memory.positions,
                mask=mask,
                encoding=self.encoding.attention("decoder", number),
                cross_encoding=self.encoding.cross_attention(number),
                positions=positions,
                drop=drop,
                weights_reader=self._reader("decoder", number),
                cross_weights_reader=self._reader("cross", number),
                layout=layout,
            )
        normed: Tensor = self.decoder_norm(x)
        return normed

    def step(self, tokens: Tensor, memory: Memory, caches: list[KeyValueCache] | list[Lineage], step: int) -> Tensor:
        """Decode one more token of each hypothesis, (B, K) tokens at position ``step`` to (B, K, d).

        Args:
            tokens: Token indices, (B, K).
            memory: The result of ``encode``.
            caches: The result of ``new_caches`` before the first step; rows are b·K + k.
            step: Number of earlier tokens.

        Returns:
            Hidden states, (B, K, d).
        """
        positions = replace(Positions.range(1, offset=step, on=tokens.device), tokens=tokens.reshape(-1, 1))
        drawn = memory.positions.drawn
        if drawn is not None:
            positions = replace(positions, drawn=repeated(drawn, tokens.size(1)))  # (B·K, D)
        x, drop = self._embed(self.target_embedding, tokens.reshape(-1, 1), positions, "decoder")
        x = x.view(*tokens.shape, -1)
        mask: Tensor | None = None
        own: Sequence[KeyValueCache | LineageCache | Lineage] = caches
        if isinstance(lineage := caches[0], Lineage):
            positions, mask = positions.expand(tokens.size(1)), lineage.extend(x)
            own = lineage.layers
        for number, layer in enumerate(self.decoder):
            x = layer(
                x,
                memory=memory.keys_values[number],
                memory_mask=memory.mask,
                memory_positions=memory.positions,
                mask=mask,
                encoding=self.encoding.attention("decoder", number),
                cross_encoding=self.encoding.cross_attention(number),
                positions=positions,
                cache=own[number],
                drop=drop,
                weights_reader=self._reader("decoder", number),
                cross_weights_reader=self._reader("cross", number),
            )
        normed: Tensor = self.decoder_norm(x)
        return normed

    @override
    def new_caches(self) -> list[KeyValueCache] | list[Lineage]:
        layers = range(len(self.decoder))
        fits = all(self.encoding.attention("decoder", layer).needs <= SUPPORTS for layer in layers)
        if self.recorder is None and fits:
            return [Lineage(len(layers))]
        return [KeyValueCache() for _ in layers]

    def _decoder_layers(self) -> list[DecoderLayer]:
        return [layer for layer in self.decoder if isinstance(layer, DecoderLayer)]
