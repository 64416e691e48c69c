"""Directional heads."""

from __future__ import annotations

import torch

from fidelity import Compared, formula, numbers, weights
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.directional import DirectionalConfig
from wordorder.encodings.registry import build


@formula("the masks of section 4, with the diagonal")
def masks() -> Compared:
    """Attention weights of two forward and two backward heads"""
    (queries, queries_), (keys, keys_) = numbers(2, 4, 6, 3), numbers(2, 4, 6, 3)
    inside = build(DirectionalConfig(), Shape(12, 4, 1, 1)).attention("encoder", 0)
    exponentials = (queries_ @ keys_.mT / 3**0.5).exp()
    seen = torch.ones(6, 6, dtype=torch.float64)
    exponentials = exponentials * torch.stack([seen.tril(), seen.triu(), seen.tril(), seen.triu()])
    return Compared(
        weights(inside, queries, keys, Positions.range(6)),
        exponentials / exponentials.sum(-1, keepdim=True),
        [(queries, queries_), (keys, keys_)],
    )
