"""Biases that adapt to the scores (DAPE).

    E = S + B + W_2 LeakyReLU(W_1 [S; B] + b_1) + b_2

S are the scores q_i · k_j / √d_h. B are the biases of another encoding (``over``), one number per head. [S; B] holds
the 2H numbers of one pair of tokens. The network 2H → hidden → H mixes the heads of this pair.

Source: Zheng et al. 2024 (DAPE). Sizes, slope 0.01 and the sum S + B outside the network are those of the released
code, which has the network and the biases per layer. The paper describes decoders only.
Promises: those of ``over`` about shifts and lengths; in each layer the parameters of ``over``, once, and 3H · hidden +
hidden + H more. Masks and padding change no other pair.
Departures: none of the formula. In the encoder, B is the encoder bias of ``over``.
Start values: PyTorch's for linear layers, as in the released code.

The hidden numbers of a few pairs at a time stay in the processor's cache and are recomputed for the gradient, so that
no tensor of hidden x Lq x Lk is kept. In the decoder, whole blocks of later keys are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, cast

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from wordorder.config.encodings import AnyEncoding
from wordorder.encodings.base import AttentionEncoding, Encoding, EncodingConfig, Positions, Shape, Stack
from wordorder.encodings.kerple import KERPLEConfig
from wordorder.encodings.layers import PerLayer
from wordorder.encodings.registry import COMPOSED, build, register
from wordorder.errors import WordorderError
from wordorder.precision import without_autocast

_SLOPE = 0.01  # of the LeakyReLU
_CACHED = 1 << 18  # hidden numbers per block on a CPU: one megabyte
_AT_ONCE = 1 << 28  # and on other devices, where each operation has a launch cost


class DAPEConfig(EncodingConfig):
    """Parameters of an entry with ``type: dape``."""

    type: Literal["dape"] = "dape"
    over: AnyEncoding = Field(
        default=KERPLEConfig(), description="Encoding whose biases adapt; it has the placement of this encoding."
    )
    hidden: int = Field(default=32, gt=0, description="Size of the hidden layer of the network.")

    @model_validator(mode="after")
    def _over_one_encoding(self) -> DAPEConfig:
        if self.over.type == COMPOSED:
            raise ValueError("'over' must be one encoding, not a composition")
        if self.over.placement != "both":
            raise ValueError("'over' acts where this encoding acts; give 'placement' to this encoding only")
        return self

    @property
    @override
    def with_contained(self) -> list[EncodingConfig]:
        return [self, *self.over.with_contained]

    @override
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


def _not_adaptable(over: Encoding, attention: AttentionEncoding) -> str:
    """Return what an encoding does apart from its biases in one attention; empty if it does nothing else."""
    if over.draws_numbers():
        return "draws random positions for each pass"
    if attention.needs != {"bias"}:
        return f"acts at other places: {', '.join(sorted(attention.needs)) or 'none inside attention'}"
    if attention.hides:
        return "hides keys from heads with these settings, which a network cannot adapt"
    if sum(map(torch.Tensor.numel, over.parameters())) > sum(map(torch.Tensor.numel, attention.parameters())):
        return "has parameters outside attention with these settings"
    return ""


class DAPEAttention(AttentionEncoding):
    """The network and the biases of one layer."""

    needs = frozenset({"scores"})

    def __init__(self, config: DAPEConfig, shape: Shape, stack: Stack) -> None:
        super().__init__()
        over = build(config.placed(stack), _one_layer(shape))
        self.over = over.attention(stack, 0)
        if why := _not_adaptable(over, self.over):
            raise WordorderError(
                f"The encoding 'dape' adapts the biases of another encoding, but '{config.over.type}' {why}. Choose an "
                "encoding under 'over' that has biases only, such as 'kerple', 'alibi' or 'fire'.",
                code="conflicting-encodings",
                key="over",
                found=config.over.type,
            )
        self.causal = stack == "decoder"
        self.inner = nn.Linear(2 * shape.heads, config.hidden)
        self.outer = nn.Linear(config.hidden, shape.heads)

    @override
    def scores(self, scores: Tensor, queries: Tensor, keys: Tensor, query: Positions, key: Positions) -> Tensor:
        bias = self.over.bias(query, key)
        assert bias is not None
        bias = bias.expand(-1, scores.size(1), -1, -1)  # (1 | B, H, Lq, Lk)
        keys_seen = self._keys_seen(query, key)
        weights = (self.inner.weight, self.inner.bias, self.outer.weight, self.outer.bias)
        adapted: Tensor = _Adapted.apply(scores, bias, *weights, keys_seen)  # type: ignore[no-untyped-call]
        return adapted

    def _keys_seen(self, query: Positions, key: Positions) -> list[int]:
        """Count for each query the keys, from the first on, that it or an earlier query may see."""
        every = key.absolute.size(1)
        if not self.causal or key.absolute.device.type != "cpu":  # An accelerator would have to wait for the answer.
            return [every] * query.absolute.size(1)
        seen = key.absolute[:, None] <= query.absolute[:, :, None]  # (1 | B, Lq, Lk)
        last = (seen * torch.arange(1, every + 1)).amax((0, 2))
        return cast("list[int]", last.cummax(0).values.tolist())


class _Adapted(torch.autograd.Function):
    """E of a whole attention, block by block. The hidden numbers are recomputed for the gradient."""

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
        weight = torch.cat((inner, inner_bias[:, None]), dim=1)  # (hidden, 2H + 1)
        context.save_for_backward(scores, bias, weight, outer)
        context.keys_seen = keys_seen
        adapted = scores + bias
        with _small_products(scores.device.type):
            for block in _blocks(scores, len(inner), keys_seen):
                _, hidden = _hidden(scores[block], bias[_shared(block, bias)], weight)
                change = torch.baddbmm(outer_bias[:, None], outer.expand(len(hidden), -1, -1), hidden)
                adapted[block] += change.view(adapted[block].shape)
        return adapted

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        scores, bias, weight, outer = context.saved_tensors
        (toward,) = gradients
        heads = len(outer)
        of_scores = toward.to(scores.dtype, copy=True)
        of_bias = toward.sum_to_size(bias.shape).to(bias.dtype, copy=True)
        of_outer_bias = of_bias.sum((0, 2, 3)).to(outer.dtype)
        of_weight, of_outer = torch.zeros_like(weight), torch.zeros_like(outer)
        with _small_products(scores.device.type):
            for block in _blocks(scores, len(weight), context.keys_seen):
                shared = _shared(block, bias)
                pairs, hidden = _hidden(scores[block], bias[shared], weight)
                there = toward[block].reshape(len(hidden), heads, -1).to(outer.dtype)  # (b, H, n)
                of_outer += torch.bmm(there, hidden.mT).sum(0)
                of_hidden = torch.bmm(outer.T.expand(len(hidden), -1, -1), there)  # (b, hidden, n)
                torch.ops.aten.leaky_relu_backward.grad_input(of_hidden, hidden, _SLOPE, True, grad_input=of_hidden)
                of_weight[:, :-1] += torch.bmm(of_hidden, pairs[:, :-1].mT).sum(0)
                of_weight[:, -1] += of_hidden.sum((0, 2))
                back = torch.bmm(weight[:, :-1].T.expand(len(hidden), -1, -1), of_hidden)  # (b, 2H, n)
                of_scores[block] += back[:, :heads].view(of_scores[block].shape)
                of_biases = back[:, heads:].view(of_scores[block].shape)
                of_bias[shared] += of_biases.sum_to_size(of_bias[shared].shape)
        return of_scores, of_bias, of_weight[:, :-1], of_weight[:, -1], of_outer, of_outer_bias, None


def _hidden(scores: Tensor, bias: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the hidden numbers of a block.

    Args:
        scores: Scores, (b, H, rows, keys).
        bias: Biases, (1 | b, H, rows, keys).
        weight: W_1 and b_1, (hidden, 2H + 1).

    Returns:
        The input of the network, whose last number is 1, (b, 2H + 1, n), and the hidden numbers, (b, hidden, n).
    """
    one = scores.new_ones((), dtype=weight.dtype).expand(len(scores), 1, *scores.shape[2:])
    parts = (scores.to(weight.dtype), bias.expand(scores.shape).to(weight.dtype), one)
    pairs = torch.cat(parts, dim=1).flatten(2)
    return pairs, functional.leaky_relu_(torch.bmm(weight.expand(len(scores), -1, -1), pairs), _SLOPE)


@contextmanager
def _small_products(device: str) -> Iterator[None]:
    """Compute products without oneDNN, which supports lower precisions but is slow for small matrices."""
    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        with without_autocast(device):
            yield
    finally:
        torch.set_float32_matmul_precision(precision)


Block = tuple[slice, slice, slice, slice]  # sentences, heads, queries, keys


def _blocks(scores: Tensor, hidden: int, keys_seen: list[int]) -> Iterator[Block]:
    """Split an attention into blocks of all heads with a limited number of pairs."""
    sentences, heads, queries, keys = scores.shape
    room = max(1, (_CACHED if scores.device.type == "cpu" else _AT_ONCE) // hidden)  # pairs at a time
    rows = max(1, min(queries, room // max(1, keys)))
    for first in range(0, queries, rows):
        last = min(first + rows, queries)
        number = max(1, room // max(1, (last - first) * keys_seen[last - 1]))
        for start in range(0, sentences, number):
            yield slice(start, start + number), slice(0, heads), slice(first, last), slice(0, keys_seen[last - 1])


def _shared(block: Block, bias: Tensor) -> Block:
    """Return the biases of a block of scores. Sentences may share their biases."""
    return block if len(bias) > 1 else (slice(0, 1), *block[1:])


@register(DAPEConfig)
class DAPE(PerLayer):
    """Acts inside every self-attention of the stacks where it is placed."""

    relative = True

    def __init__(self, config: DAPEConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self._fill(lambda stack: DAPEAttention(config, shape, stack))
