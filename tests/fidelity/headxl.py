"""Cross-lingual positions in some heads."""

from __future__ import annotations

import torch

from fidelity import Compared, formula, numbers, sinusoid
from wordorder.dropout import unchanged
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.headxl import HeadXLConfig
from wordorder.encodings.registry import build

REORDERED = [[2, 0, 1, 4, 3], [4, 3, 2, 1, 0]]


@formula("equations 9-11")
def equations() -> Compared:
    """Inputs of all 4 heads of the first layer, τ = 1"""
    encoding = build(HeadXLConfig(tau=1), Shape(dim=8, heads=4, encoder_layers=2, decoder_layers=1))
    x, x_ = numbers(2, 5, 8)
    positions = Positions.range(5).with_reordered(torch.tensor(REORDERED))
    groups = encoding.attention("encoder", 0).head_inputs(
        encoding.add_to_embeddings(x, positions, "encoder"), positions, unchanged
    )
    assert groups is not None
    found = torch.stack([own for count, own in groups for _ in range(count)])
    absolute = x_ + torch.stack([sinusoid(i, 8) for i in range(5)])
    reordered = x_ + torch.stack([torch.stack([sinusoid(p, 8) for p in sentence]) for sentence in REORDERED])
    return Compared(found, torch.stack([reordered, absolute, absolute, absolute]), [(x, x_)])
