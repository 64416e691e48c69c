"""Looking things up by position or by distance, the way that is fast and whose gradients are cheap."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from wordorder.encodings.base import Positions


def distances(query: Positions, key: Positions) -> Tensor:
    """Key position - query position: (1 | B, Lq, Lk) int64."""
    return key.absolute[:, None, :] - query.absolute[:, :, None]


def spread(values: Tensor, rows: Tensor) -> Tensor:
    """One number a head for each of n cases, (H, n), to where the cases occur, (1 | B, Lq, Lk) -> (1 | B, H, Lq, Lk).

    As a look-up in an embedding table, because its gradient is summed in one pass.
    """
    return functional.embedding(rows, values.t()).permute(0, 3, 1, 2)
