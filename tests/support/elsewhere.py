"""A device without hardware: its tensors are on the CPU, but report another device and never mix with the CPU's.

So what a GPU refuses, an operation on tensors of two devices or an array of a tensor that does not lie in memory, is
refused on a machine without one. Not everything can be done there: 'torch.tensor' and the assignment of a number to a
part of a tensor make tensors unseen.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

DEVICE = torch.device("meta")


class _Tensor(Tensor):
    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> _Tensor:
        found: _Tensor = Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), dtype=inner.dtype, device=DEVICE
        )
        found.inner = inner
        return found

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(function, args, kwargs or {})


class Elsewhere(TorchDispatchMode):
    """Allow tensors to be made on DEVICE, and moved there and back, inside the block."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(function, args, kwargs or {})


def _run(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    elsewhere = any(isinstance(tensor, _Tensor) for tensor in tensors)
    for tensor in tensors:
        # A tensor without dimensions is a number, which any device takes from the CPU.
        if elsewhere and not isinstance(tensor, _Tensor) and (tensor.dim() or tensor.is_meta):
            raise RuntimeError(f"{function} got tensors of two devices.")
    if kwargs.get("device") is not None:
        elsewhere = kwargs["device"] == DEVICE
        kwargs = kwargs | {"device": torch.device("cpu")}
    args, kwargs = tree_map_only(_Tensor, lambda tensor: tensor.inner, (args, kwargs))
    found = function(*args, **kwargs)
    return tree_map_only(Tensor, _Tensor, found) if elsewhere else found
