"""Rotary positions that fade with the distance."""

from __future__ import annotations

import torch

from fidelity import Compared, formula, numbers, package, released
from golden import golden
from raw_scores import raw_scores
from wordorder.encodings.base import Positions
from wordorder.encodings.xpos import XPosAttention, XPosConfig


@released("microsoft/torchscale 4d1e0e8")
def torchscale() -> Compared:
    """Scores of all pairs of tokens, `sides: released`, `layout: interleaved`"""
    values = golden("xpos", dtype=None)
    inside = XPosAttention(8, XPosConfig(layout="interleaved"), symmetric=False)
    queries, keys = (values[name].view(3, 2, 9, 8) for name in ("q", "k"))
    return Compared(raw_scores(inside, queries, keys, Positions.range(9)).flatten(0, 1), values["scores"])


@package("rotary-embedding-torch")
def rotary_embedding_torch() -> Compared:
    """Scores of the decoder, 50 tokens, `layout: interleaved`"""
    from rotary_embedding_torch import RotaryEmbedding

    (queries, queries_), (keys, keys_) = numbers(2, 3, 50, 16), numbers(2, 3, 50, 16)
    inside = XPosAttention(16, XPosConfig(layout="interleaved"), symmetric=False)
    rotated = RotaryEmbedding(dim=16, use_xpos=True).rotate_queries_and_keys(queries_.float(), keys_.float())
    expected = (rotated[0] @ rotated[1].mT / 4).double()
    found = raw_scores(inside, queries, keys, Positions.range(50))
    return Compared(found.tril(), expected.tril(), [(queries, queries_), (keys, keys_)])


@formula("the sum over pairs of numbers")
def pair_by_pair() -> Compared:
    """Scores of the encoder, 40 tokens, as complex numbers"""
    (queries, queries_), (keys, keys_) = numbers(1, 2, 40, 16), numbers(1, 2, 40, 16)
    q, k = (torch.complex(x[..., :8], x[..., 8:]) for x in (queries_, keys_))
    apart = (torch.arange(40)[:, None] - torch.arange(40))[..., None].double()
    turn = torch.polar(torch.ones(1).double(), apart * 10000.0 ** (-torch.arange(8) / 8).double())
    fade = ((torch.arange(8) + 0.4 * 8) / (1.4 * 8)).double() ** (apart.abs() / 512)
    expected = (q[:, :, :, None] * k[:, :, None].conj() * turn * fade).real.sum(-1) / 4
    found = raw_scores(XPosAttention(16, XPosConfig(), symmetric=True), queries, keys, Positions.range(40))
    return Compared(found, expected, [(queries, queries_), (keys, keys_)])
