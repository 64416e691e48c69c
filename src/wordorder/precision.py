"""Lower precisions: automatic mixed precision on any device, also without support for it, and rounded models."""

from __future__ import annotations

import copy
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

import torch
from torch import nn

M = TypeVar("M", bound=nn.Module)


def autocast_dtype(device: str) -> torch.dtype:
    """Return the type in which automatic mixed precision multiplies matrices on a type of device."""
    if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return torch.float32


def without_autocast(device: str) -> AbstractContextManager[object]:
    """Switch automatic mixed precision off within a block."""
    return torch.autocast(device, enabled=False) if torch.amp.is_autocast_available(device) else nullcontext()


def rounded(model: M) -> M:
    """Return a copy of a model in bfloat16; parameters that a module names in ``not_rounded`` keep their precision."""
    copied = copy.deepcopy(model).bfloat16()
    for module, original in zip(copied.modules(), model.modules(), strict=True):
        for name, parameter in original.named_parameters(recurse=False):
            if name in getattr(original, "not_rounded", ()):
                module.get_parameter(name).data = parameter.detach().clone()
    return copied
