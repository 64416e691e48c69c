"""Sandwich against an independent implementation, and against products of sinusoids."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from golden import golden
from raises import raises
from tiny_models import seen, tiny_model
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.registry import build, parse
from wordorder.encodings.sandwich import SandwichAttention
from wordorder.model.batch import END


def test_bias_is_that_of_an_independent_implementation() -> None:
    bias = SandwichAttention(16, 4).bias(Positions.range(9), Positions.range(9))[0]
    values = golden("sandwich", dtype=None)
    assert_close(bias, values["both"], rtol=0, atol=1e-5)
    assert_close(bias.tril(), values["causal"].tril(), rtol=0, atol=1e-5)


@pytest.mark.parametrize(("size", "heads", "offset"), [(2, 1, 0), (10, 3, 40), (64, 8, 900)])
def test_bias_is_a_product_of_sinusoids(size: int, heads: int, offset: int) -> None:
    length = 12
    order = torch.stack([torch.randperm(length), torch.randperm(length)]) + offset
    positions = Positions(order, offset + length)
    found = SandwichAttention(size, heads).bias(positions, positions)
    frequencies = [10000 ** (-2 * m / size) for m in range(1, size // 2 + 1)]
    angles = order[..., None].double() * torch.tensor(frequencies, dtype=torch.float64)
    vectors = torch.cat((angles.sin(), angles.cos()), dim=-1)  # (B, L, s)
    products = vectors @ vectors.mT - size / 2
    expected = torch.stack([products / (8 * head / heads) for head in range(1, heads + 1)], dim=1)
    assert_close(found, expected.float(), rtol=1e-5, atol=1e-5)


def test_biases_are_negative_but_at_distance_0() -> None:
    bias = SandwichAttention(32, 4).bias(Positions.range(2000), Positions.range(1)).flatten(2)[0]  # (H, distances)
    assert bool((bias[:, 0] == 0).all()) and bool((bias[:, 1:] < 0).all())
    assert bool((bias[1:, 1:] > bias[:-1, 1:]).all())  # later heads have smaller biases


@torch.no_grad()
def test_a_mirror_image_is_known_by_its_end_only() -> None:
    model = tiny_model(parse({"type": "sandwich"}))
    words = torch.tensor([[5, 9, 7, 12, 6]])
    assert_close(seen(model.encode(words.flip(1))), seen(model.encode(words)).flip(-2), rtol=1e-4, atol=2e-5)
    end = torch.tensor([[END]])
    there, back = (seen(model.encode(torch.cat((each, end), dim=1))) for each in (words, words.flip(1)))
    assert float((back[..., :5, :].flip(-2) - there[..., :5, :]).abs().max()) > 1e-3


def test_nothing_is_trained_or_saved() -> None:
    config = parse({"type": "sandwich"})
    shape = Shape(dim=512, heads=8, encoder_layers=6, decoder_layers=6)
    encoding = build(config, shape)
    assert config.parameter_count(shape) == 0
    assert not list(encoding.parameters()) and not encoding.state_dict()


def test_sizes_are_even_and_128_unless_set() -> None:
    shape = Shape(dim=24, heads=2, encoder_layers=1, decoder_layers=1)
    ends = (Positions.range(1, offset=7), Positions.range(8))
    for config, size in (({}, 128), ({"size": 10}, 10)):
        attention = build(parse({"type": "sandwich", **config}), shape).attention("decoder", 0)
        assert_close(attention.bias(*ends), SandwichAttention(size, 2).bias(*ends))
    with raises("out-of-range", key="size"):
        parse({"type": "sandwich", "size": 5})
