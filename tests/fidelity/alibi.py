"""Linear biases."""

from __future__ import annotations

import torch

from fidelity import Compared, doubled, formula, package, pairs, released
from golden import golden
from wordorder.encodings.alibi import ALiBiAttention, ALiBiConfig, Sides
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.registry import build


def _bias(heads: int, length: int, sides: Sides = "symmetric") -> torch.Tensor:
    shape = Shape(dim=heads * 2, heads=heads, encoder_layers=1, decoder_layers=1)
    positions = Positions.range(length)
    bias = build(ALiBiConfig(sides=sides), shape).attention("encoder", 0).bias(positions, positions)
    assert bias is not None
    return bias[0]


@released("x-transformers 2.31.10")
def six_heads() -> Compared:
    """Symmetric bias of 6 heads"""
    return Compared(_bias(6, 9), golden("alibi")["bias_6"])


@released("transformers 5.23.0 (BLOOM)")
def bloom() -> Compared:
    """Bias of the last query, 6 heads, up to a constant"""
    last, theirs = _bias(6, 9)[:, -1], golden("alibi")["bloom_6"][:, 0]
    return Compared(last - last[:, :1], theirs - theirs[:, :1])


@package("x-transformers")
def x_transformers() -> Compared:
    """Symmetric bias of 12 heads and 50 tokens"""
    from x_transformers.x_transformers import AlibiPositionalBias

    return Compared(_bias(12, 50), AlibiPositionalBias(heads=12, total_heads=12)(50, 50))


@formula("section 3")
def section_3() -> Compared:
    """Symmetric bias of 8 heads"""
    expected = [[[-abs(i - j) / 2**head for j in range(20)] for i in range(20)] for head in range(1, 9)]
    return Compared(_bias(8, 20), torch.tensor(expected, dtype=torch.float64))


@released("google-deepmind/randomized_positional_encodings e8c6474")
def offset() -> Compared:
    """Bias of 4 heads, `sides: offset`"""
    return Compared(_bias(4, 7, "offset"), golden("randomized")["alibi"])


@formula("the authors' repository, issue 5")
def masked() -> Compared:
    """Weights of 8 heads and equal scores, `sides: masked`"""
    return Compared(_bias(8, 9, "masked").softmax(-1), golden("alibi")["formula_masked_8"].softmax(-1))


@formula("the authors' repository, issue 5")
def learned() -> Compared:
    """Bias of 4 heads, `sides: learned`"""
    attention = ALiBiAttention(ALiBiConfig(sides="learned"), 4, "encoder")
    copies = doubled(attention)
    apart = torch.arange(12).double() - torch.arange(12)[:, None]
    left, right = copies["rises"][:, :, None, None]
    expected = (left * apart.abs()).tril() + (right * apart.abs()).triu()
    found = attention.bias(Positions.range(12), Positions.range(12))[0]
    return Compared(found, expected, pairs(attention, copies))
