from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from raises import raises
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.registry import build, parse
from wordorder.encodings.sinusoidal import frequencies, rotation
from wordorder.encodings.waves import waves

# sin and cos of 0, 1, 2 and of 0, 0.01, 0.02: the two frequencies of d = 4 are 1 and 1/10000^(2/4).
BY_HAND = [
    [0.0, 1.0, 0.0, 1.0],
    [0.8414709848, 0.5403023059, 0.0099998333, 0.9999500004],
    [0.9092974268, -0.4161468365, 0.0199986667, 0.9998000067],
]


def table(length: int, dim: int) -> torch.Tensor:
    return waves(torch.arange(length), frequencies(dim))


def test_values_by_hand() -> None:
    assert_close(table(3, 4), torch.tensor(BY_HAND, dtype=torch.float64), rtol=0, atol=1e-10)
    encoding = build(parse({"type": "sinusoidal"}), Shape(4, 2, 1, 1))
    assert_close(encoding.table(3), torch.tensor(BY_HAND))
    embeddings = torch.randn(2, 3, 4)
    added = encoding.add_to_embeddings(embeddings, Positions.range(3), "encoder") - embeddings
    assert_close(added, torch.tensor(BY_HAND).expand(2, -1, -1))


@pytest.mark.parametrize(
    ("position", "feature"), [(0, 0), (7, 0), (7, 1), (100, 16), (1000, 17), (5000, 62), (5000, 63)]
)
def test_the_formula(position: int, feature: int) -> None:
    angle = position / 10000 ** ((feature - feature % 2) / 64)
    expected = math.cos(angle) if feature % 2 else math.sin(angle)
    encoding = build(parse({"type": "sinusoidal"}), Shape(64, 4, 1, 1))
    far = encoding.add_to_embeddings(torch.zeros(1, 1, 64), Positions.range(1, offset=position), "decoder")
    # Angles in single precision would be off by 1e-4 at position 5,000.
    assert float(far[0, 0, feature]) == pytest.approx(expected, abs=1e-7)


@settings(deadline=None, max_examples=20)
@given(offset=st.integers(-50, 200), half=st.integers(1, 16))
def test_a_shift_is_one_rotation_at_all_positions(offset: int, half: int) -> None:
    dim = 2 * half
    matrix = rotation(offset, dim)
    places = torch.arange(300)
    assert_close(waves(places + offset, frequencies(dim)), waves(places, frequencies(dim)) @ matrix.T)
    assert_close(matrix @ matrix.T, torch.eye(dim, dtype=torch.float64))
    assert float(torch.linalg.det(matrix)) == pytest.approx(1)
    assert_close(rotation(offset, dim) @ rotation(3, dim), rotation(offset + 3, dim))


def test_the_dot_product_depends_on_the_distance_alone() -> None:
    products = table(40, 32) @ table(40, 32).T
    for distance in range(40):
        diagonal = products.diagonal(distance)
        assert_close(diagonal, diagonal[:1].expand_as(diagonal))
        assert_close(products.diagonal(-distance), diagonal)
        assert float(diagonal[0]) == pytest.approx(float((distance * frequencies(32)).cos().sum()))
    assert float(products[0, 0]) == pytest.approx(16)  # d/2 pairs of norm 1
    assert bool((products[0, 1:] < 16).all())


def test_an_odd_model_size_is_refused() -> None:
    with raises("unfit-size", key="dim", found=9):
        build(parse({"type": "sinusoidal"}), Shape(9, 3, 1, 1))


def test_a_grown_table_is_not_saved() -> None:
    encoding = build(parse({"type": "sinusoidal"}), Shape(8, 2, 1, 1))
    encoding.add_to_embeddings(torch.zeros(1, 400, 8), Positions.range(400), "encoder")
    assert not encoding.state_dict()
