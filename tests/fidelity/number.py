"""The number of a position."""

from __future__ import annotations

from dataclasses import replace

import torch

from fidelity import Compared, formula
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.number import NumberConfig
from wordorder.encodings.registry import build


@formula('"What is positional encoding"')
def article() -> Compared:
    """1, 2, …, and [0, 1] in sentences of 3 and 5 tokens, d = 4"""
    shape, rows = Shape(dim=4, heads=2, encoder_layers=1, decoder_layers=1), torch.zeros(2, 5, 4, dtype=torch.float64)
    positions = replace(Positions.range(5), lengths=torch.tensor([[3], [5]]))
    index, unit = (
        build(NumberConfig(range=of), shape).add_to_embeddings(rows, positions, "encoder") for of in ("index", "unit")
    )
    numbers = [[1, 2, 3, 4, 5]] * 2 + [[0, 1 / 2, 1], [0, 1 / 4, 2 / 4, 3 / 4, 1]]
    expected = [[sign * number for sign in (1, -1, 1, -1)] for sentence in numbers for number in sentence]
    found = torch.cat((index[0], index[1], unit[0, :3], unit[1]))
    return Compared(found, torch.tensor(expected, dtype=torch.float64))
