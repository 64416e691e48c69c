"""Biases that adapt to the scores (DAPE).

    E = S + B + W_2 LeakyReLU(W_1 [S; B] + b_1) + b_2

S are the scores q_i · k_j / √d_h and B the biases of another encoding (``over``), one number each per head; [S; B] are
the 2H numbers of one pair of tokens, and the network 2H → hidden → H mixes the heads of this pair.

Source: Zheng et al. 2024 (DAPE); sizes, slope 0.01 and the place of S + B beside the network are those of the released
code, which has the network and the biases per layer. The paper is about decoders.
Promises: what ``over`` promises about shifts and lengths; in each layer the parameters of ``over``, once, and
3H · hidden + hidden + H more. Masks and padding change no other pair.
Departures: none of the formula. In the encoder B is what ``over`` has in an encoder.
Start values: PyTorch's for linear layers, as in the released code.

W_1 B is the same for all sentences that share their positions, so it is computed once per batch; the hidden numbers of
a few pairs at a time stay in the processor's cache and are computed again for the gradient, so that no tensor of
hidden x Lq x Lk is kept. In the decoder, whole blocks of keys behind their queries are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, cast

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from wordorder.config.encodings import AnyEncoding
from wordorder.encodings.base import AttentionEncoding, Encoding, EncodingConfig, Positions, Shape, Stack
from wordorder.encodings.kerple import KERPLEConfig
from wordorder.encodings.registry import COMPOSED, build, register
from wordorder.errors import WordorderError

_SLOPE = 0.01  # of the LeakyReLU
_CACHED = 1 << 18  # hidden numbers that are computed at a time on a CPU: one megabyte
_AT_ONCE = 1 << 28  # and on other devices, which start every operation anew


class DAPEConfig(EncodingConfig):
    type: Literal["dape"] = "dape"
    over: AnyEncoding = Field(
        default=KERPLEConfig(), description="The encoding whose biases adapt; its placement is that of this one."
    )
    hidden: int = Field(default=32, gt=0, description="Size of the network's hidden layer.")

    @model_validator(mode="after")
    def _over_one_encoding(self) -> DAPEConfig:
        if self.over.type == COMPOSED:
            raise ValueError("'over' must be one encoding, not a composition")
        if self.over.placement != "both":
            raise ValueError("'over' acts where this encoding acts; give 'placement' to this encoding only")
        return self

    def parameter_count(self, shape: Shape) -> int:
        network = 3 * shape.heads * self.hidden + self.hidden + shape.heads
        return sum(
            shape.layers(stack) * (network + self.placed(stack).parameter_count(_one_layer(shape)))
            for stack in self.stacks
        )

    def placed(self, stack: Stack) -> EncodingConfig:
        """Return ``over`` in one stack."""
        return self.over.model_copy(update={"placement": stack})


def _one_layer(shape: Shape) -> Shape:
    return Shape(shape.dim, shape.heads, 1, 1)


class DAPEAttention(AttentionEncoding):
    """The network and the biases of one layer."""

    needs = frozenset({"scores"})

    def __init__(self, config: DAPEConfig, shape: Shape, stack: Stack) -> None:
        super().__init__()
        self.over = build(config.placed(stack), _one_layer(shape)).attention(stack, 0)
        if self.over.needs != {"bias"}:
            raise WordorderError(
                f"The encoding 'dape' adapts the biases of another encoding, but '{config.over.type}' acts at other "
                f"places: {', '.join(sorted(self.over.needs)) or 'none inside attention'}. Choose an encoding under "
                "'over' that has biases only, such as 'kerple', 'alibi' or 'fire'.",
                code="conflicting-encodings",
                key="over",
                found=config.over.type,
            )
        self.causal = stack == "decoder"
        self.inner = nn.Linear(2 * shape.heads, config.hidden)
        self.outer = nn.Linear(config.hidden, shape.heads)

    def scores(self, scores: Tensor, queries: Tensor, keys: Tensor, query: Positions, key: Positions) -> Tensor:
        bias = self.over.bias(query, key)
        assert bias is not None
        bias = bias.expand(-1, scores.size(1), -1, -1)  # (1 | B, H, Lq, Lk)
        keys_seen = self._keys_seen(query, key)
        weights = (self.inner.weight, self.inner.bias, self.outer.weight, self.outer.bias)
        adapted: Tensor = _Adapted.apply(scores, bias, *weights, keys_seen)  # type: ignore[no-untyped-call]
        return adapted

    def _keys_seen(self, query: Positions, key: Positions) -> list[int]:
        """Return of each query how many keys, from the first on, it or an earlier one may see."""
        every = key.absolute.size(1)
        if not self.causal or key.absolute.device.type != "cpu":  # an accelerator would have to wait for the answer
            return [every] * query.absolute.size(1)
        seen = key.absolute[:, None] <= query.absolute[:, :, None]  # (1 | B, Lq, Lk)
        last = (seen * torch.arange(1, every + 1)).amax((0, 2))
        return cast("list[int]", last.cummax(0).values.tolist())


class _Adapted(torch.autograd.Function):
    """E of a whole attention, block by block, with the hidden numbers computed again for the gradient."""

    @staticmethod
    def forward(
        context: Any,
        scores: Tensor,
        bias: Tensor,
        inner: Tensor,
        inner_bias: Tensor,
        outer: Tensor,
        outer_bias: Tensor,
        keys_seen: list[int],
    ) -> Tensor:
        context.save_for_backward(scores, bias, inner, inner_bias, outer)
        context.keys_seen = keys_seen
        adapted = scores + bias
        network = _Network(inner, inner_bias, outer)
        with torch.autocast(scores.device.type, enabled=False):
            for pairs, groups in _blocks(scores, len(inner), keys_seen):
                shared = network.shared(bias[:, :, *pairs])  # (1 | B, hidden, n)
                for sentences in groups:
                    own = scores[sentences, :, *pairs]  # (b, H, rows, keys)
                    hidden = network.hidden(own, shared if len(shared) == 1 else shared[sentences])
                    change = torch.baddbmm(outer_bias[:, None], outer.expand(len(own), -1, -1), hidden)
                    adapted[sentences, :, *pairs] += change.view(own.shape)
        return adapted

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        scores, bias, inner, inner_bias, outer = context.saved_tensors
        (toward,) = gradients
        network = _Network(inner, inner_bias, outer)
        of_scores = toward.to(scores.dtype, copy=True)
        of_bias = toward.sum_to_size(bias.shape).to(bias.dtype, copy=True)
        of_outer_bias = of_bias.sum((0, 2, 3)).to(outer.dtype)
        of_inner, of_outer = torch.zeros_like(inner), torch.zeros_like(outer)
        of_inner_bias = torch.zeros_like(inner_bias)
        heads = len(outer)
        with torch.autocast(scores.device.type, enabled=False):
            for pairs, groups in _blocks(scores, len(inner), context.keys_seen):
                own_bias = bias[:, :, *pairs]
                shared = network.shared(own_bias)
                of_shared = torch.zeros_like(shared)
                for sentences in groups:
                    own = scores[sentences, :, *pairs]
                    there = toward[sentences, :, *pairs].reshape(len(own), heads, -1).to(outer.dtype)  # (b, H, n)
                    hidden = network.hidden(own, shared if len(shared) == 1 else shared[sentences])  # (b, hidden, n)
                    of_outer += torch.bmm(there, hidden.mT).sum(0)
                    of_hidden = torch.bmm(outer.T.expand(len(own), -1, -1), there)
                    of_hidden = torch.ops.aten.leaky_relu_backward(of_hidden, hidden, _SLOPE, True)
                    flat = own.reshape(len(own), heads, -1).to(inner.dtype)
                    of_inner[:, :heads] += torch.bmm(flat, of_hidden.mT).sum(0).T
                    back = torch.bmm(network.of_scores.T.expand(len(own), -1, -1), of_hidden)
                    of_scores[sentences, :, *pairs] += back.view(own.shape)
                    if len(of_shared) == 1:
                        of_shared += of_hidden if len(own) == 1 else of_hidden.sum(0, keepdim=True)
                    else:
                        of_shared[sentences] = of_hidden
                flat = own_bias.reshape(len(bias), heads, -1).to(inner.dtype)
                of_inner[:, heads:] += torch.bmm(flat, of_shared.mT).sum(0).T
                of_inner_bias += of_shared.sum((0, 2))
                back = torch.bmm(network.of_bias.T.expand(len(bias), -1, -1), of_shared)
                of_bias[:, :, *pairs] += back.view(own_bias.shape)
        return of_scores, of_bias, of_inner, of_inner_bias, of_outer, of_outer_bias, None


class _Network:
    """The first layer of the network, apart for scores and biases: weights (hidden, H) each."""

    def __init__(self, inner: Tensor, inner_bias: Tensor, outer: Tensor) -> None:
        heads = len(outer)
        self.of_scores, self.of_bias, self.start = inner[:, :heads], inner[:, heads:], inner_bias[:, None]

    def shared(self, bias: Tensor) -> Tensor:
        """W_1 B + b_1 of a block: (1 | B, H, rows, keys) -> (1 | B, hidden, n)"""
        flat = bias.reshape(*bias.shape[:2], -1).to(self.start.dtype)
        return torch.baddbmm(self.start, self.of_bias.expand(len(bias), -1, -1), flat)

    def hidden(self, scores: Tensor, shared: Tensor) -> Tensor:
        """Return the hidden numbers of a block: (b, H, rows, keys), (1 | b, hidden, n) -> (b, hidden, n)"""
        flat = scores.reshape(*scores.shape[:2], -1).to(self.start.dtype)
        before = torch.baddbmm(shared, self.of_scores.expand(len(scores), -1, -1), flat)
        return functional.leaky_relu_(before, _SLOPE)


def _blocks(scores: Tensor, hidden: int, keys_seen: list[int]) -> Iterator[tuple[tuple[slice, slice], list[slice]]]:
    """Split the pairs of an attention: queries and keys of a block, and the groups of sentences that fit into it."""
    sentences, _, queries, keys = scores.shape
    room = max(1, (_CACHED if scores.device.type == "cpu" else _AT_ONCE) // hidden)  # pairs at a time
    rows = max(1, min(queries, room // max(1, keys)))
    for first in range(0, queries, rows):
        last = min(first + rows, queries)
        number = max(1, room // max(1, (last - first) * keys_seen[last - 1]))
        groups = [slice(start, start + number) for start in range(0, sentences, number)]
        yield (slice(first, last), slice(0, keys_seen[last - 1])), groups


@register(DAPEConfig)
class DAPE(Encoding):
    """Acts inside every self-attention of the stacks where it is placed."""

    relative = True

    def __init__(self, config: DAPEConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self.layers = nn.ModuleDict(
            {
                stack: nn.ModuleList(DAPEAttention(config, shape, stack) for _ in range(shape.layers(stack)))
                for stack in config.stacks
            }
        )

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return cast(AttentionEncoding, cast(nn.ModuleList, self.layers[stack])[layer])
