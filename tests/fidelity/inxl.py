"""Cross-lingual positions at the embeddings."""

from __future__ import annotations

import torch

from fidelity import Compared, doubled, formula, numbers, pairs, sinusoid
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.inxl import InXL, InXLConfig

REORDERED = [[2, 0, 1, 4, 3], [4, 3, 2, 1, 0]]


@formula("equations 6-8")
def equations() -> Compared:
    """Embeddings of two reordered sentences"""
    encoding = InXL(InXLConfig(), Shape(dim=8, heads=2, encoder_layers=1, decoder_layers=1))
    own = doubled(encoding)
    x, x_ = numbers(2, 5, 8)
    positions = Positions.range(5).with_reordered(torch.tensor(REORDERED))
    fused = [
        [torch.tanh(sinusoid(i, 8) @ own["fuse.absolute"] + sinusoid(p, 8) @ own["fuse.reordered"])
         for i, p in enumerate(sentence)]
        for sentence in REORDERED
    ]  # fmt: skip
    expected = x_ + torch.stack([torch.stack(rows) for rows in fused])
    found = encoding.add_to_embeddings(x, positions, "encoder")
    return Compared(found, expected, [(x, x_), *pairs(encoding, own)])
