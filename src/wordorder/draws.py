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
