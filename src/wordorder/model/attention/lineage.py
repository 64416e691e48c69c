"""A cache of keys and values that never moves them when hypotheses change places.

In a search, each of a sentence's K hypotheses continues one of the K before. A cache with a row for each hypothesis
copies all keys and values at every step. Here, the keys and values of all hypotheses of a sentence stay where they were
written, and a mask shows each hypothesis those of its own past. All K hypotheses then attend as K queries of one
sentence, which is also faster than K attentions of one query each.

This fits encodings that act on queries, keys and values before the cache only: others would have to know which key
belongs to which hypothesis.

Notation: B sentences, K hypotheses per sentence, L keys of all hypotheses of a sentence, H heads, d_h head size.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from wordorder.encodings.base import Place, Positions

# What an encoding may need of an attention with this cache.
SUPPORTS: frozenset[Place] = frozenset({"rotate", "values"})

# Room for keys grows by this number. A library that compiles its products for each shape then meets few shapes, and the
# keys and values of a layer are one block of memory.
_ROOM = 32


class Lineage:
    """The keys and values of all hypotheses in every layer, and which of them each hypothesis descends from.

    Args:
        layers: Number of decoder layers.

    Attributes:
        layers: The cache of each layer.
    """

    def __init__(self, layers: int) -> None:
        self.layers = [LineageCache() for _ in range(layers)]
        self._mask: Tensor | None = None
        self._keys = 0

    def extend(self, x: Tensor) -> Tensor:
        """Add one key per hypothesis, which only the hypothesis itself sees.

        Args:
            x: The new tokens, (B, K, d).

        Returns:
            The mask to add to the scores: 0 at keys of a hypothesis's own past and itself, -inf at others and where
            there is room for more keys, (B, 1, K, L).
        """
        count, width, _ = x.shape
        start, self._keys = self._keys, self._keys + width
        if self._mask is None or self._keys > self._mask.size(3):
            more = x.new_full((count, 1, width, rounded(width)), -math.inf)
            self._mask = more if self._mask is None else torch.cat((self._mask, more), dim=3)
        self._mask[:, :, :, start : self._keys].diagonal(dim1=2, dim2=3).zero_()
        return self._mask

    def select(self, rows: Tensor) -> None:
        """Select the hypotheses that are continued, indices b·K + k, (B, K).

        Those in a row are of one sentence. Sentences without a row have left the batch; the others keep their order.
        """
        if self._mask is None:
            return
        count, _, width, keys = self._mask.shape
        self._mask = self._mask.view(-1, keys).index_select(0, rows.flatten()).view(len(rows), 1, -1, keys)
        if len(rows) < count:
            kept = rows[:, 0] // width
            for layer in self.layers:
                layer.select(kept)


class LineageCache:
    """The keys and values of all hypotheses in one layer, in the order in which they were appended."""

    def __init__(self) -> None:
        self._keys: Tensor | None = None  # (B, H, L, d_h) with room for more keys, where it is 0
        self._values: Tensor | None = None
        self._length = 0

    def append(self, keys: Tensor, values: Tensor, positions: Positions) -> tuple[Tensor, Tensor, Positions]:
        """Append the keys and values of new tokens, (B, H, K, d_h) each, and return all, (B, H, L, d_h) each.

        The positions are returned unchanged, because no encoding that fits this cache reads those of keys.
        """
        start, self._length = self._length, self._length + keys.size(2)
        if self._keys is None or self._values is None or self._length > self._keys.size(2):
            self._keys, self._values = _grown(self._keys, keys), _grown(self._values, values)
        self._keys[:, :, start : self._length] = keys
        self._values[:, :, start : self._length] = values
        return self._keys, self._values, positions

    def select(self, sentences: Tensor) -> None:
        """Select sentences (indices into B)."""
        if self._keys is not None and self._values is not None:
            self._keys, self._values = (kept.index_select(0, sentences) for kept in (self._keys, self._values))


def rounded(keys: int) -> int:
    """Return the room for a number of keys."""
    return -(-keys // _ROOM) * _ROOM


def _grown(kept: Tensor | None, new: Tensor) -> Tensor:
    more = new.new_zeros(*new.shape[:2], rounded(new.size(2)), new.size(3))
    return more if kept is None else torch.cat((kept, more), dim=2)
