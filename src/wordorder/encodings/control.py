"""Controls: the parameters of an encoding without order.

    position of token x  ->  x mod control,   x the number of its subword

A control has the modules, the parameters and the computations of its encoding, but reads the place of a token from the
token itself instead of from the sentence: wherever the token stands, its position is the same. What a control gains
over no encoding comes from its parameters, and what the encoding gains over its control comes from order.

Source: this project. An entry of ``encodings.yaml`` becomes a control by its key ``control``, the number of places.
Promises: no order: permuted source tokens give the permuted output of the encoder, and the decoder knows order by its
causal mask only; as many parameters as the encoding; works at any length.
"""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from wordorder.encodings.base import AttentionEncoding, Encoding, Place, Positions, ScoreFunction, Stack
from wordorder.errors import WordorderError


class ControlAttention(AttentionEncoding):
    """Hands the positions of tokens to what an encoding does inside one attention."""

    needs: frozenset[Place] = frozenset({"rotate", "values", "bias", "scores", "context"})
    pairwise = True

    def __init__(self, inside: AttentionEncoding, places: int) -> None:
        super().__init__()
        self.inside, self.places = inside, places
        self.needs, self.pairwise = inside.needs, inside.pairwise

    def rotate(self, queries: Tensor, keys: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        return self.inside.rotate(queries, keys, of_tokens(positions, self.places))

    def values(self, values: Tensor, positions: Positions) -> Tensor:
        return self.inside.values(values, of_tokens(positions, self.places))

    def bias(self, query: Positions, key: Positions) -> Tensor | None:
        return self.inside.bias(of_tokens(query, self.places), of_tokens(key, self.places))

    def scores(self, scores: Tensor, queries: Tensor, keys: Tensor, query: Positions, key: Positions) -> Tensor:
        places = of_tokens(query, self.places), of_tokens(key, self.places)
        return self.inside.scores(scores, queries, keys, *places)

    def context(self, context: Tensor, weights: Tensor, query: Positions, key: Positions) -> Tensor:
        return self.inside.context(context, weights, of_tokens(query, self.places), of_tokens(key, self.places))

    def score_function(self, queries: Tensor, query: Positions, key: Positions) -> ScoreFunction | None:
        return self.inside.score_function(queries, of_tokens(query, self.places), of_tokens(key, self.places))


class Control(Encoding):
    """An encoding that reads positions from tokens.

    Args:
        encoding: The encoding, of whose configuration ``control`` is a number.
    """

    def __init__(self, encoding: Encoding) -> None:
        super().__init__(encoding.config, encoding.shape)
        places = encoding.config.places
        assert places is not None
        self.encoding, self.places = encoding, places
        limits = [encoding.limit(stack) for stack in encoding.config.stacks]
        most = min((limit for limit in limits if limit is not None), default=None)
        if most is not None and places > most:
            raise WordorderError(
                f"The control of the encoding '{encoding.config.type}' has {places} places, but the encoding has only "
                f"{most} positions. Lower 'control' of this encoding in encodings.yaml to at most {most}.",
                code="out-of-range",
                key="control",
                found=places,
                expected=most,
            )

    def inside_attention(self) -> bool:
        return self.encoding.inside_attention()

    def draw(self, sentences: int) -> Tensor | None:
        return self.encoding.draw(sentences)

    def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        return self.encoding.add_to_embeddings(x, of_tokens(positions, self.places), stack)

    def _transform_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        return self.encoding.transform_embeddings(x, of_tokens(positions, self.places), stack)

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return ControlAttention(self.encoding.attention(stack, layer), self.places)

    def _cross_attention(self, layer: int) -> AttentionEncoding:
        return ControlAttention(self.encoding.cross_attention(layer), self.places)


def of_tokens(positions: Positions, places: int) -> Positions:
    """Return positions that tokens have wherever they stand, below ``places``."""
    if positions.tokens is None:
        raise WordorderError(
            "The control of an encoding reads positions from tokens, but was given positions without them. Let a model "
            "make the positions, or give Positions its 'tokens'.",
            code="missing-tokens",
            key="control",
        )
    return replace(positions, absolute=positions.tokens % places, limit=places)
