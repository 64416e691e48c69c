"""Tests of a GPU's code path on a machine without one: the host never waits, and numbers are those of a CPU."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

import elsewhere
from tiny_models import SIZE
from training_passes import CONFIGURATIONS, LENGTHS, PASSES, SIZES, batch_of, model_of, results, without_dropout
from wordorder.model.architectures.base import Translator
from wordorder.model.attention import base as attention
from wordorder.model.attention.sdpa import SDPA
from wordorder.model.objective import TranslationObjective
from wordorder.training.simulation import DEVICE, Counts, Dispatches, as_on_a_gpu


def counted(model: Translator) -> Counts:
    """Count a training pass on the device 'meta'."""
    objective = TranslationObjective(model, 0.1).to(DEVICE)
    with as_on_a_gpu(), Dispatches() as counter:
        loss, _ = objective(batch_of(LENGTHS).to(DEVICE))
        loss.backward()
    return counter.counts()


@pytest.mark.slow
@pytest.mark.parametrize(("size", "name"), PASSES)
def test_no_pass_waits_for_the_gpu(name: str, size: str) -> None:
    """Tables that grow with the longest sentence so far do so in the first pass."""
    model = model_of(CONFIGURATIONS[name], SIZES[size], dropout=0.1)
    if counted(model).waits_by_name:
        assert not counted(model).waits_by_name


def test_a_pass_that_waits_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(CONFIGURATIONS["none"], SIZE, dropout=0.0)
    forward = nn.LayerNorm.forward

    def asks(self: nn.LayerNorm, x: Tensor) -> Tensor:
        return forward(self, x) if bool(x.isfinite().all()) else x

    monkeypatch.setattr(nn.LayerNorm, "forward", asks)
    assert counted(model).waits_by_name == {"_local_scalar_dense": 12}


@pytest.fixture
def fused(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use fused attention for all encodings that it supports, on the simulated device."""
    monkeypatch.setattr(SDPA, "devices", frozenset({elsewhere.DEVICE.type}))
    attention.forget_choices()
    yield
    attention.forget_choices()


def moved(model: Translator) -> Translator:
    """Move a model to the simulated device, which makes new parameters; shared ones remain shared."""
    owners: dict[Tensor, list[tuple[nn.Module, str]]] = {}
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                owners.setdefault(parameter, []).append((module, name))
    model.to(elsewhere.DEVICE)
    for (first, own), *others in owners.values():
        for module, name in others:
            module._parameters[name] = first._parameters[own]
    return model


@pytest.mark.slow
@pytest.mark.parametrize(("size", "name"), [each for each in PASSES if "lstm" not in each[0]])
@pytest.mark.usefixtures("fused")
def test_loss_and_gradients_are_those_of_a_cpu(name: str, size: str) -> None:
    model, batch = without_dropout(model_of(CONFIGURATIONS[name], SIZES[size], dropout=0.0)), batch_of(LENGTHS)
    torch.manual_seed(0)
    expected = results(model, batch)
    with elsewhere.Elsewhere():
        torch.manual_seed(0)
        found = results(moved(model), batch.to(elsewhere.DEVICE))
        found = [each.to("cpu") for each in found]
    assert len(found) == len(expected)
    for own, theirs in zip(found, expected, strict=True):
        assert_close(own.detach(), theirs.detach(), rtol=1e-4, atol=1e-5)
