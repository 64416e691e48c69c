"""Controls: the parameters of an encoding without order.

    position of token x  ->  x mod control,   x the index of its subword

A control has the modules, the parameters and the computations of its encoding. But it derives the position of a token
from the token itself instead of from the sentence: wherever the token occurs, its position is the same. The gain of a
control over no encoding comes from its parameters; the gain of the encoding over its control comes from order.

In a decoder, the position of an earlier token may be after that of the query. Relative vectors and KERPLE have no
vectors or kernels of such distances in the decoder, so they use those of -|j - i|.

Source: this project. The key ``control``, a number of positions, turns an entry of ``encodings.yaml`` into a control.
Promises: no order: permuted source tokens give the permuted output of the encoder, and the decoder knows order only
from its causal mask; as many parameters as the encoding; works at any length.
"""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor
from typing_extensions import override

from wordorder.encodings.base import AttentionEncoding, Encoding, Place, Positions, ScoreFunction, Stack
from wordorder.errors import WordorderError


class ControlAttention(AttentionEncoding):
    """Passes the tokens' own positions to the hooks of an encoding inside one attention."""

    needs: frozenset[Place] = frozenset({"rotate", "values", "bias", "scores", "context"})
    pairwise = True

    def __init__(self, inside: AttentionEncoding, places: int) -> None:
        super().__init__()
        self.inside, self.places = inside, places
        self.needs, self.pairwise, self.additive = inside.needs, inside.pairwise, inside.additive

    @override
    def rotate(self, queries: Tensor, keys: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        return self.inside.rotate(queries, keys, of_tokens(positions, self.places))

    @override
    def values(self, values: Tensor, positions: Positions) -> Tensor:
        return self.inside.values(values, of_tokens(positions, self.places))

    @override
    def bias(self, query: Positions, key: Positions) -> Tensor | None:
        return self.inside.bias(of_tokens(query, self.places), of_tokens(key, self.places))

    shared_bias = bias  # each layer makes positions of its own

    @override
    def scores(self, scores: Tensor, queries: Tensor, keys: Tensor, query: Positions, key: Positions) -> Tensor:
        places = of_tokens(query, self.places), of_tokens(key, self.places)
        return self.inside.scores(scores, queries, keys, *places)

    @override
    def context(self, context: Tensor, weights: Tensor, query: Positions, key: Positions) -> Tensor:
        return self.inside.context(context, weights, of_tokens(query, self.places), of_tokens(key, self.places))

    @override
    def score_function(self, queries: Tensor, query: Positions, key: Positions) -> ScoreFunction | None:
        return self.inside.score_function(queries, of_tokens(query, self.places), of_tokens(key, self.places))


class Control(Encoding):
    """An encoding that derives positions from tokens.

    Args:
        encoding: The encoding, whose configuration sets ``control``.
    """

    def __init__(self, encoding: Encoding) -> None:
        super().__init__(encoding.config, encoding.shape)
        places = encoding.config.places
        assert places is not None
        self.encoding, self.places = encoding, places
        self.one_by_one = encoding.one_by_one
        limits = [encoding.limit(stack) for stack in encoding.config.stacks]
        most = min((limit for limit in limits if limit is not None), default=None)
        if most is not None and places > most:
            raise WordorderError(
                f"The control of the encoding '{encoding.config.type}' has {places} positions, but the encoding has "
                f"only {most} positions. Lower 'control' of this encoding in encodings.yaml to at most {most}.",
                code="out-of-range",
                key="control",
                found=places,
                expected=most,
            )

    @override
    def inside_attention(self) -> bool:
        return self.encoding.inside_attention()

    @override
    def draw(self, sentences: int) -> Tensor | None:
        return self.encoding.draw(sentences)

    @override
    def draws_numbers(self) -> bool:
        return self.encoding.draws_numbers()

    def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        return self.encoding.add_to_embeddings(x, of_tokens(positions, self.places), stack)

    def _transform_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        return self.encoding.transform_embeddings(x, of_tokens(positions, self.places), stack)

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return ControlAttention(self.encoding.attention(stack, layer), self.places)

    def _cross_attention(self, layer: int) -> AttentionEncoding:
        return ControlAttention(self.encoding.cross_attention(layer), self.places)


def of_tokens(positions: Positions, places: int) -> Positions:
    """Return the positions of tokens wherever they occur: their subword indices modulo ``places``."""
    if positions.tokens is None:
        raise WordorderError(
            "The control of an encoding derives positions from tokens, but received positions without them. Let a "
            "model make the positions, or set 'tokens'.",
            code="missing-tokens",
            key="control",
        )
    return replace(positions, absolute=positions.tokens % places, limit=places, shared=None)
