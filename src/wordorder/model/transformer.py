"""The encoder-decoder Transformer (Vaswani et al. 2017), pre- or post-norm, with a positional encoding inside.

B sentences, S source tokens, T target tokens, d model size, K hypotheses a sentence, V vocabulary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from wordorder.config.models import Recipe, Size
from wordorder.encodings.base import Encoding, Positions, Stack
from wordorder.model.attention import KeyValueCache
from wordorder.model.batch import PAD
from wordorder.model.dropout import Dropout
from wordorder.model.layers import DecoderLayer, EncoderLayer


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


class Transformer(nn.Module):
    def __init__(self, size: Size, recipe: Recipe, encoding: Encoding, vocabulary_size: int) -> None:
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
        self.encoder = nn.ModuleList(EncoderLayer(size, recipe) for _ in range(size.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(size, recipe) for _ in range(size.decoder_layers))
        # A pre-norm stack leaves its sum unnormed; a post-norm stack ends with a norm already.
        final = recipe.norm == "pre"
        self.encoder_norm = nn.LayerNorm(size.dim) if final else nn.Identity()
        self.decoder_norm = nn.LayerNorm(size.dim) if final else nn.Identity()

    def forward(self, source: Tensor, target: Tensor, *, source_positions: Positions | None = None) -> Tensor:
        """Source (B, S), target input beginning with BEGIN (B, T); both padded at the right -> hidden (B, T, d)."""
        return self.decode(target, self.encode(source, positions=source_positions))

    def encode(self, source: Tensor, *, positions: Positions | None = None) -> Memory:
        """(B, S) token numbers, padded at the right -> memory."""
        positions = positions or Positions.range(source.size(1), on=source.device)
        x = self._embed(self.source_embedding, source, positions, "encoder")
        mask = padding_mask(source)
        for number, layer in enumerate(self.encoder):
            encoding = self.encoding.attention("encoder", number)
            x = layer(x, mask=mask, encoding=encoding, positions=positions)
        x = self.encoder_norm(x)
        return Memory([layer.cross_attention.read(x) for layer in self._decoder_layers()], mask, positions)

    def decode(self, target: Tensor, memory: Memory) -> Tensor:
        """All target positions at once, each seeing the ones before: (B, T) -> (B, T, d)."""
        positions = Positions.range(target.size(1), on=target.device)
        x = self._embed(self.target_embedding, target, positions, "decoder")
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
            )
        normed: Tensor = self.decoder_norm(x)
        return normed

    def step(self, tokens: Tensor, memory: Memory, caches: list[KeyValueCache], step: int) -> Tensor:
        """One more token of each hypothesis: (B, K) tokens at position ``step`` -> (B, K, d).

        caches: one a decoder layer, empty before the first step; rows are b·K + k.
        """
        positions = Positions.range(1, offset=step, on=tokens.device)
        x = self._embed(self.target_embedding, tokens.reshape(-1, 1), positions, "decoder").view(*tokens.shape, -1)
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
            )
        normed: Tensor = self.decoder_norm(x)
        return normed

    def new_caches(self) -> list[KeyValueCache]:
        return [KeyValueCache() for _ in self.decoder]

    def logits(self, hidden: Tensor) -> Tensor:
        """(…, d) -> (…, V)"""
        return functional.linear(hidden, self.output.weight)

    def _embed(self, table: nn.Embedding, tokens: Tensor, positions: Positions, stack: Stack) -> Tensor:
        x = table(tokens) * math.sqrt(self.dim)
        x = self.dropout(self.encoding.add_to_embeddings(x, positions, stack))
        return self.encoding.transform_embeddings(x, positions, stack)

    def _decoder_layers(self) -> list[DecoderLayer]:
        return [layer for layer in self.decoder if isinstance(layer, DecoderLayer)]


def _embedding(vocabulary_size: int, dim: int) -> nn.Embedding:
    table = nn.Embedding(vocabulary_size, dim, padding_idx=PAD)
    nn.init.normal_(table.weight, std=dim**-0.5)
    with torch.no_grad():
        table.weight[PAD].zero_()
    return table


def padding_mask(tokens: Tensor) -> Tensor | None:
    """-inf at padding, to be added to scores: (B, 1, 1, S), or None where a CPU batch has no padding."""
    padding = tokens == PAD
    # On an accelerator the question itself would wait for the device.
    if tokens.device.type == "cpu" and not bool(padding.any()):
        return None
    return torch.zeros_like(tokens, dtype=torch.float32).masked_fill(padding, -math.inf)[:, None, None]


def causal_mask(length: int, *, on: torch.device) -> Tensor:
    """-inf above the diagonal: (1, 1, T, T)."""
    return torch.full((length, length), -math.inf, device=on).triu(1)[None, None]
