"""Dropout whose masks are cheap on a CPU.

PyTorch draws one Mersenne-Twister number an element on a single thread, a tenth of a training step. Here a CPU mask
comes from NumPy's SFC64, four elements a 64-bit draw. The generator is seeded by one draw from PyTorch's own, so that
saving PyTorch's generator saves everything. Other devices use PyTorch's dropout.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

_LEVELS = 1 << 16

Drop = Callable[[Tensor], Tensor]  # a dropout whose mask is drawn already


def _scaled(x: Tensor, keep: Tensor, scale: float) -> Tensor:
    """Compute x * keep * scale in one pass."""
    scaled: Tensor = torch.ops.aten.native_dropout_backward(x, keep, scale)
    return scaled


class _Masked(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor, keep: Tensor, scale: float) -> Tensor:
        context.save_for_backward(keep)
        context.scale = scale
        return _scaled(x, keep, scale)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (keep,) = context.saved_tensors
        return _scaled(gradients[0].contiguous(), keep, context.scale), None, None


def _keep(x: Tensor, dropped: int) -> Tensor:
    """Draw a boolean mask of x's shape; each element is False with probability dropped / 2**16."""
    seed = int(torch.randint(2**63 - 1, ()))
    count = x.numel()
    draws = np.random.SFC64(seed).random_raw((count + 3) // 4).view(np.uint16)[:count]
    return torch.from_numpy(draws >= dropped).view(x.shape)


def dropout(x: Tensor, probability: float, training: bool) -> Tensor:
    """Set elements to 0 with the given probability (to within 2**-17 on a CPU) and scale the others up."""
    if not training or probability == 0:
        return x
    if x.device.type != "cpu":
        return torch.native_dropout(x, probability, True)[0]  # which PyTorch's dropout calls on a GPU
    return drawn(x, probability, training)[0]


def drawn(x: Tensor, probability: float, training: bool) -> tuple[Tensor, Drop]:
    """:func:`dropout` of x, and what does the same to other tensors of its shape, by the same mask."""
    if not training or probability == 0:
        return x, unchanged
    if x.device.type != "cpu":
        result, keep = torch.native_dropout(x, probability, True)
        scale = 1 / (1 - probability)
    else:
        dropped = min(max(1, round(probability * _LEVELS)), _LEVELS - 1)
        keep, scale = _keep(x, dropped), _LEVELS / (_LEVELS - dropped)
        result = _masked(x, keep, scale)
    return result, lambda other: _masked(other, keep, scale)


def unchanged(x: Tensor) -> Tensor:
    """Drop nothing."""
    return x


def _masked(x: Tensor, keep: Tensor, scale: float) -> Tensor:
    masked: Tensor = _Masked.apply(x, keep, scale)  # type: ignore[no-untyped-call]
    return masked


class Dropout(nn.Module):
    """Module form of :func:`dropout`."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, x: Tensor) -> Tensor:
        """Apply dropout in training."""
        return dropout(x, self.probability, self.training)

    def drawn(self, x: Tensor) -> tuple[Tensor, Drop]:
        """Apply dropout, and return a function that applies the same mask again."""
        return drawn(x, self.probability, self.training)

    def extra_repr(self) -> str:
        """Return the probability."""
        return f"{self.probability}"
