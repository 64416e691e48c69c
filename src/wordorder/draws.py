"""Random draws outside training, repeatable and without any effect on what is drawn afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


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
