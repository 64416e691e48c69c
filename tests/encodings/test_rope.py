from __future__ import annotations

import cmath
from itertools import pairwise
from typing import Any, cast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from golden import golden
from raises import raises
from wordorder.encodings.base import Encoding, Positions, Shape, Stack
from wordorder.encodings.registry import build, parse
from wordorder.encodings.rope import RoPEAttention


@pytest.mark.parametrize("interleaved", [False, True])
@settings(deadline=None, max_examples=20)
@given(query=st.integers(0, 900), key=st.integers(0, 900), seed=st.integers(0, 99))
def test_a_pair_is_a_complex_number_that_is_turned(interleaved: bool, query: int, key: int, seed: int) -> None:
    """Products of turned queries and keys are the real part of q · conj(k) · e^(i (p_q - p_k) θ), pair by pair."""
    torch.manual_seed(seed)
    base, size = 100.0, 6
    queries, keys = torch.randn(2, 1, 1, 2, size)
    positions = Positions(torch.tensor([[query, key]]), max(query, key) + 1)
    turned_queries, turned_keys = RoPEAttention(size, base, interleaved=interleaved).rotate(queries, keys, positions)
    expected = 0.0
    for m in range(size // 2):
        pair = [2 * m, 2 * m + 1] if interleaved else [m, m + size // 2]
        q = complex(*queries[0, 0, 0, pair].tolist())
        k = complex(*keys[0, 0, 1, pair].tolist())
        expected += (q * k.conjugate() * cmath.exp(1j * (query - key) * base ** (-2 * m / size))).real
    assert float(turned_queries[0, 0, 0] @ turned_keys[0, 0, 1]) == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_released_implementations_give_the_same(layout: str) -> None:
    arrays = golden("rope")
    shape = Shape(dim=24, heads=3, encoder_layers=1, decoder_layers=1)
    attention = build(parse({"type": "rope", "layout": layout}), shape).attention("encoder", 0)
    queries, keys = attention.rotate(arrays["q"], arrays["k"], Positions(arrays["positions"][None], 12))
    assert_close(queries, arrays[f"{layout}_q"], rtol=0, atol=1e-5)
    assert_close(keys, arrays[f"{layout}_k"], rtol=0, atol=1e-5)
    assert_close(queries @ keys.mT / 8**0.5, arrays[f"{layout}_scores"], rtol=0, atol=1e-5)


def test_layouts_differ_by_an_order_of_the_rows_of_projections() -> None:
    torch.manual_seed(0)
    x, positions = torch.randn(2, 2, 3, 5, 8), Positions.range(5)
    order = golden("rope")["half_to_interleaved"].long()
    half = RoPEAttention(8, 10000.0).rotate(x[0], x[1], positions)
    mixed = RoPEAttention(8, 10000.0, interleaved=True).rotate(x[0][..., order], x[1][..., order], positions)
    assert_close(half[0] @ half[1].mT, mixed[0] @ mixed[1].mT)


def test_lengths_stay_and_position_0_stays() -> None:
    x = torch.randn(2, 3, 5, 8)
    turned, same = RoPEAttention(8, 10000.0).rotate(x, x, Positions.range(5))
    assert_close(turned.norm(dim=-1), x.norm(dim=-1))
    assert_close(turned[:, :, 0], x[:, :, 0])
    assert_close(turned, same)
    assert not torch.allclose(turned[:, :, 1], x[:, :, 1])


def test_heads_must_be_even() -> None:
    with raises("unfit-size", key="heads", found=3):
        build(parse({"type": "rope"}), Shape(dim=12, heads=4, encoder_layers=1, decoder_layers=1))


# ------------------------------------------------------------------------------- a fraction of the pairs, trained, skip

SIXTEEN = Shape(dim=48, heads=3, encoder_layers=4, decoder_layers=5)  # heads of 16


def encoding_of(**parameters: Any) -> Encoding:
    return build(parse({"type": "rope", **parameters}), SIXTEEN)


def attention_of(stack: Stack = "encoder", layer: int = 0, **parameters: Any) -> RoPEAttention:
    return cast(RoPEAttention, encoding_of(**parameters).attention(stack, layer))


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize(("spectrum", "fraction"), [("partial", 0.5), ("proportional", 0.75)])
@torch.no_grad()
def test_parts_of_a_head_are_turned_as_in_released_implementations(
    spectrum: str, fraction: float, trained: bool
) -> None:
    arrays = golden("rope_partial")
    attention = attention_of(spectrum=spectrum, fraction=fraction, trained=trained)
    queries, keys = attention.rotate(arrays["q"], arrays["k"], Positions(arrays["positions"][None], 12))
    assert_close(queries, arrays[f"{spectrum}_q"], rtol=0, atol=1e-5)
    assert_close(keys, arrays[f"{spectrum}_k"], rtol=0, atol=1e-5)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("spectrum", ["partial", "proportional"])
@pytest.mark.parametrize("fraction", [0.25, 0.7, 1.0])
@settings(deadline=None, max_examples=5)
@given(query=st.integers(0, 400), key=st.integers(0, 400), seed=st.integers(0, 99))
def test_trained_frequencies_are_the_formula(
    layout: str, spectrum: str, fraction: float, query: int, key: int, seed: int
) -> None:
    """Products and gradients of trained frequencies, one pair of numbers after the other, in double precision."""
    torch.manual_seed(seed)
    size, pairs = 16, int(fraction * 8)
    attention = attention_of(layout=layout, spectrum=spectrum, fraction=fraction, trained=True)
    logs = attention.log_frequencies
    with torch.no_grad():
        logs.add_(0.3 * torch.randn_like(logs))
    leaves = [*torch.randn(2, 1, 1, 2, size, dtype=torch.float64).requires_grad_().unbind(), logs]
    positions = Positions(torch.tensor([[query, key]]), max(query, key) + 1)
    queries, keys = attention.rotate(leaves[0], leaves[1], positions)
    found = queries[0, 0, 0] @ keys[0, 0, 1]

    q, k = leaves[0][0, 0, 0], leaves[1][0, 0, 1]
    among = 2 * pairs if spectrum == "partial" else size
    products, turned = [], set()
    for m in range(pairs):
        one, other = (2 * m, 2 * m + 1) if layout == "interleaved" else (m, m + among // 2)
        turned |= {one, other}
        angle = (key - query) * logs[m].double().exp()
        products.append((q[one] * k[one] + q[other] * k[other]) * angle.cos())
        products.append((q[other] * k[one] - q[one] * k[other]) * angle.sin())
    products += [q[each] * k[each] for each in range(size) if each not in turned]
    expected = torch.stack(products).sum()
    assert_close(found, expected, rtol=0, atol=1e-5)
    ours, theirs = (torch.autograd.grad(each, leaves, retain_graph=True) for each in (found, expected))
    assert_close(ours[:2], theirs[:2], rtol=0, atol=1e-5)
    assert_close(ours[2], theirs[2], rtol=1e-4, atol=1e-3)  # up to 400 times an input


def test_all_pairs_are_turned_by_default_and_frequencies_are_fixed() -> None:
    x, positions = torch.randn(2, 2, 3, 5, 16), Positions.range(5, offset=600)
    expected = RoPEAttention(16, 10000.0).rotate(x[0], x[1], positions)
    for parameters in ({}, {"spectrum": "proportional"}, {"trained": True}, {"skip": 3}):
        found = attention_of(**parameters).rotate(x[0], x[1], positions)
        assert_close([each.detach() for each in found], list(expected), rtol=0, atol=2e-5)
    assert not list(encoding_of().parameters()) and not encoding_of().state_dict()


@pytest.mark.parametrize("trained", [False, True])
def test_every_second_layer_may_have_no_positions(trained: bool) -> None:
    encoding = encoding_of(skip=2, trained=trained)
    for stack, number in (("encoder", 4), ("decoder", 5)):
        needs = [encoding.attention(stack, layer).needs for layer in range(number)]  # type: ignore[arg-type]
        assert needs == [{"rotate"} if layer % 2 == 0 else set() for layer in range(number)]


def test_every_layer_trains_frequencies_of_its_own_which_the_stacks_share() -> None:
    encoding = encoding_of(trained=True)
    layers = [encoding.attention("decoder", layer) for layer in range(5)]
    assert all(one is not other for one, other in pairwise(layers))
    assert [encoding.attention("encoder", layer) for layer in range(4)] == layers[:4]


def test_trained_frequencies_start_as_fixed_ones() -> None:
    logs = attention_of(trained=True, fraction=0.5, base=500.0).log_frequencies
    assert_close(logs.detach().exp(), torch.tensor([500.0 ** (-m / 4) for m in range(4)]))


def test_a_fraction_turns_at_least_one_pair() -> None:
    with raises("unfit-size", key="fraction", found=0.1):
        encoding_of(fraction=0.1)
    with raises("out-of-range", key="fraction"):
        parse({"type": "rope", "fraction": 0})
    with raises("out-of-range", key="skip"):
        parse({"type": "rope", "skip": 1})
