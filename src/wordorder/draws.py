"""Random draws: repeatable ones outside training, and the way of what a CPU has drawn to the device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


@contextmanager
def repeatable(number: int) -> Iterator[None]:
    """Draw from the CPU's generator as if a number had just seeded it; the generator then continues where it was.

    Args:
        number: What to draw for, such as the number of a batch; others draw differently.
    """
    generator = torch.default_generator
    state = generator.get_state()
    generator.manual_seed(number)
    try:
        yield
    finally:
        generator.set_state(state)


def moved(values: Tensor, to: torch.device) -> Tensor:
    """Copy numbers of the CPU to a device, for which the host does not wait.

    Rows that are one and the same row are copied once.
    """
    one_row = values.dim() > 0 and len(values) > 1 and values.stride(0) == 0
    own = values[:1] if one_row else values
    # From memory that can be swapped out, the driver copies more than 64 KiB only while the host waits.
    own = own.pin_memory() if to.type == "cuda" else own
    there = own.to(to, non_blocking=True)
    return there.expand(values.shape) if one_row else there


def rows_of(values: Tensor, rows: Tensor) -> Tensor:
    """Select rows by their indices, without a copy for each if they are one and the same row.

    Args:
        values: Values, (B, …), such as the random numbers of each sentence.
        rows: Indices into B, (N,).

    Returns:
        The rows, (N, …).
    """
    if len(values) == 1 or values.stride(0) == 0:
        return values[:1].expand(len(rows), *values.shape[1:])
    return values.index_select(0, rows)


def repeated(values: Tensor, times: int) -> Tensor:
    """Repeat each row, (B, …) to (B · times, …), without copies if all are one and the same row."""
    return rows_of(values, torch.arange(len(values), device=values.device).repeat_interleave(times))
