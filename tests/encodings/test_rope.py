from __future__ import annotations

import cmath

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from golden import golden
from raises import raises
from wordorder.encodings.base import Positions, Shape
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
