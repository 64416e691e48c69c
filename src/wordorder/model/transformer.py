"""The encoder-decoder Transformer (Vaswani et al. 2017), pre- or post-norm, with a positional encoding inside.

With no encoder layers the decoder attends to the source embeddings and their positions as they are, the encoder-free
Transformer of Tang et al. 2019 and of the cross-lingual paper (section 4.4).

B sentences, S source tokens, T target tokens, d model size, K hypotheses a sentence.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from wordorder.config.models import Recipe, Size
from wordorder.encodings.base import Encoding, Positions
from wordorder.model.attention import KeyValueCache
from wordorder.model.layers import DecoderLayer, EncoderLayer
from wordorder.model.masks import causal_mask, padding_mask
from wordorder.model.places import refuse_idle
from wordorder.model.translator import Translator


@dataclass
class Memory:
    """What the decoder knows of the source: the keys and values of each decoder layer, padding, positions."""

    keys_values: list[tuple[Tensor, Tensor]]
    mask: Tensor | None
    positions: Positions

    def select(self, rows: Tensor) -> Memory:
        """Keep the given sentences (indices into B), in that order."""
        kept = [(keys.index_select(0, rows), values.index_select(0, rows)) for keys, values in self.keys_values]
        mask = None if self.mask is None else self.mask.index_select(0, rows)
        return Memory(kept, mask, self.positions.select(rows))


class Transformer(Translator):
    def __init__(self, size: Size, recipe: Recipe, encoding: Encoding, vocabulary_size: int) -> None:
        super().__init__(size, recipe, encoding, vocabulary_size)
        refuse_idle(encoding)
        self.encoder = nn.ModuleList(EncoderLayer(size, recipe) for _ in range(size.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(size, recipe) for _ in range(size.decoder_layers))
        # A pre-norm stack leaves its sum unnormed; a post-norm stack ends with a norm already. Where there is no
        # stack, there is no sum.
        final = recipe.norm == "pre"
        self.encoder_norm = nn.LayerNorm(size.dim) if final and size.encoder_layers else nn.Identity()
        self.decoder_norm = nn.LayerNorm(size.dim) if final else nn.Identity()

    def encode(self, source: Tensor, *, positions: Positions | None = None) -> Memory:
        """(B, S) token numbers, padded at the right -> memory."""
        positions = positions or Positions.range(source.size(1), on=source.device)
        x, drop = self._embed(self.source_embedding, source, positions, "encoder")
        mask = padding_mask(source)
        for number, layer in enumerate(self.encoder):
            encoding = self.encoding.attention("encoder", number)
            x = layer(x, mask=mask, encoding=encoding, positions=positions, drop=drop)
        x = self.encoder_norm(x)
        return Memory([layer.cross_attention.read(x) for layer in self._decoder_layers()], mask, positions)

    def decode(self, target: Tensor, memory: Memory) -> Tensor:
        """All target positions at once, each seeing the ones before: (B, T) -> (B, T, d)."""
        positions = Positions.range(target.size(1), on=target.device)
        x, drop = self._embed(self.target_embedding, target, positions, "decoder")
        mask = causal_mask(target.size(1), on=target.device)
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
                drop=drop,
            )
        normed: Tensor = self.decoder_norm(x)
        return normed

    def step(self, tokens: Tensor, memory: Memory, caches: list[KeyValueCache], step: int) -> Tensor:
        """One more token of each hypothesis: (B, K) tokens at position ``step`` -> (B, K, d).

        caches: one a decoder layer, empty before the first step; rows are b·K + k.
        """
        positions = Positions.range(1, offset=step, on=tokens.device)
        x, drop = self._embed(self.target_embedding, tokens.reshape(-1, 1), positions, "decoder")
        x = x.view(*tokens.shape, -1)
        for number, layer in enumerate(self.decoder):
            x = layer(
                x,
                memory=memory.keys_values[number],
                memory_mask=memory.mask,
                memory_positions=memory.positions,
                mask=None,
                encoding=self.encoding.attention("decoder", number),
                cross_encoding=self.encoding.cross_attention(number),
                positions=positions,
                cache=caches[number],
                drop=drop,
            )
        normed: Tensor = self.decoder_norm(x)
        return normed

    def new_caches(self) -> list[KeyValueCache]:
        return [KeyValueCache() for _ in self.decoder]

    def _decoder_layers(self) -> list[DecoderLayer]:
        return [layer for layer in self.decoder if isinstance(layer, DecoderLayer)]
