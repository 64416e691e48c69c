"""Linear layers of finished models with weights in oneDNN's own layout, for translation on a CPU.

oneDNN multiplies by blocks of weights. PyTorch keeps weights row by row, so that each product rearranges them first.
Where a model translates step by step, products are small and rearranging takes a tenth of their time. The layers of
this module rearrange once. They are used only where PyTorch itself multiplies with oneDNN, and give the same bits.
"""

from __future__ import annotations

import copy
from functools import lru_cache
from itertools import chain
from typing import TypeVar

import torch
from torch import Tensor, nn
from typing_extensions import override

from wordorder.model.layers import FeedForward

M = TypeVar("M", bound=nn.Module)

# PyTorch multiplies smaller matrices without oneDNN.
_SMALLEST = 16**3


class PackedLinear(nn.Linear):
    """A linear layer that multiplies by packed weights, with the parameters of another one."""

    def __init__(self, linear: nn.Linear, activation: str = "none") -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias
        self.activation = activation
        self._packed = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), None)

    @override
    def forward(self, x: Tensor) -> Tensor:
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias, self.activation, [], "")
        return product


class PackedFeedForward(nn.Module):
    """A feed-forward network without dropout, whose first product applies ReLU."""

    def __init__(self, network: FeedForward) -> None:
        super().__init__()
        self.expand, self.contract = PackedLinear(network.expand, "relu"), PackedLinear(network.contract)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the network, (…, d) to (…, d)."""
        contracted: Tensor = self.contract(self.expand(x))
        return contracted


def packed(model: M) -> M:
    """Return a model with packed weights and the same parameters, or the model itself where packing has no use.

    Args:
        model: A model in evaluation mode.

    Returns:
        A model whose outputs have the same bits.
    """
    precision = torch.get_float32_matmul_precision()
    kinds = {(weight.device.type, weight.dtype) for weight in model.parameters()}
    if any(device != "cpu" or not _same_bits(dtype, precision) for device, dtype in kinds):
        return model
    shared = {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())}
    model = copy.deepcopy(model, memo=shared)
    _pack(model)
    return model


def _pack(module: nn.Module) -> None:
    for name, child in module.named_children():
        if type(child) is FeedForward and _large(child.expand):
            setattr(module, name, PackedFeedForward(child))
        elif type(child) is nn.Linear and _large(child):
            setattr(module, name, PackedLinear(child))
        else:
            _pack(child)


def _large(linear: nn.Linear) -> bool:
    return linear.in_features * linear.out_features > _SMALLEST


@lru_cache
def _same_bits(dtype: torch.dtype, precision: str) -> bool:
    """Return whether packed and usual products have the same bits in the current settings, by trying it."""
    if not (torch.backends.mkldnn.is_available() and torch.backends.mkldnn.enabled):  # type: ignore[no-untyped-call]
        return False
    generator = torch.Generator().manual_seed(0)
    x, weight = (torch.randn(rows, 256, generator=generator).to(dtype) for rows in (30, 320))
    linear = nn.Linear(256, 320, bias=False, dtype=dtype)
    linear.weight = nn.Parameter(weight, requires_grad=False)
    try:
        return all(torch.equal(linear(x[:rows]), PackedLinear(linear)(x[:rows])) for rows in (1, 30))
    except (AttributeError, RuntimeError):  # another build of PyTorch, or a processor without bfloat16
        return False
