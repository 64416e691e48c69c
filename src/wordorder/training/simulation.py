"""A GPU on machines without one: PyTorch's device ``meta``, whose tensors have shapes but no numbers.

The code takes the path of a GPU there, and :class:`Dispatches` sees every operation. Nothing is computed, so that large
sizes take no longer than small ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Self
from unittest import mock

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils import _foreach_utils
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from wordorder.model.attention import base as attention
from wordorder.model.attention.sdpa import SDPA

DEVICE = torch.device("meta")

# The host needs the result of these operations to continue, so it waits for the device.
_ASK = frozenset({"_local_scalar_dense", "equal", "is_nonzero", "masked_select", "nonzero", "_unique2", "unique_dim"})
# With deterministic algorithms on a GPU, these operations become sorts with a copy that waits.
_SORT = frozenset({"scatter_add", "scatter_add_", "index_add", "index_add_", "index_put", "index_put_"})


@dataclass(frozen=True)
class Counts:
    """Counts of the operations that the host submitted to a device.

    Attributes:
        operations: The number of dispatched operations, including views.
        kernels: The number of operations that are not just views or allocations.
        by_name: The number of operations by their ATen name.
        waits_by_name: The number of operations that make the host wait, by their ATen name.
    """

    operations: int
    kernels: int
    by_name: Counter[str]
    waits_by_name: Counter[str]

    @property
    def host_waits(self) -> int:
        """The number of times that the host waited for the device."""
        return sum(self.waits_by_name.values())


class _NumbersOfPython(TorchFunctionMode):
    """Counts the conversions of Python numbers and lists to tensors: hidden copies for which the host waits."""

    def __init__(self, device: torch.device, waits: Counter[str]) -> None:
        super().__init__()
        self.device, self.waits = device, waits

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if function in (torch.tensor, torch.as_tensor, Tensor.new_tensor):
            self.waits["tensor"] += result.device.type == self.device.type and not isinstance(args[0], Tensor)
        elif function in (Tensor.__getitem__, Tensor.__setitem__) and args[0].device.type == self.device.type:
            index = args[1] if isinstance(args[1], tuple) else (args[1],)
            self.waits["index by a list"] += any(isinstance(each, list) for each in index)
        return result


class Dispatches(TorchDispatchMode):
    """Context manager that counts the operations on a device.

    On ``meta``, an operation whose result the host reads would fail. It is counted instead, and returns a result as if
    every number were 1.

    Args:
        device: The device whose operations are counted.
    """

    def __init__(self, device: torch.device = DEVICE) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.device = device
        self._operations: Counter[str] = Counter()
        self._waits: Counter[str] = Counter()
        self._kernels = 0
        self._numbers = _NumbersOfPython(device, self._waits)

    def __enter__(self) -> Self:
        self._numbers.__enter__()  # type: ignore[no-untyped-call]
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        self._numbers.__exit__(*error)  # type: ignore[no-untyped-call]

    def counts(self) -> Counts:
        """Return the counts so far."""
        return Counts(self._operations.total(), self._kernels, self._operations.copy(), +self._waits)

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = function.overloadpacket.__name__
        waits = self._waits_for(name, args, kwargs)
        if waits:
            self._waits[name] += 1
        if waits and self.device.type == "meta":
            result = _answer(function, name, args, kwargs)
        else:
            result = function(*args, **kwargs)
        if any(self._has(each) for each in tree_leaves((args, kwargs, result))):
            self._operations[name] += 1
            self._kernels += not (function.is_view or name in ("detach", "empty", "empty_like", "new_empty"))
        return result

    def _has(self, value: Any) -> bool:
        return isinstance(value, Tensor) and value.device.type == self.device.type

    def _waits_for(self, name: str, args: Any, kwargs: dict[str, Any]) -> bool:
        """Return whether the host of a GPU would wait until an operation has ended."""
        if not any(map(self._has, tree_leaves((args, kwargs)))):
            # The host waits for copies to the device, unless they are non-blocking.
            device = kwargs.get("device")
            moves = name == "_to_copy" and device is not None and device.type == self.device.type
            return moves and not kwargs.get("non_blocking")
        if name == "copy_":
            return not self._has(args[0]) or not (self._has(args[1]) or (len(args) > 2 and args[2]))
        if name == "_to_copy":
            device = kwargs.get("device")
            return device is not None and device.type != self.device.type
        if name in ("index", "index_put", "index_put_", "_index_put_impl_"):
            picked = [index for index in args[1] if index is not None]
            if any(index.dtype in (torch.bool, torch.uint8) or not self._has(index) for index in picked):
                return True
        return name in _ASK or (name in _SORT and torch.are_deterministic_algorithms_enabled())


def _answer(function: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
    """Return the result of an operation that reads values, as if all of them were 1."""
    if name in ("_local_scalar_dense", "equal", "is_nonzero"):
        return 1
    if name == "_to_copy" and kwargs["device"].type != "meta":
        return torch.ones(args[0].shape, dtype=kwargs.get("dtype") or args[0].dtype, device=kwargs["device"])
    if name == "copy_" and not args[0].is_meta:
        return args[0].fill_(1)
    if name == "nonzero":
        return torch.empty(args[0].numel(), args[0].dim(), dtype=torch.int64, device=args[0].device)
    if name == "masked_select":
        return torch.empty(args[0].numel(), dtype=args[0].dtype, device=args[0].device)
    if name in ("index", "index_put", "index_put_", "_index_put_impl_"):
        args = (args[0], [_chosen(index) for index in args[1]], *args[2:])
    return function(*args, **kwargs)


def _chosen(index: Tensor | None) -> Any:
    """Return an index of the size that a mask of ones would select."""
    if index is None or index.dtype not in (torch.bool, torch.uint8):
        return index if index is None else index.to(DEVICE)
    return torch.empty(index.numel(), dtype=torch.int64, device=DEVICE)


def _fused_attention(
    queries: Tensor, keys: Tensor, values: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0
) -> Tensor:
    """Dispatch the operations of PyTorch's attention on a GPU with the memory-efficient kernel."""
    if attn_mask is not None:
        columns = attn_mask.size(-1)
        if any(stride % 8 for stride in attn_mask.stride()[:-1]):  # the kernel requires aligned rows
            attn_mask = functional.pad(attn_mask, (0, -columns % 8))[..., :columns]
        attn_mask = attn_mask.expand(*queries.shape[:-1], columns)
    kernel = torch.ops.aten._scaled_dot_product_efficient_attention
    attended: Tensor = kernel(queries, keys, values, attn_mask, True, dropout_p)[0]
    return attended


@contextmanager
def as_on_a_gpu() -> Iterator[None]:
    """Enable the fused attention and the optimizer's multi-tensor operations of GPUs for the device ``meta``.

    Deterministic algorithms are off, as in :func:`.device.prepare` on a GPU.
    """
    known = [*_foreach_utils._get_fused_kernels_supported_devices(), DEVICE.type]
    optimizer = import_module("torch.optim.optimizer")  # PyTorch deletes the attribute 'optimizer' of torch.optim.
    mode = torch.get_deterministic_debug_mode()
    torch.set_deterministic_debug_mode("default")
    try:
        with (
            mock.patch.object(optimizer, "_get_fused_kernels_supported_devices", lambda: list(known)),
            mock.patch.object(_foreach_utils, "_get_foreach_kernels_supported_devices", lambda: list(known)),
            mock.patch.object(SDPA, "devices", frozenset({DEVICE.type})),
            mock.patch.object(functional, "scaled_dot_product_attention", _fused_attention),
            mock.patch.object(attention, "_used", set()),  # these are choices of no training
        ):
            attention.forget_choices()
            yield
    finally:
        attention.forget_choices()
        torch.set_deterministic_debug_mode(mode)
