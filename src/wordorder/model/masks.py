"""Attention masks, which are added to scores: 0 for visible keys, -inf for others."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from wordorder.model.batch import PAD

_HIDDEN = -3e4  # Its exponential is 0, and half precision can represent it with a score added.


def padding_mask(tokens: Tensor) -> Tensor | None:
    """Return -inf at padding, (B, 1, 1, S), or None if a CPU batch has no padding."""
    padding = tokens == PAD
    # On an accelerator the question itself would wait for the device.
    if tokens.device.type == "cpu" and not bool(padding.any()):
        return None
    return torch.zeros_like(tokens, dtype=torch.float32).masked_fill(padding, -math.inf).view(len(tokens), 1, 1, -1)


def causal_mask(length: int, *, on: torch.device) -> Tensor:
    """Return -inf above the diagonal, (1, 1, T, T)."""
    return torch.full((length, length), -math.inf, device=on).triu(1).view(1, 1, length, length)


def sentence_mask(queries: Tensor, keys: Tensor, *, causal: bool = False) -> Tensor:
    """Let tokens see those of their own sentence only, where rows hold several sentences.

    Hidden keys get a number instead of -inf, so that padding of one side, which sees no key, has weights.

    Args:
        queries: The number of each query's sentence in its row, (B, Lq).
        keys: The same of the keys, (B, Lk).
        causal: Whether queries also see no later keys.

    Returns:
        The mask, (B, 1, Lq, Lk).
    """
    queries, keys = queries.view(len(queries), 1, -1, 1), keys.view(len(keys), 1, 1, -1)
    hidden = ~(queries == keys).tril() if causal else queries != keys
    return hidden * _HIDDEN


def as_precise_as(queries: Tensor, mask: Tensor) -> Tensor:
    """Convert a mask or bias to the precision of the queries, as fused kernels require.

    Values beyond the range of a lower precision, including -inf, become its smallest number. In half precision, -1e9
    would become -inf, and a query that sees only -inf has no weights.
    """
    if mask.dtype == queries.dtype:
        return mask
    return mask.clamp(min=torch.finfo(queries.dtype).min).to(queries.dtype)
