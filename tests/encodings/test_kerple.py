"""KERPLE against released code, and against its formulas, one pair of tokens after the other."""

from __future__ import annotations

import math
from typing import cast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from golden import golden
from tiny_models import sentences, tiny_model
from wordorder.encodings.base import Positions, Shape, Stack
from wordorder.encodings.kerple import Kernel, KERPLEAttention
from wordorder.encodings.registry import build, parse

HEADS = 3
SHAPE = Shape(dim=12, heads=HEADS, encoder_layers=2, decoder_layers=3)
KERNELS: tuple[Kernel, ...] = ("log", "power")
STACKS: tuple[Stack, ...] = ("encoder", "decoder")
every_kernel = pytest.mark.parametrize("kernel", KERNELS)
every_stack = pytest.mark.parametrize("stack", STACKS)


def naive(attention: KERPLEAttention, query: list[int], key: list[int]) -> Tensor:
    """(H, Lq, Lk), a pair after the other."""
    rows = []
    for a, p in zip(attention.a.T, attention.p.T, strict=True):  # of one head
        for i in query:
            for j in key:
                side = 1 if j > i and len(a) > 1 else 0
                apart = abs(i - j)
                log = -p[side] * torch.log(1 + a[side] * apart)
                power = -a[side] * torch.exp(p[side] * math.log(apart)) if apart else 0 * a[side]
                rows.append(log if attention.kernel == "log" else power)
    return torch.stack(rows).view(HEADS, len(query), len(key))


@every_kernel
@every_stack
@settings(deadline=None, max_examples=10)
@given(
    sentences=st.integers(1, 2),
    queries=st.integers(1, 3),
    length=st.integers(3, 6),
    offset=st.sampled_from([0, 5, 700]),
    seed=st.integers(0, 99),
)
def test_bias_is_the_formula(
    stack: Stack, kernel: Kernel, sentences: int, queries: int, length: int, offset: int, seed: int
) -> None:
    torch.manual_seed(seed)
    attention = KERPLEAttention(kernel, HEADS, stack).double()
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.clamp_(min=0.02)
    order = [torch.randperm(length) if stack == "encoder" else torch.arange(length) for _ in range(sentences)]
    key = torch.stack(order) + offset
    query = key[:, -queries:]
    found = attention.bias(Positions(query, offset + length), Positions(key, offset + length))
    expected = torch.stack([naive(attention, *pair) for pair in zip(query.tolist(), key.tolist(), strict=True)])
    if stack == "decoder":  # what is later is masked
        later = (key[:, None, :] > query[:, :, None])[:, None]
        found, expected = found.masked_fill(later, 0), expected.masked_fill(later, 0)
    assert_close(found, expected)
    toward = torch.randn_like(found)
    leaves = list(attention.parameters())
    ours, theirs = (torch.autograd.grad((each * toward).sum(), leaves) for each in (found, expected))
    assert_close(ours, theirs)


@every_kernel
@torch.no_grad()
def test_scores_are_those_of_released_code(kernel: Kernel) -> None:
    values = golden("kerple")
    for stack in STACKS:
        attention = KERPLEAttention(kernel, HEADS, stack).double()
        for name, own in (("a", attention.a), ("p", attention.p)):
            own.copy_(values[f"{kernel}_{name}"].flatten().expand_as(own))
        found = values["scores"] + attention.bias(Positions.range(7), Positions.range(7))
        expected = values[f"{kernel}_out"]
        assert_close(found.tril(), expected.tril(), rtol=0, atol=1e-5)
        if stack == "encoder":  # both sides have the same numbers here
            assert_close((found - values["scores"]).mT.tril(), (expected - values["scores"]).tril(), rtol=0, atol=1e-5)


@every_kernel
@every_stack
def test_numbers_beyond_their_bounds_are_put_back_and_can_return(stack: Stack, kernel: Kernel) -> None:
    attention = KERPLEAttention(kernel, HEADS, stack)
    with torch.no_grad():
        attention.a.fill_(-3)
        attention.p.fill_(5)
    positions = Positions.range(4)
    # Two layers of a stack: what the first one kept for its gradient must not count as changed.
    first, second = (attention.bias(positions, positions) for _ in range(2))
    (first * second).sum().backward()
    assert (attention.a == 0.01).all()
    assert (attention.p == (2 if kernel == "power" else 5)).all()
    for parameter in attention.parameters():
        assert parameter.grad is not None and parameter.grad.all()
    with torch.no_grad():
        attention.p.fill_(-1)
    attention.bias(positions, positions)
    assert (attention.p == 0.01).all()


@every_kernel
@every_stack
@torch.no_grad()
def test_no_bias_is_positive_or_increases_with_the_distance(stack: Stack, kernel: Kernel) -> None:
    torch.manual_seed(1)
    bias = KERPLEAttention(kernel, 8, stack).bias(Positions.range(60), Positions.range(60))[0]
    assert bool((bias <= 0).all())
    assert bool((bias.diagonal(dim1=1, dim2=2) == 0).all())
    assert bool((bias[:, -1].diff(dim=-1) > 0).all())  # the last query: nearer and nearer keys
    if stack == "encoder":
        assert bool((bias[:, 0].diff(dim=-1) < 0).all())
        assert not torch.allclose(bias, bias.mT)


@every_kernel
@torch.no_grad()
def test_layers_share_and_stacks_do_not(kernel: Kernel) -> None:
    encoding = build(parse({"type": "kerple", "kernel": kernel}), SHAPE)
    encoder, decoder = (
        {id(encoding.attention(stack, layer)) for layer in range(SHAPE.layers(stack))} for stack in STACKS
    )
    assert len(encoder) == len(decoder) == 1 and encoder != decoder


def test_start_values_fill_their_ranges() -> None:
    torch.manual_seed(0)
    shape = Shape(dim=2000, heads=2000, encoder_layers=1, decoder_layers=1)
    for stack in STACKS:
        attention = cast(KERPLEAttention, build(parse({"type": "kerple"}), shape).attention(stack, 0))
        for parameter, most in ((attention.a, 1), (attention.p, 2)):
            values = parameter.detach()
            assert 0 <= float(values.min()) < 0.01 * most and 0.99 * most < float(values.max()) <= most
            assert float(values.mean()) == pytest.approx(most / 2, rel=0.05)


@every_kernel
@torch.no_grad()
def test_step_by_step_decoding_has_one_query(kernel: Kernel) -> None:
    attention = KERPLEAttention(kernel, HEADS, "decoder")
    whole = attention.bias(Positions.range(6), Positions.range(6))
    for step in range(6):
        own = attention.bias(Positions.range(1, offset=step), Positions.range(step + 1))
        assert_close(own[:, :, 0], whole[:, :, step, : step + 1])


def test_a_mirror_image_looks_different() -> None:
    model = tiny_model(parse({"type": "kerple"}))
    words = sentences([6])
    with torch.no_grad():
        there, back = (model.encoder_output(each) for each in (words, words.flip(1)))
    assert not torch.allclose(back.flip(1), there, atol=1e-2)
