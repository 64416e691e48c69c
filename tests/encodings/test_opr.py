from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import normalize
from torch.testing import assert_close

from raises import raises
from wordorder.encodings.base import Shape
from wordorder.encodings.opr import frequencies
from wordorder.encodings.registry import build, parse
from wordorder.encodings.waves import waves


def table(length: int, dim: int, k: float) -> Tensor:
    return waves(torch.arange(length), frequencies(dim, k))


def similarities(length: int, dim: int, k: float) -> Tensor:
    """Cosine of the first position with all."""
    vectors = normalize(table(length, dim, k), dim=-1)
    return vectors @ vectors[0]


def test_values_by_hand() -> None:
    # d = 4, k = 1: the frequencies are 0 and 2π · 2/4 = π radians a position. k = 2 halves them.
    assert_close(
        table(3, 4, 1),
        torch.tensor([[0, 1, 0, 1], [0, 1, 0, -1], [0, 1, 0, 1]], dtype=torch.float64),
        rtol=0,
        atol=1e-14,
    )
    encoding = build(parse({"type": "opr", "k": 2}), Shape(4, 2, 1, 1))
    assert_close(
        encoding.table(4), torch.tensor([[0.0, 1, 0, 1], [0, 1, 1, 0], [0, 1, 0, -1], [0, 1, -1, 0]]), rtol=0, atol=1e-7
    )


def test_k_is_8_where_it_is_not_given() -> None:
    assert_close(build(parse({"type": "opr"}), Shape(16, 2, 1, 1)).table(9), table(9, 16, 8).float())


@pytest.mark.parametrize("dim", [4, 16, 512])
def test_positions_of_a_period_are_orthogonal_at_k_1(dim: int) -> None:
    vectors = table(dim // 2, dim, 1)
    assert_close(vectors @ vectors.T, torch.eye(dim // 2, dtype=torch.float64) * dim / 2, rtol=0, atol=1e-9)


@settings(deadline=None, max_examples=20)
@given(half=st.integers(1, 32), k=st.integers(1, 9))
def test_the_period_is_k_times_half_the_model_size(half: int, k: int) -> None:
    period = k * half
    vectors = table(period + 20, 2 * half, k)
    assert_close(vectors[period:], vectors[:20], rtol=0, atol=1e-9)
    # and nothing shorter
    within = (vectors[1:period] - vectors[0]).norm(dim=-1)
    assert half == 1 or bool((within > 1e-3).all())


def test_the_paper_s_period_and_the_default_s() -> None:
    vectors = table(2049, 512, 1)
    assert_close(vectors[256:512], vectors[:256], rtol=0, atol=1e-9)
    vectors = table(2049, 512, 8)
    assert_close(vectors[2048], vectors[0], rtol=0, atol=1e-9)
    assert float((vectors[256] - vectors[0]).norm()) > 1


def test_the_main_lobe_widens_with_k() -> None:
    widths = []
    for k in (1, 2, 4, 8, 16):
        kernel = similarities(40, 64, k)
        # Dirichlet kernel: the real part of the mean of e^(2πi · distance · m / (k · d/2)), m = 0 … d/2 - 1.
        angles = torch.arange(40)[:, None] * frequencies(64, k)
        assert_close(kernel, angles.cos().mean(-1))
        widths.append(int((kernel < 1e-9).nonzero()[0]))
    assert widths[0] == 1
    assert widths == sorted(set(widths))


def test_at_2j_equal_to_d_the_angle_is_pos_full_periods() -> None:
    # That is the frequency that would follow the last one; all are equally far apart and start at 0.
    dim = 512
    all_but_that = frequencies(dim, 1)
    assert len(all_but_that) == dim // 2
    assert float(all_but_that[0]) == 0
    assert_close(all_but_that.diff(), all_but_that[1:2].expand(dim // 2 - 1))
    assert float(all_but_that[-1] + all_but_that[1]) == pytest.approx(2 * math.pi)


def test_the_swapped_constructor_of_the_released_code() -> None:
    """cos(P_0, P_63) at k = 1026 and at k = 8, as measured in the released OPR module."""
    assert float(similarities(64, 512, 1026)[63]) == pytest.approx(0.976, abs=5e-4)
    assert float(similarities(64, 512, 8)[63]) == pytest.approx(-0.014, abs=5e-4)


@pytest.mark.parametrize("k", [0, -1])
def test_k_must_be_positive(k: float) -> None:
    with raises("out-of-range", key="k", found=k):
        parse({"type": "opr", "k": k})
