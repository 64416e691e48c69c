"""Looking things up by position or by distance, the way that is fast and whose gradients are cheap."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from wordorder.encodings.base import Positions
from wordorder.errors import WordorderError


def distances(query: Positions, key: Positions) -> Tensor:
    """Key position - query position: (1 | B, Lq, Lk) int64."""
    return key.absolute[:, None, :] - query.absolute[:, :, None]


def spread(values: Tensor, rows: Tensor) -> Tensor:
    """One number a head for each of n cases to where the cases occur: (H, n), (1 | B, Lq, Lk) -> (1 | B, H, Lq, Lk)."""
    return _gathered(values, rows) if values.device.type == "cpu" else _embedded(values, rows)


def _gathered(values: Tensor, rows: Tensor) -> Tensor:
    """Head by head, in the order that scores have: on a CPU the faster way, above all its gradient."""
    everywhere = values.gather(1, rows.flatten().expand(len(values), -1))
    return everywhere.view(len(values), *rows.shape).transpose(0, 1)


def _embedded(values: Tensor, rows: Tensor) -> Tensor:
    """As a table with a row a case, whose gradient an accelerator sums in one pass, and always in the same order."""
    return functional.embedding(rows, values.t().contiguous()).permute(0, 3, 1, 2).contiguous()


def refuse_beyond(encoding: str, table: int, limit: int) -> None:
    """Refuse positions without a row in a table.

    Args:
        encoding: Type of the encoding.
        table: Number of rows.
        limit: A number above every position.

    Raises:
        WordorderError: The table is shorter than ``limit``.
    """
    if limit > table:
        raise WordorderError(
            f"The encoding '{encoding}' has a table of {table} positions, but a sentence needs {limit}. Raise 'table' "
            "of this encoding in encodings.yaml and train again, or shorten the sentence.",
            code="too-long",
            key="table",
            found=limit,
            expected=table,
        )
