"""Sinusoidal positions."""

from __future__ import annotations

import math

import torch

from fidelity import Compared, formula, package, released
from golden import golden
from wordorder.encodings.base import Shape
from wordorder.encodings.registry import build
from wordorder.encodings.sinusoidal import SinusoidalConfig


def _table(length: int, dim: int) -> torch.Tensor:
    table = build(SinusoidalConfig(), Shape(dim=dim, heads=2, encoder_layers=1, decoder_layers=1)).table(length)
    assert table is not None
    return table


@released("transformers 5.23.0 (Marian)")
def marian() -> Compared:
    """20 positions, d = 8; Marian's sines precede its cosines"""
    table = _table(20, 8)
    return Compared(torch.cat((table[:, ::2], table[:, 1::2]), dim=1), golden("sinusoidal")["marian_table"])


@package("transformers")
def transformers() -> Compared:
    """512 positions, d = 64 (Marian)"""
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

    theirs = MarianSinusoidalPositionalEmbedding(512, 64)
    theirs.weight.data = theirs.create_weight()
    table = _table(512, 64)
    return Compared(torch.cat((table[:, ::2], table[:, 1::2]), dim=1), theirs.weight)


@formula("section 3.5")
def section_3_5() -> Compared:
    """1,000 positions, d = 16"""
    expected = [
        [(math.cos if c % 2 else math.sin)(pos / 10000 ** ((c - c % 2) / 16)) for c in range(16)] for pos in range(1000)
    ]
    return Compared(_table(1000, 16), torch.tensor(expected, dtype=torch.float64))
