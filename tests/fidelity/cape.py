"""Continuous augmented positions."""

from __future__ import annotations

import torch

from fidelity import Compared, formula, numbers, released
from golden import golden
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.cape import CAPEConfig, augmented
from wordorder.encodings.registry import build
from wordorder.encodings.sinusoidal import frequencies
from wordorder.encodings.waves import waves


@released("gcambara/cape d456950")
def training() -> Compared:
    """Sinusoids of shifted and stretched positions, which are centred there"""
    values = golden("cape", dtype=None)
    real = torch.arange(9) <= values["last_index"][:, None]
    drawn = torch.cat((values["global_shift"], values["log_scale"]), dim=1)
    positions = augmented(values["eval_positions"], drawn, values["local_shift"])
    return Compared(waves(positions, frequencies(8)).float()[real], values["train_out"][real])


@formula("the sinusoids of Vaswani et al. 2017, section 3.5")
def evaluation() -> Compared:
    """What translation adds to the embeddings of 300 tokens"""
    encoding = build(CAPEConfig(), Shape(16, 2, 1, 1)).eval()
    x, x_ = numbers(1, 300, 16)
    angles = torch.arange(300)[:, None] * 10000.0 ** (-torch.arange(8) / 8).double()
    expected = x_ + torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
    return Compared(encoding.add_to_embeddings(x, Positions.range(300), "decoder"), expected, [(x, x_)])
