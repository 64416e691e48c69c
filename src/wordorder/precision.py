"""Lower precisions: automatic mixed precision on any device, bfloat16 on any processor, and rounded models."""

from __future__ import annotations

import copy
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

M = TypeVar("M", bound=nn.Module)

_aten = torch.ops.aten
_PRODUCTS = frozenset({_aten.mm, _aten.bmm, _aten.addmm, _aten.baddbmm})
_MADE_OF_PRODUCTS = frozenset({_aten.linear, _aten.matmul, _aten.einsum})


def autocast_dtype(device: str) -> torch.dtype:
    """Return the type in which automatic mixed precision multiplies matrices on a type of device."""
    if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return torch.float32


def without_autocast(device: str) -> AbstractContextManager[object]:
    """Switch automatic mixed precision off within a block."""
    return torch.autocast(device, enabled=False) if torch.amp.is_autocast_available(device) else nullcontext()


def lacks_instructions(precision: str, device: str) -> bool:
    """Return whether products of matrices in a precision have no instructions of the processor.

    Args:
        precision: The precision of a recipe or a search, such as 'bf16'.
        device: The type of the device, such as 'cpu'.
    """
    if precision != "bf16" or device != "cpu":
        return False
    return not (torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported())  # type: ignore[no-untyped-call]


class Bf16Products(TorchDispatchMode):
    """Within a block, compute products of matrices in bfloat16 on a CPU that has no instructions for them.

    Such products are sums in single precision that are rounded once. The product of two bfloat16 numbers is exact in
    single precision, so the sums can be computed by the products of single precision, which every processor has. The
    results differ from those of the instructions, and from those of PyTorch's own loop, only by the order of the
    summands. The loop is many times slower. Gradients are computed in the same way. The steps of PyTorch's LSTM are
    left to it.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Leave out the wrapper for PyTorch's compiler, whose import takes seconds."""
        return False

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        product = function.overloadpacket
        if product in _PRODUCTS and args[-1].dtype == torch.bfloat16 and args[-1].device.type == "cpu":
            out = kwargs.pop("out", None)
            result = product(*(each.float() if isinstance(each, Tensor) else each for each in args), **kwargs)
            return result.bfloat16() if out is None else out.copy_(result)
        if product in _MADE_OF_PRODUCTS:  # In inference mode, PyTorch does not divide them itself.
            with self:
                return function.decompose(*args, **kwargs)
        return function(*args, **kwargs)


def products(precision: str, device: str) -> AbstractContextManager[object]:
    """Return the block for computations in a precision: :class:`Bf16Products` where instructions are missing."""
    return Bf16Products() if lacks_instructions(precision, device) else nullcontext()


def rounded(model: M) -> M:
    """Return a copy of a model in bfloat16; parameters that a module names in ``not_rounded`` keep their precision."""
    copied = copy.deepcopy(model).bfloat16()
    for module, original in zip(copied.modules(), model.modules(), strict=True):
        for name, parameter in original.named_parameters(recurse=False):
            if name in getattr(original, "not_rounded", ()):
                module.get_parameter(name).data = parameter.detach().clone()
    return copied
