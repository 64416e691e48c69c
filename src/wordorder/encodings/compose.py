"""Compositions: several encodings at once, such as OPR at the embeddings with relative positions in the attention.

Each hook calls the encodings in the order in which they are written. So encodings that read scores, such as CoPE and
DAPE, read what relative vectors before them add. They read no biases (of ALiBi, T5, FIRE, KERPLE, TUPE or forget
gates), which are added last, whatever the order. The following compositions are errors: two absolute encodings in one
stack; two encodings that both change the products of queries and keys in a stack, except for a rotation that another
encoding scales by a constant (RoPE and TUPE); two encodings that both give heads separate inputs, keep a state per
token or draw random numbers per pass; a composition inside a composition.
"""

from __future__ import annotations

from typing import Annotated, Literal, cast, get_args

from pydantic import Field, model_validator
from torch import Tensor, nn
from typing_extensions import override

from wordorder.config.encodings import AnyEncoding
from wordorder.dropout import Drop
from wordorder.encodings.base import (
    PLACES,
    REGISTRY,
    AttentionEncoding,
    Encoding,
    EncodingConfig,
    Place,
    Positions,
    Product,
    ScoreFunction,
    Shape,
    Stack,
)
from wordorder.encodings.registry import COMPOSED, build, register
from wordorder.errors import WordorderError

_STACKS: tuple[Stack, ...] = get_args(Stack)


class ComposedConfig(EncodingConfig):
    """Parameters of an entry with ``compose``."""

    type: Literal["composed"] = COMPOSED
    placement: Literal["both"] = "both"  # Each part has its own placement.
    compose: Annotated[tuple[AnyEncoding, ...], Field(min_length=2, description="The encodings that act together.")]

    @model_validator(mode="after")
    def _parts_can_act_together(self) -> ComposedConfig:
        if COMPOSED in (part.type for part in self.compose):
            raise ValueError("a composition cannot hold another composition; write all encodings in one list")
        for stack in _STACKS:
            parts = [part for part in self.compose if stack in part.stacks]
            _refuse_sum([part for part in parts if _marks(part)], stack)
            _refuse_products([part for part in parts if _product(part) != "plain"], stack)
        return self

    @property
    @override
    def needs_reordered(self) -> bool:
        return any(part.needs_reordered for part in self.compose)

    @property
    @override
    def with_contained(self) -> list[EncodingConfig]:
        return [each for part in self.compose for each in part.with_contained]

    @override
    def parameter_count(self, shape: Shape) -> int:
        return sum(part.parameter_count(shape) for part in self.compose)


def _refuse_sum(absolute: list[EncodingConfig], stack: Stack) -> None:
    if len(absolute) > 1:
        raise ValueError(
            f"the encodings {_named(absolute)} are both absolute and cannot be used at once in the {stack}, because "
            "the sum of two absolute encodings is neither; keep one of them and compose it with relative encodings, or "
            "place them in different stacks"
        )


def _refuse_products(parts: list[EncodingConfig], stack: Stack) -> None:
    if len(parts) > 1 and sorted(map(_product, parts)) != ["rotated", "scaled"]:
        raise ValueError(
            f"the encodings {_named(parts)} change the same products of queries and keys in the {stack}, and the "
            "result follows the formula of none; keep one of them, or place them in different stacks"
        )


def _named(parts: list[EncodingConfig]) -> str:
    return " and ".join(part.type for part in parts)


def _marks(part: EncodingConfig) -> bool:
    """Return whether an encoding is absolute; a control does not order tokens."""
    return part.places is None and part.type in REGISTRY and REGISTRY.get(part.type).marks(part)


def _product(part: EncodingConfig) -> Product:
    return REGISTRY.get(part.type).product_of(part) if part.type in REGISTRY else "plain"


class ComposedAttention(AttentionEncoding):
    """Calls the hooks of several encodings inside one self-attention, one after the other."""

    needs = frozenset(PLACES)
    pairwise = True

    def __init__(self, parts: list[AttentionEncoding]) -> None:
        super().__init__()
        self.parts = parts
        self.needs = frozenset().union(*(part.needs for part in parts))
        self.pairwise = all(part.pairwise for part in parts if "scores" in part.needs)
        self.additive = all(part.additive for part in parts if "scores" in part.needs)

    @override
    def head_inputs(self, x: Tensor, positions: Positions, drop: Drop) -> list[tuple[int, Tensor]] | None:
        inputs = (part.head_inputs(x, positions, drop) for part in self.parts)
        return next((own for own in inputs if own is not None), None)

    @override
    def gates(self, x: Tensor, positions: Positions) -> Tensor | None:
        states = (part.gates(x, positions) for part in self.parts)
        return next((state for state in states if state is not None), None)

    @override
    def rotate(self, queries: Tensor, keys: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        for part in self.parts:
            queries, keys = part.rotate(queries, keys, positions)
        return queries, keys

    @override
    def values(self, values: Tensor, positions: Positions) -> Tensor:
        for part in self.parts:
            values = part.values(values, positions)
        return values

    @override
    def bias(self, query: Positions, key: Positions) -> Tensor | None:
        total: Tensor | None = None
        for part in self.parts:
            bias = part.shared_bias(query, key)
            total = bias if total is None else total if bias is None else total + bias
        return total

    shared_bias = bias  # the parts share theirs

    @override
    def scores(self, scores: Tensor, queries: Tensor, keys: Tensor, query: Positions, key: Positions) -> Tensor:
        for part in self.parts:
            scores = part.scores(scores, queries, keys, query, key)
        return scores

    @override
    def context(self, context: Tensor, weights: Tensor, query: Positions, key: Positions) -> Tensor:
        for part in self.parts:
            context = part.context(context, weights, query, key)
        return context

    @override
    def score_function(self, queries: Tensor, query: Positions, key: Positions) -> ScoreFunction | None:
        functions = [own for part in self.parts if (own := part.score_function(queries, query, key)) is not None]

        def score(value: Tensor, sentence: Tensor, head: Tensor, row: Tensor, column: Tensor) -> Tensor:
            for function in functions:
                value = function(value, sentence, head, row, column)
            return value

        return score if functions else None


@register(ComposedConfig)
class Composed(Encoding):
    """Several encodings, each with its own placement.

    Args:
        config: The configurations of the parts.
        shape: The shape of the model.
        parts: The modules of the parts. If missing, they are built from ``config``.
    """

    def __init__(self, config: ComposedConfig, shape: Shape, parts: list[Encoding] | None = None) -> None:
        super().__init__(config, shape)
        parts = [build(part, shape) for part in config.compose] if parts is None else parts
        self.parts = nn.ModuleList(parts)
        self.one_by_one = all(part.one_by_one for part in parts)
        for stack in config.stacks:
            for layer in range(shape.layers(stack)):
                for place, what in _EXCLUSIVE.items():
                    _only_one([part for part in parts if place in part.attention(stack, layer).needs], what)
                _declared([part for part in parts if "rotate" in part.attention(stack, layer).needs])
        _only_one([part for part in parts if part.draws_numbers()], "draw random numbers per pass")

    def _encodings(self) -> list[Encoding]:
        return cast(list[Encoding], list(self.parts))

    def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        for part in self._encodings():
            x = part.add_to_embeddings(x, positions, stack)
        return x

    def _transform_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        for part in self._encodings():
            x = part.transform_embeddings(x, positions, stack)
        return x

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return ComposedAttention([part.attention(stack, layer) for part in self._encodings()])

    def _cross_attention(self, layer: int) -> AttentionEncoding:
        return ComposedAttention([part.cross_attention(layer) for part in self._encodings()])

    def _table(self, length: int, stack: Stack) -> Tensor | None:
        tables = (part.table(length, stack) for part in self._encodings())
        return next((table for table in tables if table is not None), None)

    @override
    def draw(self, sentences: int) -> Tensor | None:
        drawn = (part.draw(sentences) for part in self._encodings())
        return next((own for own in drawn if own is not None), None)

    def _limit(self, stack: Stack) -> int | None:
        limits = (part.limit(stack) for part in self._encodings())
        return min((limit for limit in limits if limit is not None), default=None)


# Hooks that only one encoding of a composition may use, with their effect.
_EXCLUSIVE: dict[Place, str] = {"head_inputs": "give heads separate inputs", "gates": "keep a state per token"}


def _only_one(parts: list[Encoding], what: str) -> None:
    if len(parts) > 1:
        raise WordorderError(
            f"The encodings {' and '.join(part.config.type for part in parts)} both {what} and cannot be used at once. "
            "Keep one of them.",
            code="conflicting-encodings",
        )


def _declared(rotating: list[Encoding]) -> None:
    """Refuse encodings that change the same queries and keys if one of them does not declare how."""
    undeclared = [part.config.type for part in rotating if part.product_of(part.config) == "plain"]
    if len(rotating) > 1 and undeclared:
        raise WordorderError(
            f"The encoding '{undeclared[0]}' rotates queries and keys, but its class does not declare 'product', so it "
            "cannot be composed with another encoding that rotates them. Declare it (docs/add-an-encoding.md).",
            code="conflicting-encodings",
        )
