"""What is added to scores so that nobody looks where he may not: 0 where a query may look, -inf elsewhere."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from wordorder.model.batch import PAD


def padding_mask(tokens: Tensor) -> Tensor | None:
    """-inf at padding, to be added to scores: (B, 1, 1, S), or None where a CPU batch has no padding."""
    padding = tokens == PAD
    # On an accelerator the question itself would wait for the device.
    if tokens.device.type == "cpu" and not bool(padding.any()):
        return None
    return torch.zeros_like(tokens, dtype=torch.float32).masked_fill(padding, -math.inf)[:, None, None]


def causal_mask(length: int, *, on: torch.device) -> Tensor:
    """-inf above the diagonal: (1, 1, T, T)."""
    return torch.full((length, length), -math.inf, device=on).triu(1)[None, None]


def as_precise_as(queries: Tensor, mask: Tensor) -> Tensor:
    """A mask or bias as fused kernels want it, in the precision of the queries.

    What a lower precision cannot hold, -inf included, becomes its least number. Half precision would make -inf of -1e9,
    and a query that sees -inf alone has no weights.
    """
    if mask.dtype == queries.dtype:
        return mask
    return mask.clamp(min=torch.finfo(queries.dtype).min).to(queries.dtype)
