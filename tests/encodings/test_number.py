"""Tests of positions as single numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest
import torch

from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.number import NumberConfig
from wordorder.encodings.registry import build

SHAPE = Shape(dim=6, heads=2, encoder_layers=1, decoder_layers=1)


@pytest.mark.parametrize(("of", "last"), [("index", [10.0, 50.0]), ("unit", [1.0, 1.0])])
def test_the_last_number_is_the_length_or_one(of: Literal["index", "unit"], last: list[float]) -> None:
    encoding = build(NumberConfig(range=of), SHAPE)
    positions = replace(Positions.range(50), lengths=torch.tensor([[10], [50]]))
    added = encoding.add_to_embeddings(torch.zeros(2, 50, 6), positions, "encoder").expand(2, -1, -1)
    assert [float(added[0, 9, 0]), float(added[1, 49, 0])] == last


def test_normalisation_of_a_layer_keeps_the_numbers() -> None:
    table = build(NumberConfig(), SHAPE).table(7)
    assert table is not None and torch.equal(table.mean(1), torch.zeros(7))


def test_a_target_of_unknown_length_is_part_of_an_assumed_one() -> None:
    encoding = build(NumberConfig(range="unit", assumed=11), SHAPE)
    added = encoding.add_to_embeddings(torch.zeros(1, 3, 6), Positions.range(3), "decoder")
    assert torch.allclose(added[0, :, 0], torch.tensor([0.0, 0.1, 0.2]))
