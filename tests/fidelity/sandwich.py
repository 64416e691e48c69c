"""Products of sinusoids."""

from __future__ import annotations

import torch

from fidelity import Compared, formula, released
from golden import golden
from wordorder.encodings.base import Positions
from wordorder.encodings.sandwich import SandwichAttention


@released("NVIDIA/NeMo 8cfedd7")
def nemo() -> Compared:
    """Bidirectional bias of 4 heads, s = 16"""
    return Compared(
        SandwichAttention(16, 4).bias(Positions.range(9), Positions.range(9))[0], golden("sandwich")["both"]
    )


@released("NVIDIA/NeMo 8cfedd7")
def nemo_causal() -> Compared:
    """Causal bias of 4 heads, s = 16"""
    found = SandwichAttention(16, 4).bias(Positions.range(9), Positions.range(9))[0]
    return Compared(found.tril(), golden("sandwich")["causal"].tril())


@formula("products of the vectors of two positions")
def products() -> Compared:
    """Bias of 8 heads and 100 tokens, s = 128"""
    angles = torch.arange(100)[:, None] * 10000.0 ** (-torch.arange(1, 65) / 64).double()
    vectors = torch.cat((angles.sin(), angles.cos()), dim=1)
    expected = torch.stack([(vectors @ vectors.T - 64) / head for head in range(1, 9)])
    return Compared(SandwichAttention(128, 8).bias(Positions.range(100), Positions.range(100))[0], expected)
