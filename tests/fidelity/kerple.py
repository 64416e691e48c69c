"""Kernels of the distance."""

from __future__ import annotations

import torch

from fidelity import Compared, doubled, formula, pairs, released
from golden import golden
from wordorder.encodings.base import Positions
from wordorder.encodings.kerple import Kernel, KERPLEAttention


def _released(kernel: Kernel) -> Compared:
    values = golden("kerple", dtype=None)
    inside = KERPLEAttention(kernel, 3, "decoder")
    with torch.no_grad():
        inside.a.copy_(values[f"{kernel}_a"].flatten()[None])
        inside.p.copy_(values[f"{kernel}_p"].flatten()[None])
    found = values["scores"] + inside.bias(Positions.range(7), Positions.range(7))
    return Compared(found.tril(), values[f"{kernel}_out"].tril())


@released("chijames/KERPLE 25be3d7")
def log_kernel() -> Compared:
    """Scores of the decoder, `kernel: log`, a number below its bound among those trained"""
    return _released("log")


@released("chijames/KERPLE 25be3d7")
def power_kernel() -> Compared:
    """Scores of the decoder, `kernel: power`, a number below its bound among those trained"""
    return _released("power")


def _formula(kernel: Kernel) -> Compared:
    inside = KERPLEAttention(kernel, 4, "encoder")
    with torch.no_grad():
        for parameter in inside.parameters():
            parameter.clamp_(min=0.01)
    own = doubled(inside, drawn=False)
    biases = []
    for head in range(4):
        for i in range(30):
            for j in range(30):
                a, p = (own[name][int(j > i), head] for name in ("a", "p"))
                apart = torch.tensor(float(abs(i - j)), dtype=torch.float64)
                biases.append(-p * torch.log(1 + a * apart) if kernel == "log" else -a * apart**p)
    expected = torch.stack(biases).view(1, 4, 30, 30)
    return Compared(inside.bias(Positions.range(30), Positions.range(30)), expected, pairs(inside, own))


@formula("the logarithmic variant")
def log_formula() -> Compared:
    """Bias of the encoder, one pair of tokens after the other"""
    return _formula("log")


@formula("the power variant")
def power_formula() -> Compared:
    """Bias of the encoder, one pair of tokens after the other"""
    return _formula("power")
