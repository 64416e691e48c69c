"""Trained tables of positions."""

from __future__ import annotations

import torch

from fidelity import Compared, doubled, formula, numbers, pairs
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.learned import LearnedConfig
from wordorder.encodings.registry import build


@formula("section 3.1")
def sums() -> Compared:
    """Embeddings plus a row per position, both stacks"""
    encoding = build(LearnedConfig(table=9), Shape(dim=6, heads=2, encoder_layers=1, decoder_layers=1))
    own = doubled(encoding)
    tables = [table for _, table in sorted(own.items())]  # decoder, encoder
    x, x_ = numbers(2, 5, 6)
    positions = Positions(torch.tensor([[3, 0, 8, 8, 1]]), 9)
    found = torch.stack([encoding.add_to_embeddings(x, positions, stack) for stack in ("decoder", "encoder")])
    expected = torch.stack([x_ + torch.stack([table[p] for p in (3, 0, 8, 8, 1)]) for table in tables])
    return Compared(found, expected, [(x, x_), *pairs(encoding, own)])
