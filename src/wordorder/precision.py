"""Automatic mixed precision, asked for on any device, also on those that do not have it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch


def autocast_dtype(device: str) -> torch.dtype:
    """Return the type in which automatic mixed precision multiplies matrices on a type of device."""
    if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return torch.float32


def without_autocast(device: str) -> AbstractContextManager[object]:
    """Switch automatic mixed precision off within a block."""
    return torch.autocast(device, enabled=False) if torch.amp.is_autocast_available(device) else nullcontext()
