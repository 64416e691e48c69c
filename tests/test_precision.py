"""Products in bfloat16 on a processor without the instructions for them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from training_passes import CONFIGURATIONS, LENGTHS, SIZES, batch_of, model_of, results
from training_runs import cell, write_reversals
from wordorder.config.decoding import Decoding
from wordorder.config.sizes import ArchitectureSize
from wordorder.decoding.translate import translate
from wordorder.encodings.base import EncodingConfig
from wordorder.precision import Bf16Products, lacks_instructions, products
from wordorder.training import run as run_module


class SlowProducts(TorchDispatchMode):
    """Records the products of matrices in bfloat16 that PyTorch itself would compute."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: set[str] = set()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = function.overloadpacket.__name__
        low = any(isinstance(each, Tensor) and each.dtype == torch.bfloat16 for each in args)
        if low and re.search(r"mm|mv|dot|linear|conv", name):
            self.names.add(name)
        return function(*args, **(kwargs or {}))


def random(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).bfloat16()


PRODUCTS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "matrices": lambda x, y, z: x @ y,
    "transposed": lambda x, y, z: (y.mT @ x.mT).mT,
    "sum": lambda x, y, z: torch.addmm(z, x, y, beta=0.5, alpha=2),
    "many": lambda x, y, z: torch.bmm(x.expand(3, -1, -1), y.expand(3, -1, -1)),
    "sums": lambda x, y, z: torch.baddbmm(z.expand(3, 5, 7), x.expand(3, -1, -1), y.expand(3, -1, -1)),
    "linear": lambda x, y, z: torch.nn.functional.linear(x, y.mT, z),
    "einsum": lambda x, y, z: torch.einsum("ab,bc->ca", x, y),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_and_gradients_are_those_of_rounded_numbers(name: str) -> None:
    """They equal sums in double precision up to the final rounding, and have the type and the shape of PyTorch's."""
    of = PRODUCTS[name]
    low = [each.requires_grad_() for each in (random(5, 300, seed=1), random(300, 7, seed=2), random(7, seed=3))]
    exact = [each.detach().double().requires_grad_() for each in low]
    expected = of(*exact)
    with Bf16Products():
        found = of(*low)
        gradients = torch.autograd.grad(found, low, torch.ones_like(found), allow_unused=True)
    exact_gradients = torch.autograd.grad(expected, exact, torch.ones_like(expected), allow_unused=True)
    assert found.dtype == torch.bfloat16
    assert_close(found.double(), expected, rtol=2**-8, atol=1e-4)
    for own, theirs in zip(gradients, exact_gradients, strict=True):
        assert (own is None) == (theirs is None)
        if theirs is not None:
            assert own.dtype == torch.bfloat16
            # The gradient of an expanded tensor is a sum of rounded products.
            assert_close(own.double(), theirs, rtol=2**-7, atol=0.1)


def test_a_product_into_given_memory() -> None:
    x, y = random(5, 300, seed=1), random(300, 7, seed=2)
    memory = torch.empty(5, 7, dtype=torch.bfloat16)
    with Bf16Products():
        found = torch.mm(x, y, out=memory)
        assert torch.equal(found, x @ y)
    assert found.data_ptr() == memory.data_ptr()


def test_other_types_are_left_alone() -> None:
    x = torch.randn(4, 4)
    with SlowProducts(), Bf16Products():
        assert (x @ x).dtype == torch.float32
        assert (x.double() @ x.double()).dtype == torch.float64
        assert (x.bfloat16() + x.bfloat16()).dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("config", "size"),
    [
        *((config, SIZES["transformer"]) for config in CONFIGURATIONS.values()),
        *((CONFIGURATIONS["sinusoidal"], size) for size in SIZES.values()),
    ],
    ids=[*CONFIGURATIONS, *SIZES],
)
def test_no_product_of_a_training_is_left_to_pytorch(config: EncodingConfig, size: ArchitectureSize) -> None:
    model, batch = model_of(config, size, dropout=0.1), batch_of(LENGTHS)
    with SlowProducts() as slow, Bf16Products(), torch.autocast("cpu", torch.bfloat16):
        results(model, batch)
    assert not slow.names


def test_the_recorder_sees_what_pytorch_computes() -> None:
    model, batch = model_of(CONFIGURATIONS["sinusoidal"], SIZES["transformer"], dropout=0.1), batch_of(LENGTHS)
    with SlowProducts() as slow, torch.autocast("cpu", torch.bfloat16):
        results(model, batch)
    assert {"mm", "bmm"} <= slow.names


@pytest.mark.parametrize("size", SIZES)
def test_no_product_of_a_search_is_left_to_pytorch(size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    model = model_of(CONFIGURATIONS["sinusoidal"], SIZES[size], dropout=0.1).eval()
    with SlowProducts() as slow:
        (found,) = translate(model, [np.array([5, 6, 7])], Decoding(beam=2, max_length_b=2, precision="bf16"))
    assert found and not slow.names


def test_no_product_of_a_whole_run_is_left_to_pytorch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    monkeypatch.setattr(run_module, "_listen", lambda: lambda: False)  # the signals stay pytest's
    train, valid = (write_reversals(tmp_path / name, pairs=30, seed=1) for name in ("train", "valid"))
    names = {"model": "model.pt", "metrics": "metrics.jsonl", "record": "record.json", "state": "state"}
    asked = cell(precision="bf16", max_epochs=None, max_updates=2, validate_every=1)
    with SlowProducts() as slow:
        run_module.run(
            asked, train=train, valid=valid, **{key: tmp_path / name for key, name in names.items()}, threads=1
        )
    assert (tmp_path / "model.pt").exists() and not slow.names


def test_only_bfloat16_on_a_processor_can_lack_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not lacks_instructions("fp32", "cpu") and not lacks_instructions("bf16", "cuda")
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert lacks_instructions("bf16", "cpu")
    assert isinstance(products("bf16", "cpu"), Bf16Products)
    assert not isinstance(products("fp32", "cpu"), Bf16Products)
