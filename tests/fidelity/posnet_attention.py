"""PosNet inside the attention."""

from __future__ import annotations

import torch

from fidelity import Compared, doubled, formula, numbers
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.posnet_attention import PosNetAttention, PosNetAttentionConfig


@formula("equations 20 and 23")
def sum_of_moved_values() -> Compared:
    """Weighted sums of the values of two heads"""
    encoding = PosNetAttention(PosNetAttentionConfig(table=9), Shape(8, 2, 1, 1)).eval()
    own = doubled(encoding)["inside.kernels.matrices"]
    values, values_ = numbers(1, 2, 5, 4)
    shares = torch.rand(2, 5, 5, dtype=torch.float64).softmax(-1)
    expected = [
        [sum(shares[h, i, j] * (values_[0, h, j] + (values_[0, h, j] @ own[j]).relu()) for j in range(5))
         for i in range(5)]
        for h in range(2)
    ]  # fmt: skip
    found = shares.float() @ encoding.attention("encoder", 0).values(values, Positions.range(5))
    leaves = [(values, values_), (encoding.inside.kernels.matrices, own)]
    return Compared(found[0], torch.stack([torch.stack(rows) for rows in expected]), leaves)
