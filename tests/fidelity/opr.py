"""Orthogonal positions."""

from __future__ import annotations

import math

import torch

from fidelity import Compared, formula, released
from golden import golden
from wordorder.encodings.base import Shape
from wordorder.encodings.opr import OPRConfig
from wordorder.encodings.registry import build


def _table(length: int, k: float, dim: int = 64) -> torch.Tensor:
    table = build(OPRConfig(k=k), Shape(dim=dim, heads=2, encoder_layers=1, decoder_layers=1)).table(length)
    assert table is not None
    return table


@released("zyneu/OPR-NMT f505b29")
def released_table() -> Compared:
    """Positions 2 … 49, k = 8; beyond, the released angles are inexact, in single precision"""
    table = _table(50, 8)
    return Compared(torch.cat((table[2:, ::2], table[2:, 1::2]), dim=1), golden("opr")["k8"][:48])


@released("zyneu/OPR-NMT f505b29")
def released_k() -> Compared:
    """Positions 2 … 49, k = 1026, which the released code trains"""
    table = _table(50, 1026)
    return Compared(torch.cat((table[2:, ::2], table[2:, 1::2]), dim=1), golden("opr")["k1026"][:48])


@formula("the released module's documentation")
def written_out() -> Compared:
    """Positions 0 … 999, k = 4"""
    expected = [
        [(math.cos if c % 2 else math.sin)(pos * 2 * math.pi / 4 * (c - c % 2) / 16) for c in range(16)]
        for pos in range(1000)
    ]
    return Compared(_table(1000, 4, 16), torch.tensor(expected, dtype=torch.float64))
