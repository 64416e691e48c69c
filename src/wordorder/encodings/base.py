"""The interface of positional encodings: the named places where one may act, and nothing else.

Shapes: B batch, L length, H heads, d model size, d_h head size, Lq/Lk queries and keys.

| place                 | called with                     | used, for example, by                     |
|-----------------------|---------------------------------|-------------------------------------------|
| add_to_embeddings     | scaled embeddings               | sinusoidal, learned, OPR, InXL, CAPE      |
| transform_embeddings  | the same, after dropout         | PosNet-Embed                              |
| head_inputs           | input of a layer, before a norm | HeadXL                                    |
| rotate                | queries and keys                | RoPE, xPos                                |
| gates                 | inputs of an attention          | what bias and scores read of the tokens   |
| bias                  | positions and their states      | T5, ALiBi, FIRE, KERPLE, DiSAN masks      |
| scores                | scores, queries and keys        | Shaw keys, CoPE, Transformer-XL           |
| values                | values                          | PosNet-Attn                               |
| context               | attention weights and their sum | Shaw values                               |

Each place does nothing unless an encoding overrides it. The places inside attention belong to self-attention; bias,
scores and context may also act between target and source (``cross_attention``). Positions are data: they arrive with
every call, so step-by-step decoding and reordered positions need no special case. What an encoding draws at random
once per pass (:meth:`Encoding.draw`) and what it reads of each token (``gates``) travel with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

from torch import Tensor, arange, cat, device, nn

from wordorder.config.encodings import EncodingConfig, Shape, Stack
from wordorder.dropout import Drop
from wordorder.errors import WordorderError
from wordorder.registry import Registry

__all__ = ["REGISTRY", "AttentionEncoding", "Encoding", "EncodingConfig", "Positions", "Shape", "Stack"]

# The places inside attention, which an AttentionEncoding declares in ``needs``.
Place = Literal["head_inputs", "rotate", "values", "gates", "bias", "scores", "context"]
PLACES: tuple[Place, ...] = get_args(Place)
# A score and the indices of its sentence, head, query and key, each a number -> the changed score.
ScoreFunction = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Positions:
    """Where tokens stand in their sentence.

    absolute: (1 | B, L) int64, counted from 0.
    limit: a number above every position; kept as an int so that checking a table's length needs no GPU transfer.
    reordered: (B, L) int64, the position each token would take in target order, or None.
    drawn: (B, D), the random numbers of each sentence that :meth:`Encoding.draw` gave for this pass, or None.
    lengths: (B, 1) int64, how many tokens each sentence has; None where nobody knows yet, as in a target.
    state: (B, L, S), what :meth:`AttentionEncoding.gates` returned for these tokens in one attention, or None.
    tokens: (B, L) int64, the numbers of their subwords, which controls read; models set them.
    """

    absolute: Tensor
    limit: int
    reordered: Tensor | None = None
    drawn: Tensor | None = None
    state: Tensor | None = None
    lengths: Tensor | None = None
    tokens: Tensor | None = None

    @staticmethod
    def range(length: int, *, offset: int = 0, on: device | str = "cpu") -> Positions:
        """The positions offset, offset + 1, … of ``length`` tokens, the same for every sentence of a batch."""
        return Positions(arange(offset, offset + length, device=on)[None], offset + length)

    def with_reordered(self, reordered: Tensor | None) -> Positions:
        return replace(self, reordered=reordered)

    def expand(self, length: int) -> Positions:
        """One position for ``length`` tokens that stand at the same place, such as the hypotheses of a sentence."""
        if self.absolute.size(1) == length:
            return self
        tokens = None if self.tokens is None else self.tokens.view(-1, length)
        return replace(self, absolute=self.absolute.expand(-1, length), tokens=tokens)

    def part(self, rows: slice) -> Positions:
        """Keep the positions of some tokens of each sentence."""
        others = (self.reordered, self.state, self.tokens)
        reordered, state, tokens = (None if of is None else of[:, rows] for of in others)
        return replace(self, absolute=self.absolute[:, rows], reordered=reordered, state=state, tokens=tokens)

    def followed_by(self, other: Positions) -> Positions:
        """Concatenate the positions of other tokens of the same sentences.

        Tokens that no ``gates`` have read, those of a stack where an encoding does not act, get states of 0.
        """
        rows = max(len(self.absolute), len(other.absolute))
        absolute = cat((self.absolute.expand(rows, -1), other.absolute.expand(rows, -1)), dim=1)
        own = self.state if self.state is not None else other.state
        parts = [
            own.new_zeros(len(own), each.absolute.size(1), own.size(2)) if each.state is None else each.state
            for each in (self, other)
            if own is not None
        ]
        state = cat(parts, dim=1) if parts else None
        tokens = None if self.tokens is None or other.tokens is None else cat((self.tokens, other.tokens), dim=1)
        limit = max(self.limit, other.limit)
        return replace(self, absolute=absolute, limit=limit, reordered=None, state=state, tokens=tokens)

    def select(self, rows: Tensor) -> Positions:
        """Keep the positions of the given sentences (indices into B), in that order."""
        absolute = self.absolute if len(self.absolute) == 1 else self.absolute.index_select(0, rows)
        kept = {name: getattr(self, name) for name in ("reordered", "drawn", "state", "lengths", "tokens")}
        others: dict[str, Any] = {name: of if of is None else of.index_select(0, rows) for name, of in kept.items()}
        return replace(self, absolute=absolute, **others)


class AttentionEncoding(nn.Module):
    """What an encoding does inside one attention. Every place does nothing by default.

    A subclass declares in ``needs`` which places it overrides. Attention backends are chosen by this declaration, so
    one that does not match the class is an error as soon as the class is defined. An object may narrow the declaration
    of its class, where its configuration switches places off.
    """

    needs: frozenset[Place] = frozenset()

    # Whether ``score_function`` is overridden, which does pair by pair what ``bias`` and ``scores`` do.
    pairwise: bool = False

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        overridden = {place for place in PLACES if getattr(cls, place) is not getattr(AttentionEncoding, place)}
        if overridden != cls.needs:
            listed = ", ".join(f'"{place}"' for place in PLACES if place in overridden)
            raise WordorderError(
                f"The class {cls.__qualname__} of {cls.__module__} overrides the places {_named(overridden)}, but its "
                f"'needs' declares {_named(cls.needs)}. Attention is chosen by what an encoding declares: write 'needs "
                f"= frozenset({{{listed}}})' in the class, or correct the name of a misspelt method.",
                code="places-not-declared",
                key="needs",
                found=sorted(cls.needs),
                expected=sorted(overridden),
            )
        if (cls.score_function is not AttentionEncoding.score_function) != cls.pairwise:
            raise WordorderError(
                f"The class {cls.__qualname__} of {cls.__module__} must set 'pairwise = True' if, and only if, it "
                "overrides 'score_function'.",
                code="places-not-declared",
                key="pairwise",
                found=cls.pairwise,
                expected=not cls.pairwise,
            )

    def head_inputs(self, x: Tensor, positions: Positions, drop: Drop) -> list[tuple[int, Tensor]] | None:
        """Inputs for groups of heads: [(number of heads, (B, L, d)), …] in head order, or None for one common input.

        x is what enters the layer; a pre-norm layer normalises each input by itself. ``drop`` does to a (B, L, d) that
        belongs to the embeddings what their dropout did to them, by the same mask.
        """
        return None

    def rotate(self, queries: Tensor, keys: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        """(B, H, L, d_h) twice, of the same tokens; what is returned for the keys is what a cache keeps."""
        return queries, keys

    def values(self, values: Tensor, positions: Positions) -> Tensor:
        """(B, H, L, d_h) -> the same shape; what is returned is what a cache keeps."""
        return values

    def gates(self, x: Tensor, positions: Positions) -> Tensor | None:
        """Read what ``bias`` and ``scores`` need to know of each token besides its position.

        Args:
            x: Inputs of the attention, (B, L, d); in a pre-norm layer after the norm.
            positions: Positions of x.

        Returns:
            Numbers of each token, (B, L, S), found in ``state`` of the positions of queries and keys; a cache keeps
            them. None means that there are none.
        """
        return None

    def bias(self, query: Positions, key: Positions) -> Tensor | None:
        """Return what to add to the scores, (1 | B, 1 | H, Lq, Lk), or None.

        Without ``gates`` it must depend on positions only.
        """
        return None

    def scores(self, scores: Tensor, queries: Tensor, keys: Tensor, query: Positions, key: Positions) -> Tensor:
        """Change the scores.

        Args:
            scores: Scores divided by sqrt(d_h), (B, H, Lq, Lk); with another encoding that rotates, those of rotated
                queries and keys.
            queries: Queries before rotation, divided by sqrt(d_h), (B, H, Lq, d_h).
            keys: Keys as a cache keeps them, after rotation, (B, H, Lk, d_h).
            query: Positions of the queries.
            key: Positions of the keys.

        Returns:
            The changed scores, (B, H, Lq, Lk).
        """
        return scores

    def context(self, context: Tensor, weights: Tensor, query: Positions, key: Positions) -> Tensor:
        """Weighted sums (B, H, Lq, d_h) and their weights (B, H, Lq, Lk) after dropout -> weighted sums."""
        return context

    def score_function(self, queries: Tensor, query: Positions, key: Positions) -> ScoreFunction | None:
        """Return a function of one pair that has the whole effect of ``bias`` and ``scores``.

        For backends that never store the scores. By default it looks the bias up; override it, and set ``pairwise``,
        where the effect of ``scores`` can be had pair by pair or a formula saves the table.

        Args:
            queries: Queries before rotation, divided by sqrt(d_h), (B, H, Lq, d_h).
            query: Positions of the queries.
            key: Positions of the keys.

        Returns:
            The function, or None where nothing changes.
        """
        bias = self.bias(query, key)
        if bias is None:
            return None
        table = bias.expand(queries.size(0), queries.size(1), -1, -1)

        def score(value: Tensor, sentence: Tensor, head: Tensor, row: Tensor, column: Tensor) -> Tensor:
            return value + table[sentence, head, row, column].to(value.dtype)

        return score


def _named(places: Iterable[Place]) -> str:
    return ", ".join(sorted(places)) or "none"


class Encoding(nn.Module):
    """A positional encoding of a whole model. Subclasses override the underscored places.

    One object serves both stacks; ``placement`` decides in which of them it acts.
    """

    # An absolute encoding gives every position its own mark at the embeddings. Two of them in one composition are
    # an error, because their sum is neither.
    absolute: bool = False

    # A relative encoding sees only how far apart tokens are: moving all positions of a sentence changes nothing.
    relative: bool = False

    # The class of its parameters, which @register sets.
    configuration: ClassVar[type[EncodingConfig]]

    def __init__(self, config: EncodingConfig, shape: Shape) -> None:
        super().__init__()
        self.config = config
        self.shape = shape
        self._nothing = AttentionEncoding()

    @classmethod
    def marks(cls, config: EncodingConfig) -> bool:
        """Return whether an encoding of this configuration is absolute."""
        return cls.absolute

    def inside_attention(self) -> bool:
        """Return whether an encoding is about attention, also where its placement leaves nothing of that."""
        names = ("_attention", "_cross_attention")
        return any(getattr(type(self), name) is not getattr(Encoding, name) for name in names)

    def acts_in(self, stack: Stack) -> bool:
        return stack in self.config.stacks

    def add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        """Scaled embeddings (B, L, d), before dropout -> (B, L, d)."""
        return self._add_to_embeddings(x, positions, stack) if self.acts_in(stack) else x

    def transform_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        """Embeddings after dropout (B, L, d) -> (B, L, d)."""
        return self._transform_embeddings(x, positions, stack) if self.acts_in(stack) else x

    def attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        """What to do inside the self-attention of ``layer`` (from 0) of ``stack``."""
        return self._attention(stack, layer) if self.acts_in(stack) else self._nothing

    def cross_attention(self, layer: int) -> AttentionEncoding:
        """What to do between target (queries) and source (keys) in ``layer`` (from 0) of the decoder.

        Of its places bias, scores and context are asked.
        """
        return self._cross_attention(layer)

    def table(self, length: int, stack: Stack = "encoder") -> Tensor | None:
        """The vectors of positions 0 … length - 1, (length, d), where there is one a position; else None."""
        return self._table(length, stack) if self.acts_in(stack) else None

    def draw(self, sentences: int) -> Tensor | None:
        """Draw the random numbers of a pass that both stacks share, from the CPU's generator.

        The generator of the CPU is the one that the saved state of a training keeps.

        Args:
            sentences: Number of sentences, B.

        Returns:
            The numbers of each sentence, (B, D) on the CPU, found in ``drawn`` of all positions; None without any.
        """
        return None

    def limit(self, stack: Stack) -> int | None:
        """How many positions there are in a stack at most; None where any length works."""
        return self._limit(stack) if self.acts_in(stack) else None

    def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        return x

    def _transform_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        return x

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return self._nothing

    def _cross_attention(self, layer: int) -> AttentionEncoding:
        return self._nothing

    def _table(self, length: int, stack: Stack) -> Tensor | None:
        return None

    def _limit(self, stack: Stack) -> int | None:
        return None


REGISTRY: Registry[type[Encoding]] = Registry("encodings", "encoding")
