"""FIRE against its formula, one pair of tokens after the other, and the pieces of its MLP against the MLP."""

from __future__ import annotations

import math
from typing import Any, cast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.func import functional_call
from torch.testing import assert_close

from golden import golden
from wordorder.encodings.base import Positions, Shape, Stack
from wordorder.encodings.fire import Curve, FIREAttention, FIREConfig
from wordorder.encodings.registry import build, parse

SHAPE = Shape(dim=6, heads=3, encoder_layers=2, decoder_layers=3)
STACKS: tuple[Stack, ...] = ("encoder", "decoder")


def attention_of(stack: Stack, **parameters: Any) -> FIREAttention:
    return FIREAttention(FIREConfig(hidden=5, **parameters), SHAPE, stack).double()


def mlp(curve: Curve, x: Tensor) -> Tensor:
    """(…) -> (…, H)"""
    return cast(Tensor, curve.outer(curve.inner(x[..., None]).relu()))


def psi(attention: FIREAttention, x: Tensor) -> Tensor:
    return torch.log(attention.c.abs() * x + 1)


def naive(attention: FIREAttention, query: list[int], key: list[int]) -> Tensor:
    """f(ψ(|i - j|) / ψ(max(L, i, j))), i and j counted from 0 at the first key: (H, Lq, Lk)"""
    length = attention.start * attention.multiple.abs()
    rows = []
    for p in query:
        for q in key:
            i, j = (torch.tensor(float(each - min(key)), dtype=torch.float64) for each in (p, q))
            later = torch.maximum(i, j)
            divisor = psi(attention, torch.maximum(length, later)) + 1e-6
            curve = cast(Curve, attention.curves[1 if q > p and len(attention.curves) > 1 else 0])
            rows.append(mlp(curve, psi(attention, (i - j).abs()) / divisor))
    return torch.stack(rows).view(len(query), len(key), -1).permute(2, 0, 1)


@pytest.mark.parametrize("stack", STACKS)
@settings(deadline=None, max_examples=20)
@given(
    sentences=st.integers(1, 2),
    queries=st.integers(1, 3),
    length=st.integers(3, 6),
    offset=st.integers(0, 30),
    threshold=st.sampled_from([0.5, 2.0, 4.5, 100.0]),
    c=st.sampled_from([0.01, 0.1, 3.0]),
    sign=st.sampled_from([-1.0, 1.0]),
    seed=st.integers(0, 99),
)
def test_bias_is_the_formula(
    stack: Stack,
    sentences: int,
    queries: int,
    length: int,
    offset: int,
    threshold: float,
    c: float,
    sign: float,
    seed: int,
) -> None:
    torch.manual_seed(seed)
    attention = attention_of(stack, threshold=threshold, c=c)
    with torch.no_grad():
        attention.c.mul_(sign)
        attention.multiple.mul_(1.1 * sign)
    key = torch.stack([torch.randperm(length) for _ in range(sentences)]) + offset
    query = key[:, -queries:]
    found = attention.bias(Positions(query, offset + length), Positions(key, offset + length))
    expected = torch.stack([naive(attention, *pair) for pair in zip(query.tolist(), key.tolist(), strict=True)])
    assert_close(found, expected)

    leaves = list(attention.parameters())
    toward = torch.randn_like(found)
    ours, theirs = (
        torch.autograd.grad((each * toward).sum(), leaves, allow_unused=True, materialize_grads=True)
        for each in (found, expected)
    )
    assert_close(ours, theirs)


def test_released_code_gives_the_same() -> None:
    """Its sentence of 9 tokens is longer than its L of 6, so that what i counts from matters."""
    arrays = golden("fire_dape")
    attention = FIREAttention(
        FIREConfig(hidden=8, c=float(arrays["fire_c"]), threshold=float(arrays["fire_L"])),
        Shape(dim=8, heads=4, encoder_layers=0, decoder_layers=1),
        "decoder",
    ).double()
    curve = cast(Curve, attention.curves[0])
    weights = {"inner.weight": "w1", "inner.bias": "b1", "outer.weight": "w2"}
    curve.load_state_dict({ours: arrays[f"fire_{theirs}"] for ours, theirs in weights.items()})
    bias = attention.bias(Positions.range(9), Positions.range(9))[0]
    # A number a head that all keys share is lost in the softmax; the decoder leaves it out.
    assert_close((bias + arrays["fire_b2"][:, None, None]).tril(), arrays["fire_bias"].tril(), rtol=0, atol=1e-5)


@settings(deadline=None, max_examples=30)
@given(hidden=st.integers(1, 9), last_bias=st.booleans(), seed=st.integers(0, 999))
def test_pieces_are_the_mlp(hidden: int, last_bias: bool, seed: int) -> None:
    torch.manual_seed(seed)
    curve = Curve(hidden, 2, last_bias=last_bias).double()
    with torch.no_grad():  # units that never bend, and two that bend at one place
        curve.inner.weight[torch.rand(hidden) < 0.2] = 0
        curve.inner.bias[torch.rand(hidden) < 0.2] = 0
    bends, slopes, offsets = curve.pieces()
    assert slopes.shape == offsets.shape == (2, hidden + 1)
    for x in torch.linspace(-2, 2, 81, dtype=torch.float64):
        piece = sum(1 for bend in bends if bend < x)
        assert_close(slopes[:, piece] * x + offsets[:, piece], mlp(curve, x))


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("threshold", [2.5, 50.0])
def test_gradients_are_those_of_small_differences(stack: Stack, threshold: float) -> None:
    torch.manual_seed(3)
    attention = attention_of(stack, threshold=threshold, c=0.7)
    names = [name for name, _ in attention.named_parameters()]
    values = [value.detach().requires_grad_() for value in attention.parameters()]

    def bias(*parameters: Tensor) -> Tensor:
        given_names = {f"attention.{name}": parameter for name, parameter in zip(names, parameters, strict=True)}
        return functional_call(_Bias(attention), given_names, (Positions.range(5),))  # type: ignore[no-any-return]

    assert torch.autograd.gradcheck(bias, values)


class _Bias(nn.Module):
    def __init__(self, attention: FIREAttention) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, positions: Positions) -> Tensor:
        return self.attention.bias(positions, positions)


def arguments_of(stack: Stack, positions: Positions) -> Tensor:
    """What f is given, (Lq, Lk), with the numbers that a new model has."""
    attention = FIREAttention(FIREConfig(hidden=1), Shape(4, 1, 1, 1), stack).double()
    with torch.no_grad():
        for curve in cast("list[Curve]", list(attention.curves)):
            for weight in (curve.inner.weight, curve.outer.weight):
                weight.fill_(1)
            curve.inner.bias.zero_()
            if curve.outer.bias is not None:
                curve.outer.bias.zero_()
    return attention.bias(positions, positions).detach()[0, 0]


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("offset", [0, 7, 4000])
def test_distances_are_interpolated_beyond_512(stack: Stack, offset: int) -> None:
    short = arguments_of(stack, Positions.range(100, offset=offset))
    long = arguments_of(stack, Positions.range(1024, offset=offset))
    assert_close(short, long[:100, :100])
    # c = 0.1: ψ(10) = log 2, ψ(512) = log 52.2, ψ(1023) = log 103.3.
    assert float(short[10, 0]) == pytest.approx(math.log(2) / math.log(52.2), abs=1e-6)
    assert float(long[511, 501]) == pytest.approx(math.log(2) / math.log(52.2), abs=1e-6)
    assert float(long[1023, 1013]) == pytest.approx(math.log(2) / math.log(103.3), abs=1e-6)
    assert float(long[1023, 0]) == pytest.approx(1, abs=1e-6)
    if stack == "encoder":
        assert_close(long, long.T)
        assert float(long.max()) < 1
    assert float(long.tril().max()) < 1 and (long.diagonal() == 0).all()


@pytest.mark.parametrize("stack", STACKS)
def test_distances_and_pairs_give_the_same(stack: Stack) -> None:
    torch.manual_seed(0)
    attention = attention_of(stack, threshold=20)
    order = torch.stack([torch.randperm(9), torch.randperm(9)])
    by_distance, by_pair = (attention.bias(*[Positions(order, limit)] * 2) for limit in (9, 1000))
    assert_close(by_distance, by_pair)


def test_keys_behind_the_query_have_a_curve_of_their_own_in_the_encoder() -> None:
    bias = attention_of("encoder").bias(Positions.range(4), Positions.range(4))[0]
    assert not torch.allclose(bias, bias.transpose(1, 2))
    assert len(attention_of("decoder").curves) == 1


def test_layers_have_their_own() -> None:
    encoding = build(parse({"type": "fire"}), SHAPE)
    layers = [encoding.attention(stack, layer) for stack in STACKS for layer in range(SHAPE.layers(stack))]
    assert len({id(layer) for layer in layers}) == 5
    assert all(isinstance(layer, FIREAttention) for layer in layers)
    first = cast(FIREAttention, layers[0])
    assert float(first.c.detach()) == pytest.approx(0.1)
    assert first.start * float(first.multiple.detach()) == 512
