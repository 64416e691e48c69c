"""One small encoding for each hook of the interface, each different at different positions."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from wordorder.dropout import Drop
from wordorder.encodings.base import AttentionEncoding, Encoding, EncodingConfig, Positions, Shape, Stack


def wave(positions: Positions) -> Tensor:
    """(1 | B, L, 1)"""
    return (positions.absolute[..., None] + 1.0).sin()


def gap(query: Positions, key: Positions) -> Tensor:
    """(1 | B, 1, Lq, Lk)"""
    return (key.absolute[:, None, None, :] - query.absolute[:, None, :, None]).float()


class Rotate(AttentionEncoding):
    needs = frozenset({"rotate"})

    def rotate(self, queries: Tensor, keys: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        own = wave(positions)[:, None]
        return queries * own, keys + own


class Values(AttentionEncoding):
    needs = frozenset({"values"})

    def values(self, values: Tensor, positions: Positions) -> Tensor:
        return values * (2 + wave(positions))[:, None]


class Bias(AttentionEncoding):
    """A trained slope per head."""

    needs = frozenset({"bias"})

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.slopes = nn.Parameter(torch.rand(heads))

    def bias(self, query: Positions, key: Positions) -> Tensor:
        return self.slopes[:, None, None] * gap(query, key)


class Gates(AttentionEncoding):
    """A bias that depends on the tokens: the difference of a trained number per token, (B, 1, Lq, Lk)."""

    needs = frozenset({"gates", "bias"})

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(dim))

    def gates(self, x: Tensor, positions: Positions) -> Tensor:
        return (x @ self.weight)[..., None]

    def bias(self, query: Positions, key: Positions) -> Tensor:
        assert query.state is not None and key.state is not None
        return (gap(query, key) * (key.state.mT[:, None] - query.state[:, None])).tanh()


class Scores(AttentionEncoding):
    """Scores that depend on queries and keys."""

    needs = frozenset({"scores"})

    def scores(self, scores: Tensor, queries: Tensor, keys: Tensor, query: Positions, key: Positions) -> Tensor:
        return scores + (queries.sum(-1, keepdim=True) + 0.1 * keys.sum(-1)[:, :, None]) * gap(query, key)


class Context(AttentionEncoding):
    needs = frozenset({"context"})

    def context(self, context: Tensor, weights: Tensor, query: Positions, key: Positions) -> Tensor:
        return context + (weights * gap(query, key)).sum(-1, keepdim=True)


class HeadInputs(AttentionEncoding):
    """The last head sees its positions multiplied, the others added."""

    needs = frozenset({"head_inputs"})

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    def head_inputs(self, x: Tensor, positions: Positions, drop: Drop) -> list[tuple[int, Tensor]]:
        return [(self.heads - 1, x + wave(positions)), (1, x * wave(positions))]


class InAttention(Encoding):
    """Use one of the hooks above in every self-attention."""

    def __init__(self, attention: AttentionEncoding, shape: Shape, **config: str) -> None:
        super().__init__(EncodingConfig(type=type(attention).__name__, **config), shape)  # type: ignore[arg-type]
        self.inside = attention

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return self.inside


class BetweenTargetAndSource(InAttention):
    """Use the same hooks in cross-attention."""

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return self._nothing

    def _cross_attention(self, layer: int) -> AttentionEncoding:
        return self.inside


class Added(Encoding):
    def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        return x + wave(positions) * torch.linspace(-1, 1, x.size(-1))  # a layer norm would not see a constant


class Drawn(Added):
    """Add a number drawn once per sentence and pass, which both stacks must see."""

    def draw(self, sentences: int) -> Tensor:
        return torch.arange(1.0, sentences + 1)[:, None]

    def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        marked = super()._add_to_embeddings(x, positions, stack)
        return marked if positions.drawn is None else marked * positions.drawn[:, None]


class Transformed(Encoding):
    """A trained matrix, and a gate per position."""

    def __init__(self, config: EncodingConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self.matrix = nn.Parameter(torch.randn(shape.dim, shape.dim))

    def _transform_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        return x + torch.relu(x @ self.matrix * wave(positions))


def every_place(shape: Shape) -> dict[str, Encoding]:
    inside = (Rotate(), Values(), Gates(shape.dim), Bias(shape.heads), Scores(), Context(), HeadInputs(shape.heads))
    found: list[Encoding] = [InAttention(attention, shape) for attention in inside]
    found += [kind(EncodingConfig(type=kind.__name__), shape) for kind in (Added, Drawn, Transformed)]
    return {encoding.config.type: encoding for encoding in found}
