"""Randomized positions: a base encoding whose positions or distances are drawn at random.

    base sinusoidal, learned, rope    the i-th token of a sentence of L takes the i-th smallest of L positions drawn
                                      from 0 … M - 1 without repetition
    base alibi, transformer_xl        the distance of the n-th neighbour on either side is the n-th smallest of L - 1
                                      distances drawn from 1 … M - 1 without repetition

Source: Ruoss et al. 2023 (Randomized Positional Encodings), section 3, and their released code: one draw for the
embeddings, or one per layer, shared by the sentences of a batch. ``sides: independent`` draws distances to the left and
to the right separately. Every batch draws again, also in evaluation. Here each sentence keeps its own L, independent of
its neighbours: the draws of a shorter sentence are among those of the longest. ALiBi has ``sides: offset``.
Promises: absolute with the bases sinusoidal and learned, relative with alibi and transformer_xl; the parameters of the
base, range · d per stack with learned. In an encoder with ``draw: length``, short sentences meet every position (or
distance) of the range equally often. Sentences of up to M tokens therefore meet none that training has not met. Works
at any length, except that the base learned stops with an error beyond M tokens (``longest`` if the length is unknown).
Departures: the paper describes encoders only. A decoder does not know the final length of its sentence, and the source
of a language model does not know the length of its target. There, and everywhere with ``draw: fixed``, L is
``longest``, and a sentence takes the first of these draws. They grow with the index, so nothing is promised for long
targets. Source and target draw separately, unless they are one stream. Tokens beyond M, or ``longest``, continue from
M. ``evaluation: mean`` uses the rounded means of all draws instead; the paper has no such variant. The released code's
Transformer-XL looks up negative distances at the wrong rows; here they are the mirrored ones, as in the paper.
Start: that of the base.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated, Literal, cast

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from typing_extensions import override

from wordorder.encodings.alibi import ALiBiAttention, ALiBiConfig
from wordorder.encodings.base import REGISTRY, AttentionEncoding, EncodingConfig, Positions, Product, Shape, Stack
from wordorder.encodings.layers import PerLayer
from wordorder.encodings.learned import LearnedConfig
from wordorder.encodings.lookup import distances
from wordorder.encodings.registry import build, register
from wordorder.encodings.rope import RoPEConfig
from wordorder.encodings.sinusoidal import SinusoidalConfig
from wordorder.encodings.transformer_xl import TransformerXLAttention, TransformerXLConfig
from wordorder.errors import WordorderError


class RandomizedConfig(EncodingConfig):
    """Parameters of an entry with ``type: randomized``."""

    revision = 2
    type: Literal["randomized"] = "randomized"
    base: Literal["sinusoidal", "learned", "rope", "alibi", "transformer_xl"] = Field(
        default="sinusoidal", description="Encoding whose positions or distances are drawn."
    )
    range: Annotated[
        int, Field(gt=1, description="M: positions are drawn from 0 … M - 1, distances from 1 … M - 1.")
    ] = 2048
    draw: Literal["length", "fixed"] = Field(
        default="length",
        description="Number of draws: the tokens of a sentence, if known, or always 'longest'.",
    )
    longest: Annotated[int, Field(gt=0, description="L if the length of a sentence is not known.")] = 512
    evaluation: Literal["draw", "mean"] = Field(
        default="draw", description="Positions after training: draws as in training, or the means of all draws."
    )
    sides: Literal["same", "independent"] = Field(
        default="same",
        description="Draw distances once for both sides of a token, or separately (alibi, transformer_xl).",
    )

    @model_validator(mode="after")
    def _can_be_drawn(self) -> RandomizedConfig:
        if self.longest > self.range:
            raise ValueError(f"longest ({self.longest}) cannot exceed range ({self.range})")
        if self.sides == "independent" and not self.draws_distances:
            raise ValueError(f"'sides: independent' is about distances, but the base '{self.base}' has positions")
        return self

    @property
    def draws_distances(self) -> bool:
        """Whether distances are drawn, and not positions."""
        return self.base in ("alibi", "transformer_xl")

    @property
    def encoding(self) -> EncodingConfig:
        """The configuration of the base."""
        bases: dict[str, EncodingConfig] = {
            "sinusoidal": SinusoidalConfig(placement=self.placement),
            "learned": LearnedConfig(table=self.range, placement=self.placement),
            "rope": RoPEConfig(placement=self.placement),
            "alibi": ALiBiConfig(sides="offset", placement=self.placement),
            "transformer_xl": TransformerXLConfig(placement=self.placement),
        }
        return bases[self.base]

    @property
    @override
    def with_contained(self) -> list[EncodingConfig]:
        return [self, *self.encoding.with_contained]

    @override
    def parameter_count(self, shape: Shape) -> int:
        return self.encoding.parameter_count(shape)


@dataclass(frozen=True)
class Draws:
    """Looks up the draws of a pass.

    Attributes:
        first: The smallest number that can be drawn: 0 for positions, 1 for distances.
        among: How many different numbers can be drawn.
        fixed: The number of draws if the length of a sentence is not known.
        by_length: Whether a known length determines the number of draws.
        sides: The number of draws per layer.
    """

    first: int
    among: int
    fixed: int
    by_length: bool
    sides: int

    def orders(self, layers: int) -> Tensor:
        """Draw the orders in which all numbers would be drawn: for each layer, length unknown or known, and side.

        Args:
            layers: Number of layers.

        Returns:
            The index at which each number is drawn, (layers · 2 · sides · among,) int32.
        """
        return torch.cat([torch.randperm(self.among, dtype=torch.int32) for _ in range(layers * 2 * self.sides)])

    def sorted(self, positions: Positions, count: int, *, layer: int = 0, side: int = 0) -> Tensor:
        """Look up the smallest, second smallest, … of a sentence's draws; without draws, their rounded means.

        Args:
            positions: Positions of the tokens, with the draws of their pass.
            count: How many to look up. Beyond the draws of a sentence, numbers continue from ``first + among``.
            layer: The layer, from 0.
            side: The side, from 0.

        Returns:
            The numbers, (1 | B, count) int64.
        """
        on = positions.absolute.device
        known = positions.lengths is not None
        number = positions.lengths if self.by_length else None
        number = torch.full((1, 1), self.fixed, device=on) if number is None else number
        number = (number - self.first).clamp(0, self.among)  # (1 | B, 1)
        index = torch.arange(count, device=on).expand(len(number), -1)
        if positions.drawn is None:
            # The mean of the i-th smallest of n of N numbers is (i + 1)(N + 1)/(n + 1) - 1, counted from 0.
            found = (2 * (index + 1) * (self.among + 1) + number + 1) // (2 * (number + 1)) - 1
        else:
            # All sentences of a batch have the same orders.
            order = positions.drawn[0].view(-1, 2, self.sides, self.among)[layer, int(known), side]
            found = torch.searchsorted((order < number).cumsum(1), index + 1)
        return self.first + torch.where(index < number, found, self.among + index - number)

    def positions(self, positions: Positions, *, layer: int = 0) -> Positions:
        """Replace positions by those drawn for them."""
        drawn = self.sorted(positions, positions.limit, layer=layer)
        rows = max(len(drawn), len(positions.absolute))
        absolute = drawn.expand(rows, -1).gather(1, positions.absolute.expand(rows, -1))
        return replace(positions, absolute=absolute, limit=self.among + positions.limit, shared=None)

    def distances(self, query: Positions, key: Positions, *, layer: int) -> tuple[Tensor, Tensor]:
        """Find the distances of all neighbours, and the index of each pair of tokens among them.

        Args:
            query: Positions of the queries.
            key: Positions of the keys.
            layer: The layer, from 0.

        Returns:
            The distances j - i in ascending order, (1 | B, 2n + 1), and the index of each pair, (1 | B, Lq, Lk).
        """
        farthest = max(query.limit, key.limit) - 1
        sides = [self.sorted(query, farthest, layer=layer, side=side) for side in (0, self.sides - 1)]
        every = torch.cat((-sides[0].flip(1), sides[0].new_zeros(len(sides[0]), 1), sides[1]), dim=1)
        return every, distances(query, key) + farthest


class RandomizedAttention(AttentionEncoding):
    """Acts as ``base``, at the positions or distances drawn for a layer."""

    def __init__(self, base: AttentionEncoding, draws: Draws, layer: int) -> None:
        super().__init__()
        self.base, self.draws, self.layer = base, draws, layer


class RandomizedRoPE(RandomizedAttention):
    """Rotates by drawn positions."""

    needs = frozenset({"rotate"})

    @override
    def rotate(self, queries: Tensor, keys: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        return self.base.rotate(queries, keys, self.draws.positions(positions, layer=self.layer))


class RandomizedALiBi(RandomizedAttention):
    """Adds ALiBi's bias of drawn distances."""

    needs = frozenset({"bias"})
    base: ALiBiAttention

    @override
    def bias(self, query: Positions, key: Positions) -> Tensor:
        every, pairs = self.draws.distances(query, key, layer=self.layer)
        values = self.base.of(every[:, None])  # (1 | B, H, 1, 2n + 1)
        shape = max(len(values), len(pairs)), values.size(1), *pairs.shape[1:]
        return values.expand(*shape[:3], -1).gather(-1, pairs[:, None].expand(shape))


class RandomizedTransformerXL(RandomizedAttention):
    """Adds Transformer-XL's terms of drawn distances."""

    needs = frozenset({"rotate", "scores"})
    additive = True
    base: TransformerXLAttention

    @override
    def rotate(self, queries: Tensor, keys: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        return self.base.rotate(queries, keys, positions)

    @override
    def scores(self, scores: Tensor, queries: Tensor, keys: Tensor, query: Positions, key: Positions) -> Tensor:
        every, pairs = self.draws.distances(query, key, layer=self.layer)
        products = self.base.products(queries, -every, self.draws.among + every.size(1))
        return scores + products.gather(-1, pairs[:, None].expand(scores.shape))


@register(RandomizedConfig)
class Randomized(PerLayer):
    """Acts where its base acts."""

    def __init__(self, config: RandomizedConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        base = build(config.encoding, shape)
        self.absolute = base.absolute
        self.relative = config.draws_distances
        self.evaluation, self.name = config.evaluation, config.base
        self.limits: dict[Stack, int] = {
            "encoder": config.range if config.draw == "length" else config.longest,
            "decoder": config.longest,
        }
        first = int(config.draws_distances)
        self.draws = Draws(
            first, config.range - first, config.longest, config.draw == "length", 1 + (config.sides == "independent")
        )
        self.base = base if base.absolute else None
        if self.base is None:
            for stack in config.stacks:
                self.layers[stack] = nn.ModuleList(
                    _randomized(base.attention(stack, layer), self.draws, layer) for layer in range(shape.layers(stack))
                )

    @override
    def inside_attention(self) -> bool:
        return self.base is None

    @classmethod
    @override
    def marks(cls, config: EncodingConfig) -> bool:
        return cast(RandomizedConfig, config).base in ("sinusoidal", "learned")

    @classmethod
    @override
    def product_of(cls, config: EncodingConfig) -> Product:
        base = cast(RandomizedConfig, config).encoding
        return REGISTRY.get(base.type).product_of(base)

    @override
    def draw(self, sentences: int) -> Tensor | None:
        if not self.training and self.evaluation == "mean":
            return None
        layers = max([len(cast(nn.ModuleList, stack)) for stack in self.layers.values()], default=1)
        return self.draws.orders(layers).expand(sentences, -1)

    def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        return x if self.base is None else self.base.add_to_embeddings(x, self._moved(positions), stack)

    def _moved(self, positions: Positions) -> Positions:
        moved = self.draws.positions(positions)
        if self.name != "learned":
            return moved
        most = self.limits["decoder" if positions.lengths is None else "encoder"]
        if positions.limit > most:
            raise WordorderError(
                f"The encoding 'randomized' with 'base: learned' has {most} positions, but a sentence needs "
                f"{positions.limit}. Raise 'range' and 'longest' of this encoding in encodings.yaml and train again, "
                "or shorten the sentence.",
                code="too-long",
                key="range",
                found=positions.limit,
                expected=most,
            )
        # Padding is masked, so its positions may exceed the table.
        size = self.draws.among
        return replace(moved, absolute=moved.absolute.clamp(max=size - 1), limit=size)

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return super()._attention(stack, layer) if self.layers else self._nothing

    def _table(self, length: int, stack: Stack) -> Tensor | None:
        """Return the vectors at the means of the draws of a sentence of unknown length."""
        if self.base is None:
            return None
        device = next(chain(self.base.parameters(), self.base.buffers())).device
        zeros = torch.zeros(1, length, self.shape.dim, device=device)
        return self._add_to_embeddings(zeros, Positions.range(length, on=device), stack)[0].detach()

    def _limit(self, stack: Stack) -> int | None:
        return self.limits[stack] if self.name == "learned" else None


def _randomized(base: AttentionEncoding, draws: Draws, layer: int) -> AttentionEncoding:
    if isinstance(base, ALiBiAttention):
        return RandomizedALiBi(base, draws, layer)
    if isinstance(base, TransformerXLAttention):
        return RandomizedTransformerXL(base, draws, layer)
    return RandomizedRoPE(base, draws, layer)
