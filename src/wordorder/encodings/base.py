"""Interface of positional encodings: the hooks through which an encoding may act.

Shapes: B batch, L length, H heads, d model size, d_h head size, Lq/Lk queries and keys.

| hook                  | called with                     | used, for example, by                     |
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

A hook does nothing unless an encoding overrides it. The hooks inside attention belong to self-attention. Bias, scores
and context may also act between target and source (``cross_attention``).

Positions are data: every call receives them, so step-by-step decoding and reordered positions need no special case.
They also carry what an encoding draws at random once per pass (:meth:`Encoding.draw`) and what it reads from each token
(``gates``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeVar, get_args

from torch import Tensor, arange, cat, device, nn

from wordorder.config.encodings import EncodingConfig, Shape, Stack
from wordorder.draws import rows_of
from wordorder.dropout import Drop
from wordorder.errors import WordorderError
from wordorder.registry import Registry

__all__ = ["REGISTRY", "AttentionEncoding", "Encoding", "EncodingConfig", "Positions", "Shape", "Stack"]

T = TypeVar("T")

# The hooks inside attention, which an AttentionEncoding declares in ``needs``.
Place = Literal["head_inputs", "rotate", "values", "gates", "bias", "scores", "context"]
PLACES: tuple[Place, ...] = get_args(Place)
Product = Literal["plain", "rotated", "scaled", "own"]
# Maps a score and the indices of its sentence, head, query and key, all scalars, to the changed score.
ScoreFunction = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Positions:
    """The positions of tokens in their sentences.

    Attributes:
        absolute: Positions counted from 0, (1 | B, L) int64.
        limit: A number above every position. It is an int, so that checking the length of a table needs no GPU
            transfer.
        reordered: The position that each token would take in target order, (B, L) int64, or None.
        drawn: The random numbers that :meth:`Encoding.draw` gave each sentence for this pass, (B, D), or None.
        state: The states that :meth:`AttentionEncoding.gates` returned for these tokens in one attention, (B, L, S), or
            None.
        lengths: The number of tokens of each sentence, (B, 1) int64. None if it is not yet known, as in a target, or if
            rows hold several sentences.
        tokens: The subword indices of the tokens, (B, L) int64. Controls read them; models set them.
        ascending: ``absolute`` itself if its positions are known to ascend from token to token; see :attr:`ordered`.
        shared: What layers compute once per pass, see :meth:`once`; models set it. None if nothing is shared.
        sentences: The sentence of each token among those of its row, from 1, and 0 at padding, (B, L) int64. None if
            each row is one sentence.
    """

    absolute: Tensor
    limit: int
    reordered: Tensor | None = None
    drawn: Tensor | None = None
    state: Tensor | None = None
    lengths: Tensor | None = None
    tokens: Tensor | None = None
    ascending: Tensor | None = None
    shared: dict[Hashable, Any] | None = None
    sentences: Tensor | None = None

    @staticmethod
    def range(length: int, *, offset: int = 0, on: device | str = "cpu") -> Positions:
        """Create the positions offset, offset + 1, … of ``length`` tokens, shared by all sentences of a batch."""
        absolute = arange(offset, offset + length, device=on)[None]
        return Positions(absolute, offset + length, ascending=absolute)

    @staticmethod
    def of_rows(rows: Tensor, longest: int) -> Positions:
        """Create the positions of tokens in rows that hold several sentences.

        Args:
            rows: The number of each token's sentence in its row, and its position in the sentence, (2, B, L) int64.
            longest: The number of tokens of the longest sentence.
        """
        return Positions(rows[1], longest, sentences=rows[0])

    @property
    def ordered(self) -> bool:
        """Whether positions are known to ascend from token to token; forgotten where they are replaced."""
        return self.ascending is self.absolute

    def once(self, name: Hashable, compute: Callable[[], T]) -> T:
        """Compute a value that depends on these positions once per pass, for all layers.

        On a CPU, each layer computes trained values itself: gradients summed in another order have other bits.

        Args:
            name: What is computed, and everything else that it depends on.
            compute: Computes the value.

        Returns:
            The value.
        """
        if self.shared is None:
            return compute()
        key = name, id(self.absolute)
        if key not in self.shared:
            found = compute()
            if isinstance(found, Tensor) and found.requires_grad and found.device.type == "cpu":
                return found
            # The tensor is kept too, so that no other tensor gets its id.
            self.shared[key] = self.absolute, found
        kept: T = self.shared[key][1]
        return kept

    def with_reordered(self, reordered: Tensor | None) -> Positions:
        """Return these positions with the given reordered positions."""
        return replace(self, reordered=reordered)

    def expand(self, length: int) -> Positions:
        """Repeat one position for ``length`` tokens at the same index, such as the hypotheses of a sentence."""
        if self.absolute.size(1) == length:
            return self
        tokens = None if self.tokens is None else self.tokens.view(-1, length)
        drawn = None if self.drawn is None else self.drawn[::length]  # Tokens of a sentence share its numbers.
        return replace(self, absolute=self.absolute.expand(-1, length), drawn=drawn, tokens=tokens)

    def part(self, rows: slice) -> Positions:
        """Keep the positions of some tokens of each sentence."""
        others = (self.reordered, self.state, self.tokens)
        reordered, state, tokens = (None if of is None else of[:, rows] for of in others)
        return replace(self, absolute=self.absolute[:, rows], reordered=reordered, state=state, tokens=tokens)

    def followed_by(self, other: Positions) -> Positions:
        """Concatenate the positions of other tokens of the same sentences.

        Tokens without a state belong to a stack where the encoding does not act. They get states of 0.
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
        """Select sentences by their indices into B, in the given order."""
        absolute = self.absolute if len(self.absolute) == 1 else self.absolute.index_select(0, rows)
        drawn = None if self.drawn is None else rows_of(self.drawn, rows)
        kept = {name: getattr(self, name) for name in ("reordered", "state", "lengths", "tokens")}
        others: dict[str, Any] = {name: of if of is None else of.index_select(0, rows) for name, of in kept.items()}
        return replace(self, absolute=absolute, drawn=drawn, **others)


def sides_of(stack: Stack) -> int:
    """Return the number of sides of a query that have keys: a decoder has no keys after it."""
    return 2 if stack == "encoder" else 1


def of_pairs(query: Positions, key: Positions, name: Hashable, compute: Callable[[], T]) -> T:
    """Compute a value once per pass if queries and keys are the same tokens; see :meth:`Positions.once`."""
    return query.once(name, compute) if query.absolute is key.absolute else compute()


class AttentionEncoding(nn.Module):
    """The effect of an encoding inside one attention. By default no hook does anything.

    A subclass declares the hooks that it overrides in ``needs``. Attention backends are chosen by this declaration, so
    a declaration that does not match the class raises an error as soon as the class is defined. An instance may narrow
    the declaration of its class if its configuration switches hooks off.
    """

    needs: frozenset[Place] = frozenset()

    # True if the class overrides ``score_function``, which applies ``bias`` and ``scores`` pair by pair.
    pairwise: bool = False

    # True if ``bias`` hides keys from heads, as a mask does.
    hides: bool = False

    # True if ``scores`` adds a term that does not depend on the scores, which fused attention takes as a bias.
    additive: bool = False

    # Parameters that a search in bfloat16 keeps in single precision, because their error would grow with the position.
    not_rounded: tuple[str, ...] = ()

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        overridden = {place for place in PLACES if getattr(cls, place) is not getattr(AttentionEncoding, place)}
        if overridden != cls.needs:
            listed = ", ".join(f'"{place}"' for place in PLACES if place in overridden)
            raise WordorderError(
                f"The class {cls.__qualname__} of {cls.__module__} overrides the hooks {_named(overridden)}, but its "
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
        """Provide separate inputs for groups of heads.

        Args:
            x: Input of the layer, (B, L, d). A pre-norm layer normalises each of the returned inputs separately.
            positions: Positions of x.
            drop: Applies the dropout of the embeddings, with the same mask, to a tensor (B, L, d) that belongs to them.

        Returns:
            Pairs of a number of heads and their input (B, L, d), in the order of the heads. None means one common
            input.
        """
        return None

    def rotate(self, queries: Tensor, keys: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        """Rotate queries and keys of the same tokens.

        Args:
            queries: Queries, (B, H, L, d_h).
            keys: Keys, (B, H, L, d_h).
            positions: Positions of the tokens.

        Returns:
            Queries and keys of the same shapes. A cache keeps the returned keys.
        """
        return queries, keys

    def values(self, values: Tensor, positions: Positions) -> Tensor:
        """Transform values.

        Args:
            values: Values, (B, H, L, d_h).
            positions: Positions of their tokens.

        Returns:
            Values of the same shape, which a cache keeps.
        """
        return values

    def gates(self, x: Tensor, positions: Positions) -> Tensor | None:
        """Compute the state of each token that ``bias`` and ``scores`` need besides its position.

        Args:
            x: Inputs of the attention, (B, L, d); in a pre-norm layer after the norm.
            positions: Positions of x.

        Returns:
            The state of each token, (B, L, S), or None. It becomes ``state`` of the positions of queries and keys, and
            a cache keeps it.
        """
        return None

    def bias(self, query: Positions, key: Positions) -> Tensor | None:
        """Compute a bias that attention adds to the scores.

        Without ``gates``, it must depend on positions only.

        Args:
            query: Positions of the queries.
            key: Positions of the keys.

        Returns:
            The bias, (1 | B, 1 | H, Lq, Lk), or None.
        """
        return None

    def shared_bias(self, query: Positions, key: Positions) -> Tensor | None:
        """Return the bias, computed once per pass for all layers that share this object and their positions."""
        if "gates" in self.needs:
            return self.bias(query, key)
        return of_pairs(query, key, (self, "bias"), lambda: self.bias(query, key))

    def scores(self, scores: Tensor, queries: Tensor, keys: Tensor, query: Positions, key: Positions) -> Tensor:
        """Change the scores, to which biases are added afterwards.

        Args:
            scores: Scores divided by sqrt(d_h), (B, H, Lq, Lk). If another encoding rotates, they are those of rotated
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
        """Change the weighted sums of the values.

        Args:
            context: Weighted sums of the values, (B, H, Lq, d_h).
            weights: Attention weights after dropout, (B, H, Lq, Lk).
            query: Positions of the queries.
            key: Positions of the keys.

        Returns:
            The changed sums, (B, H, Lq, d_h).
        """
        return context

    def score_function(self, queries: Tensor, query: Positions, key: Positions) -> ScoreFunction | None:
        """Return a function of one pair of tokens with the whole effect of ``bias`` and ``scores``.

        Backends that never store the scores use it. By default it looks up the bias. Override it, and set ``pairwise``,
        if ``scores`` can be computed pair by pair, or if a formula makes the table unnecessary.

        Args:
            queries: Queries before rotation, divided by sqrt(d_h), (B, H, Lq, d_h).
            query: Positions of the queries.
            key: Positions of the keys.

        Returns:
            The function, or None if nothing changes.
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
    """A positional encoding of a whole model. Subclasses override the hooks that start with an underscore.

    One object serves both stacks; ``placement`` selects the stacks in which it acts.

    Attributes:
        configuration: The class of its parameters, which ``@register`` sets.
        absolute: True if the encoding marks each position at the embeddings. A composition of two absolute encodings in
            a stack is an error, because their sum is neither of them.
        relative: True if the encoding depends only on distances: shifting all positions of a sentence changes nothing.
        product: How the encoding changes the products of queries and keys: not at all ("plain"), by a rotation
            ("rotated") or a constant factor ("scaled"), or in a way that permits no other change ("own"). A composition
            of two that change them is an error, unless one rotates and the other scales.
        one_by_one: True if the encoding acts on each token by its own position only, without a look at other tokens and
            without random numbers per sentence. Then a GPU may put several sentences into one row of a batch.
    """

    absolute: bool = False
    relative: bool = False
    product: Product = "plain"
    one_by_one: bool = False
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

    @classmethod
    def product_of(cls, config: EncodingConfig) -> Product:
        """Return how an encoding of this configuration changes the products of queries and keys."""
        return cls.product

    def inside_attention(self) -> bool:
        """Return whether the encoding has hooks inside attention, even if its placement makes none of them act."""
        names = ("_attention", "_cross_attention")
        return any(getattr(type(self), name) is not getattr(Encoding, name) for name in names)

    def acts_in(self, stack: Stack) -> bool:
        """Return whether the encoding acts in a stack."""
        return stack in self.config.stacks

    def add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        """Add positions to the embeddings.

        Args:
            x: Scaled embeddings before dropout, (B, L, d).
            positions: Positions of the tokens.
            stack: Stack of the embeddings.

        Returns:
            The changed embeddings, (B, L, d).
        """
        return self._add_to_embeddings(x, positions, stack) if self.acts_in(stack) else x

    def transform_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        """Transform the embeddings after their dropout.

        Args:
            x: Embeddings after dropout, (B, L, d).
            positions: Positions of the tokens.
            stack: Stack of the embeddings.

        Returns:
            The changed embeddings, (B, L, d).
        """
        return self._transform_embeddings(x, positions, stack) if self.acts_in(stack) else x

    def attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        """Return the encoding's effect inside the self-attention of ``layer`` (counted from 0) of ``stack``."""
        return self._attention(stack, layer) if self.acts_in(stack) else self._nothing

    def cross_attention(self, layer: int) -> AttentionEncoding:
        """Return the effect between target (queries) and source (keys) in ``layer`` (counted from 0) of the decoder.

        Only its hooks bias, scores and context are called.
        """
        return self._cross_attention(layer)

    def table(self, length: int, stack: Stack = "encoder") -> Tensor | None:
        """Return the position vectors of an absolute encoding.

        Args:
            length: Number of positions, counted from 0.
            stack: Stack in which the encoding acts.

        Returns:
            One vector per position, (length, d), or None if the encoding has no such vectors.
        """
        return self._table(length, stack) if self.acts_in(stack) else None

    def draw(self, sentences: int) -> Tensor | None:
        """Draw the random numbers of a pass, which both stacks share.

        They come from the generator of the CPU, because the saved state of a training includes that generator.

        Args:
            sentences: Number of sentences, B.

        Returns:
            The random numbers of each sentence, (B, D) on the CPU, or None. They become ``drawn`` of all positions.
        """
        return None

    def draws_numbers(self) -> bool:
        """Return whether :meth:`draw` draws random numbers."""
        return type(self).draw is not Encoding.draw

    def limit(self, stack: Stack) -> int | None:
        """Return the largest number of positions in a stack, or None if any length works."""
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
