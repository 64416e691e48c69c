"""Shifted sinusoids."""

from __future__ import annotations

import math
from unittest.mock import patch

import torch

from fidelity import Compared, formula, numbers, released
from golden import golden
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.registry import build
from wordorder.encodings.shape import SHAPEConfig


def _embeddings(x: torch.Tensor, shifts: torch.Tensor | None) -> torch.Tensor:
    """Add the shifted sinusoids, K = 10, in training with the given draw."""
    encoding = build(SHAPEConfig(shift=10), Shape(dim=8, heads=2, encoder_layers=1, decoder_layers=1))
    encoding.train(shifts is not None)
    with patch("torch.randint", return_value=shifts):
        return encoding.add_to_embeddings(x, Positions.range(x.size(1)), "encoder")


def _golden(output: str, shifts: torch.Tensor | None) -> Compared:
    values = golden("shape", dtype=None)
    x = values["x_length_first"].transpose(0, 1) * 8**0.5
    return Compared(_embeddings(x, shifts), values[output].transpose(0, 1))


@released("butsugiri/shape a2b04a2")
def training() -> Compared:
    """Embeddings in training, with the released code's draw"""
    return _golden("train_out", golden("shape")["train_offsets"][:, None])


@released("butsugiri/shape a2b04a2")
def evaluation() -> Compared:
    """Embeddings in evaluation"""
    return _golden("eval_out", None)


@formula("section 3")
def written_out() -> Compared:
    """Embeddings in training, shifts 0 and 9"""
    x, x_ = numbers(2, 5, 8)
    waves = [
        [[(math.cos if c % 2 else math.sin)((pos + s) / 10000 ** ((c - c % 2) / 8)) for c in range(8)]
         for pos in range(5)]
        for s in (0, 9)
    ]  # fmt: skip
    expected = x_ + torch.tensor(waves, dtype=torch.float64)
    return Compared(_embeddings(x, torch.tensor([[0], [9]])), expected, [(x, x_)])
