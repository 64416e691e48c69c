"""Formulations of four encodings as their papers print them: pair of tokens by pair of tokens.

They share their parameters with ours and compute the same, which the benchmark checks first.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from wordorder.encodings.adaptive_t5 import AdaptiveT5, AdaptiveT5Attention
from wordorder.encodings.base import AttentionEncoding, Encoding, Positions, Stack
from wordorder.encodings.cope import CoPE, CoPEAttention
from wordorder.encodings.dape import DAPE, DAPEAttention
from wordorder.encodings.lookup import distances
from wordorder.encodings.relative import Relative, RelativeAttention


class NaiveRelativeAttention(AttentionEncoding):
    """A vector for every pair of tokens, (Lq, Lk, d_h), for keys and for values (Shaw et al. 2018)."""

    needs = frozenset({"scores", "context"})

    def __init__(self, fast: RelativeAttention) -> None:
        super().__init__()
        self.fast = fast

    def _pairs(self, vectors: Tensor, query: Positions, key: Positions) -> Tensor:
        clip = self.fast.clip
        rows = distances(query, key)[0].clamp(-clip, self.fast.ahead) + clip
        return vectors[0][rows]  # (Lq, Lk, d_h)

    def scores(self, scores: Tensor, queries: Tensor, keys: Tensor, query: Positions, key: Positions) -> Tensor:
        assert self.fast.key_vectors is not None
        pairs = self._pairs(self.fast.key_vectors, query, key).to(queries.dtype)
        return scores + torch.einsum("bhid,ijd->bhij", queries, pairs)

    def context(self, context: Tensor, weights: Tensor, query: Positions, key: Positions) -> Tensor:
        assert self.fast.value_vectors is not None
        pairs = self._pairs(self.fast.value_vectors, query, key).to(weights.dtype)
        return context + torch.einsum("bhij,ijd->bhid", weights, pairs)


class NaiveRelative(Relative):
    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        fast = super()._attention(stack, layer)
        assert isinstance(fast, RelativeAttention)
        return NaiveRelativeAttention(fast)


class NaiveAdaptiveT5Attention(AttentionEncoding):
    """The small network, applied to every pair of tokens instead of once per distance."""

    needs = frozenset({"bias"})

    def __init__(self, fast: AdaptiveT5Attention) -> None:
        super().__init__()
        self.fast = fast

    def bias(self, query: Positions, key: Positions) -> Tensor:
        apart = distances(query, key)[0]
        values = self.fast._curves(apart.abs().flatten()).unflatten(-1, apart.shape)  # (signs, H, Lq, Lk)
        return torch.where(apart > 0, values[-1], values[0])[None]


class NaiveAdaptiveT5(AdaptiveT5):
    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        fast = super()._attention(stack, layer)
        return NaiveAdaptiveT5Attention(fast) if isinstance(fast, AdaptiveT5Attention) else fast


class NaiveCoPEAttention(AttentionEncoding):
    """Tensors of all pairs for the gates, their order, their sums and the two neighbours in the table."""

    needs = frozenset({"scores"})

    def __init__(self, fast: CoPEAttention) -> None:
        super().__init__()
        self.fast = fast

    def scores(self, scores: Tensor, queries: Tensor, keys: Tensor, query: Positions, key: Positions) -> Tensor:
        return self.fast.scores_by_tensors(scores, queries, query, key)


class NaiveCoPE(CoPE):
    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        fast = super()._attention(stack, layer)
        assert isinstance(fast, CoPEAttention)
        return NaiveCoPEAttention(fast)


class NaiveDAPEAttention(AttentionEncoding):
    """The network for all pairs at once, with the heads as the last dimension (Zheng et al. 2024)."""

    needs = frozenset({"scores"})

    def __init__(self, fast: DAPEAttention) -> None:
        super().__init__()
        self.fast = fast

    def scores(self, scores: Tensor, queries: Tensor, keys: Tensor, query: Positions, key: Positions) -> Tensor:
        bias = self.fast.over.bias(query, key)
        assert bias is not None
        pairs = torch.cat((scores, bias.expand(scores.shape)), dim=1).permute(0, 2, 3, 1)
        changed = self.fast.outer(functional.leaky_relu(self.fast.inner(pairs)))
        return scores + bias + changed.permute(0, 3, 1, 2)


class NaiveDAPE(DAPE):
    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        fast = super()._attention(stack, layer)
        assert isinstance(fast, DAPEAttention)
        return NaiveDAPEAttention(fast)


# name -> (the encoding of which it is the naive formulation, its class)
NAIVE: dict[str, tuple[str, type[Encoding]]] = {
    "relative (naive)": ("relative", NaiveRelative),
    "adaptive_t5 (naive)": ("adaptive_t5", NaiveAdaptiveT5),
    "cope (naive)": ("cope", NaiveCoPE),
    "dape (naive)": ("dape", NaiveDAPE),
}
