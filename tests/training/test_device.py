"""Settings of the machine."""

from __future__ import annotations

import torch

from wordorder.training.device import prepare


def test_subnormal_numbers_become_zero() -> None:
    least = torch.tensor(torch.finfo(torch.float32).tiny)
    assert float(least * 0.5) > 0
    prepare()
    assert float(least * 0.5) == 0
