"""Forget gates."""

from __future__ import annotations

from dataclasses import replace

import torch

from fidelity import Compared, causal, doubled, formula, numbers, pairs, released
from golden import golden
from wordorder.encodings.base import Positions, Shape, Stack
from wordorder.encodings.forgetting import ForgettingAttention, ForgettingConfig
from wordorder.model.attention.base import attend


def _inside(stack: Stack) -> ForgettingAttention:
    return ForgettingAttention(ForgettingConfig(), Shape(12, 3, 1, 1), stack)


def _read(inside: ForgettingAttention, x: torch.Tensor) -> Positions:
    positions = Positions.range(x.size(1))
    return replace(positions, state=inside.gates(x, positions))


def _released(stack: Stack, name: str) -> tuple[ForgettingAttention, dict[str, torch.Tensor], Positions]:
    values = golden("forgetting", dtype=None)
    inside = _inside(stack)
    inside.load_state_dict({"project.weight": values[f"{name}_w"], "project.bias": values[f"{name}_b"]})
    return inside, values, _read(inside, values["x"])


@released("x-transformers 2.31.10")
def decoder() -> Compared:
    """Bias of the decoder"""
    inside, values, positions = _released("decoder", "causal")
    return Compared(inside.bias(positions, positions).tril(), values["causal_bias"].tril())


@released("x-transformers 2.31.10")
def encoder() -> Compared:
    """Bias of the encoder"""
    inside, values, positions = _released("encoder", "both")
    return Compared(inside.bias(positions, positions), values["both_bias"])


@released("fla bc3b101")
def attention() -> Compared:
    """Outputs of the decoder's attention"""
    inside, values, positions = _released("decoder", "causal")
    heads = [values[name].transpose(1, 2) for name in ("q", "k", "v")]
    found = attend(
        *heads, mask=causal(7), dropout_probability=0.0, training=False, encoding=inside, query=positions, key=positions
    )
    return Compared(found.transpose(1, 2), values["attention_out"])


@formula("sums of log f, keys later than the query included")
def pair_by_pair() -> Compared:
    """Bias of the encoder, one pair of tokens after the other, 40 tokens"""
    inside = _inside("encoder")
    own = doubled(inside)
    x, x_ = numbers(2, 40, 12)
    gates = torch.sigmoid(x_ @ own["project.weight"].T + own["project.bias"]).log()
    sums = [
        gates[:, j + 1 : i + 1, :3].sum(1) if j <= i else gates[:, i + 1 : j + 1, 3:].sum(1)
        for i in range(40)
        for j in range(40)
    ]
    expected = torch.stack(sums, dim=-1).view(2, 3, 40, 40)
    positions = _read(inside, x)
    return Compared(inside.bias(positions, positions), expected, [(x, x_), *pairs(inside, own)])
