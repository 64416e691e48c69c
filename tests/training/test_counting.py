"""Tests of what an update sends to a GPU, counted on the device 'meta'."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from training_runs import cell, write_reversals
from wordorder.config.load import load_sizes, load_study
from wordorder.data.binary import ParallelCorpus
from wordorder.training.batches import ALONE
from wordorder.training.counting import count_update
from wordorder.training.simulation import DEVICE, Dispatches


@pytest.fixture(autouse=True)
def _no_deterministic_algorithms() -> Iterator[None]:
    """As on a GPU; other tests of the process may have demanded them."""
    mode = torch.get_deterministic_debug_mode()
    torch.set_deterministic_debug_mode("default")
    yield
    torch.set_deterministic_debug_mode(mode)


WAITS: dict[str, Callable[[Tensor], object]] = {
    "item": lambda x: x.sum().item(),
    "tolist": lambda x: [float(each) for each in x[0]],
    "question": lambda x: bool((x > 0).any()),
    "to the CPU": lambda x: x.to("cpu"),
    "copied to the CPU": lambda x: torch.zeros(2, 3).copy_(x),
    "from the CPU": lambda x: torch.zeros(2, 3).to(x.device),
    "copied from the CPU": lambda x: x.copy_(torch.zeros(2, 3)),
    "mask": lambda x: x[x > 0],
    "assignment by a mask": lambda x: x.__setitem__(x > 0, 1.0),
    "nonzero": lambda x: (x > 0).nonzero(),
    "index on the CPU": lambda x: x[torch.tensor([1, 0])],
    "list as an index": lambda x: x[:, [1]],
    "numbers of Python": lambda x: x + torch.tensor([1.0, 2.0, 3.0], device=x.device),
}
GOES_ON: dict[str, Callable[[Tensor], object]] = {
    "arithmetic": lambda x: (x @ x.T).softmax(-1).sum(),
    "from the CPU, unasked": lambda x: torch.zeros(2, 3).to(x.device, non_blocking=True),
    "index": lambda x: x[torch.zeros(2, dtype=torch.int64, device=x.device)],
    "index_select": lambda x: x.index_select(0, torch.zeros(2, dtype=torch.int64, device=x.device)),
    "masked_fill": lambda x: x.masked_fill(x > 0, 0),
    "scatter_add": lambda x: x.scatter_add(0, torch.zeros(2, 3, dtype=torch.int64, device=x.device), x),
    "number": lambda x: torch.where(x > 0, x, 0) * 3,
    "on the CPU": lambda x: torch.zeros(3).sum().item(),
}


@pytest.mark.parametrize("operation", WAITS)
def test_what_the_host_must_know_makes_it_wait(operation: str) -> None:
    x = torch.zeros(2, 3, device=DEVICE)
    with Dispatches() as counter:
        WAITS[operation](x)
    assert counter.counts().host_waits >= 1


@pytest.mark.parametrize("operation", GOES_ON)
def test_what_stays_on_the_device_does_not(operation: str) -> None:
    x = torch.zeros(2, 3, device=DEVICE)
    with Dispatches() as counter:
        GOES_ON[operation](x)
    assert not counter.counts().waits_by_name


def test_deterministic_sums_by_index_wait() -> None:
    mode = torch.get_deterministic_debug_mode()
    x = torch.zeros(2, 3, device=DEVICE)
    torch.set_deterministic_debug_mode("warn")
    try:
        with Dispatches() as counter:
            GOES_ON["scatter_add"](x)
    finally:
        torch.set_deterministic_debug_mode(mode)
    assert counter.counts().waits_by_name == {"scatter_add": 1}


def test_operations_of_the_device_are_counted_and_views_are_not_kernels() -> None:
    x = torch.zeros(2, 3, device=DEVICE)
    with Dispatches() as counter:
        (x.T + 1).relu()
        torch.zeros(2, 3) + 1
    counts = counter.counts()
    assert counts.by_name == {"permute": 1, "add": 1, "relu": 1}
    assert (counts.operations, counts.kernels) == (3, 2)


def test_an_update_is_counted_without_training_anything(tmp_path: Path) -> None:
    corpus = ParallelCorpus.open(write_reversals(tmp_path / "train", pairs=60, seed=1))
    one, two = (count_update(cell(batch_tokens=64, accumulate=number), corpus, limit=ALONE) for number in (1, 2))
    assert (one.micro_batches, two.micro_batches) == (1, 2)
    assert two.target_tokens > one.target_tokens
    assert one.report.host_waits == 1  # which reads the means
    assert one.update.kernels < one.update.operations < two.update.operations < 2 * one.update.operations
    names = one.update.by_name
    assert names["_scaled_dot_product_efficient_attention"] == 3  # as on a GPU
    assert names["_fused_adamw_"] == names["_foreach_norm"] == 1


@pytest.mark.parametrize("study", ["posnet", "opr"])
def test_an_update_of_a_base_model_stays_within_its_budget(study: str, tmp_path: Path) -> None:
    """Operations that the host hands to the device: an update is one pass of eight micro-batches."""
    corpus = ParallelCorpus.open(write_reversals(tmp_path / "train", pairs=900, seed=1))
    recipe = load_study(study, "config").recipe.model_copy(update={"batch_tokens": 512, "precision": "fp32"})
    assert recipe.accumulate == 8
    size = load_sizes("config")["base"].model_copy(update={"dim": 64, "ffn_dim": 128})  # as many operations, but faster
    asked = {name: cell(encoding={"type": name}).model_copy(update={"size": size, "recipe": recipe}) for name in NAMES}
    counts = {name: count_update(each, corpus) for name, each in asked.items()}
    apart = count_update(asked["sinusoidal"], corpus, limit=ALONE)
    assert [each.micro_batches for each in counts.values()] == [1] * len(NAMES)
    assert apart.micro_batches == 8 and apart.target_tokens == counts["sinusoidal"].target_tokens
    assert max(each.update.operations for each in counts.values()) <= 1600 < apart.update.operations / 7
    assert not any(each.update.host_waits for each in (*counts.values(), apart))


NAMES = ("sinusoidal", "opr")


def test_an_update_in_packed_passes_hands_over_fewer_operations(tmp_path: Path) -> None:
    corpus = ParallelCorpus.open(write_reversals(tmp_path / "train", pairs=900, seed=1))
    asked = cell(encoding={"type": "t5"}, batch_tokens=512, accumulate=8)
    apart, packed = count_update(asked, corpus, limit=ALONE), count_update(asked, corpus)
    assert (apart.micro_batches, packed.micro_batches) == (8, 1)
    assert packed.update.operations < apart.update.operations / 5 and not packed.update.host_waits
