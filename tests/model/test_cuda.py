"""Tests on a real GPU, skipped on machines without one: numbers are those of a CPU, and the host never waits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from tiny_models import full, positions_of, sentences, step_by_step, tiny_model
from training_passes import CONFIGURATIONS, LENGTHS, SIZES, batch_of, model_of, results, without_dropout
from wordorder.encodings.base import Positions
from wordorder.errors import WordorderError
from wordorder.model.attention import base as attention
from wordorder.model.objective import TranslationObjective
from wordorder.training.device import prepare

if not torch.cuda.is_available():
    pytest.skip("PyTorch finds no GPU", allow_module_level=True)

GPU = torch.device("cuda")
NEAR = {"fp32": 1e-5, "bf16": 1e-1}  # relative differences from sums in another order, and from 8 bits


@pytest.fixture(autouse=True)
def settings_of_a_training() -> None:
    """Set up the process as a training in fp32 does."""
    prepare("fp32")


@pytest.fixture
def may_wait_again() -> Iterator[None]:
    """Allow, after the test, operations for which the host waits."""
    yield
    torch.cuda.set_sync_debug_mode("default")


def assert_near(found: list[Tensor], expected: list[Tensor], near: float) -> None:
    """Compare all numbers together: the norm of the differences, relative to the norm of what is expected."""
    assert [each.shape for each in found] == [each.shape for each in expected]
    own, theirs = (torch.cat([each.detach().float().cpu().flatten() for each in side]) for side in (found, expected))
    assert float((own - theirs).norm() / theirs.norm()) <= near


@pytest.mark.parametrize("precision", NEAR)
@pytest.mark.parametrize("backend", ["", "eager"])
@pytest.mark.parametrize("name", CONFIGURATIONS)
@pytest.mark.parametrize("size", SIZES)
def test_loss_and_gradients_are_those_of_a_cpu(
    name: str, size: str, backend: str, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(attention.VARIABLE, backend)
    model, batch = without_dropout(model_of(CONFIGURATIONS[name], SIZES[size], dropout=0.0)), batch_of(LENGTHS)
    torch.manual_seed(0)
    expected = results(model, batch)
    torch.manual_seed(0)
    with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16"):
        found = results(model.to(GPU), batch.to(GPU))
    assert_near(found, expected, NEAR[precision])


@pytest.mark.parametrize("name", CONFIGURATIONS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.usefixtures("may_wait_again")
def test_the_host_never_waits(name: str, size: str) -> None:
    """Tables that grow with the longest sentence so far do so in the first pass, and libraries are loaded in it."""
    objective = TranslationObjective(model_of(CONFIGURATIONS[name], SIZES[size], dropout=0.1), 0.1).to(GPU)
    batch = batch_of(LENGTHS).to(GPU)
    for mode in ("default", "error"):
        torch.cuda.set_sync_debug_mode(mode)
        loss, _ = objective(batch)
        loss.backward()


@pytest.mark.parametrize("name", CONFIGURATIONS)
@torch.no_grad()
def test_translation_step_by_step_has_the_numbers_of_a_cpu(name: str) -> None:
    try:
        model = tiny_model(CONFIGURATIONS[name])
    except WordorderError as error:
        pytest.skip(str(error))
    source, target = sentences([7, 5, 6]), sentences([6, 6, 6], seed=1)
    expected = full(model, source, target)
    model.to(GPU)
    positions = Positions.range(source.size(1), on=GPU).with_reordered(positions_of(source).reordered.to(GPU))
    memory = model.encode(source.to(GPU), positions=positions)
    assert_near([step_by_step(model, target.to(GPU), memory)], [expected], NEAR["fp32"])
