"""Attention without positions."""

from __future__ import annotations

import torch
from torch import nn

from fidelity import Compared, doubled, formula, numbers, pairs
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.none import NoneConfig
from wordorder.encodings.registry import build
from wordorder.model.attention.multihead import SelfAttention


@formula("equation 9, by PyTorch's MultiheadAttention")
def multihead_attention() -> Compared:
    """Outputs of self-attention"""
    inside = build(NoneConfig(), Shape(dim=12, heads=3, encoder_layers=1, decoder_layers=1)).attention("encoder", 0)
    ours = SelfAttention(12, 3, 0.0)
    own = doubled(ours)
    theirs = nn.MultiheadAttention(12, 3, batch_first=True, dtype=torch.float64)
    x, x_ = numbers(2, 5, 12)
    parameters = {
        "in_proj_weight": own["project_in.weight"],
        "in_proj_bias": own["project_in.bias"],
        "out_proj.weight": own["project_out.weight"],
        "out_proj.bias": own["project_out.bias"],
    }
    expected = torch.func.functional_call(theirs, parameters, (x_, x_, x_), {"need_weights": False})[0]
    found = ours(x, mask=None, encoding=inside, positions=Positions.range(5))
    return Compared(found, expected, [(x, x_), *pairs(ours, own)])
