from __future__ import annotations

import cmath

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from raises import raises
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.registry import build, parse
from wordorder.encodings.rope import RoPEAttention


@settings(deadline=None, max_examples=20)
@given(query=st.integers(0, 900), key=st.integers(0, 900), seed=st.integers(0, 99))
def test_a_pair_is_a_complex_number_that_is_turned(query: int, key: int, seed: int) -> None:
    """Products of turned queries and keys are the real part of q · conj(k) · e^(i (p_q - p_k) θ), pair by pair."""
    torch.manual_seed(seed)
    base, size = 100.0, 6
    queries, keys = torch.randn(2, 1, 1, 2, size)
    positions = Positions(torch.tensor([[query, key]]), max(query, key) + 1)
    turned_queries, turned_keys = RoPEAttention(size, base).rotate(queries, keys, positions)
    expected = 0.0
    for m in range(size // 2):
        q = complex(float(queries[0, 0, 0, m]), float(queries[0, 0, 0, m + size // 2]))
        k = complex(float(keys[0, 0, 1, m]), float(keys[0, 0, 1, m + size // 2]))
        expected += (q * k.conjugate() * cmath.exp(1j * (query - key) * base ** (-2 * m / size))).real
    assert float(turned_queries[0, 0, 0] @ turned_keys[0, 0, 1]) == pytest.approx(expected, abs=2e-3)


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
