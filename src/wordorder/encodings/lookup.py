"""Lookups by position or by distance that are fast and have cheap gradients."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from wordorder.encodings.base import Positions, of_pairs
from wordorder.errors import WordorderError


def distances(query: Positions, key: Positions) -> Tensor:
    """Compute key position - query position, (1 | B, Lq, Lk) int64."""
    return of_pairs(query, key, "distances", lambda: key.absolute[:, None, :] - query.absolute[:, :, None])


def spread(values: Tensor, rows: Tensor) -> Tensor:
    """Look up one number per head for each pair of tokens.

    Args:
        values: Numbers of n cases, (H, n).
        rows: Case of each pair, (1 | B, Lq, Lk).

    Returns:
        The numbers, (1 | B, H, Lq, Lk).
    """
    return _gathered(values, rows) if values.device.type == "cpu" else _embedded(values, rows)


def _gathered(values: Tensor, rows: Tensor) -> Tensor:
    """Look up head by head, in the memory order of scores: on a CPU the faster way, above all for its gradient."""
    everywhere = values.gather(1, rows.flatten().expand(len(values), -1))
    return everywhere.view(len(values), *rows.shape).transpose(0, 1)


def _embedded(values: Tensor, rows: Tensor) -> Tensor:
    """Look up as in a table with one row per case: an accelerator sums its gradient in one pass, in a fixed order."""
    return functional.embedding(rows, values.t().contiguous()).permute(0, 3, 1, 2).contiguous()


def refuse_beyond(encoding: str, table: int, limit: int) -> None:
    """Reject positions without a row in a table.

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
