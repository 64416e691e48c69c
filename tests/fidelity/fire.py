"""Functional interpolation."""

from __future__ import annotations

import torch

from fidelity import Compared, doubled, formula, pairs, released
from golden import golden
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.fire import FIREAttention, FIREConfig


@released("chuanyang-Zheng/DAPE bde344a")
def decoder() -> Compared:
    """Bias of the decoder, sentences longer than L"""
    values = golden("fire_dape", dtype=None)
    inside = FIREAttention(FIREConfig(hidden=8, threshold=float(values["fire_L"])), Shape(8, 4, 1, 1), "decoder")
    with torch.no_grad():
        inside.c.copy_(values["fire_c"])
        inside.curves[0].inner.weight.copy_(values["fire_w1"])
        inside.curves[0].inner.bias.copy_(values["fire_b1"])
        inside.curves[0].outer.weight.copy_(values["fire_w2"])
    found = inside.bias(Positions.range(9), Positions.range(9))[0] + values["fire_b2"][:, None, None]  # ours lacks it
    return Compared(found.tril(), values["fire_bias"].tril())


@formula("section 3, keys behind the query included")
def pair_by_pair() -> Compared:
    """Bias of the encoder, sentences longer than L, one pair after the other"""
    inside = FIREAttention(FIREConfig(hidden=8, threshold=5.0), Shape(8, 4, 1, 1), "encoder")
    own = doubled(inside, drawn=False)
    c, threshold = own["c"].abs(), 5.0 * own["multiple"].abs()

    def bias(i: int, j: int) -> torch.Tensor:
        longest = torch.maximum(threshold, torch.tensor(float(max(i, j)), dtype=torch.float64))
        x = torch.log(c * abs(i - j) + 1) / (torch.log(c * longest + 1) + 1e-6)
        curve = f"curves.{int(j > i)}"
        hidden = torch.relu(own[f"{curve}.inner.weight"][:, 0] * x + own[f"{curve}.inner.bias"])
        return own[f"{curve}.outer.weight"] @ hidden + own[f"{curve}.outer.bias"]

    expected = torch.stack([torch.stack([bias(i, j) for j in range(9)]) for i in range(9)]).permute(2, 0, 1)[None]
    return Compared(inside.bias(Positions.range(9), Positions.range(9)), expected, pairs(inside, own))
