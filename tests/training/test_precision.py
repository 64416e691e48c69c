"""Tests of half precision: gradients are scaled, and updates whose gradients overflow are skipped."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric
from lightning_fabric.plugins import MixedPrecision
from lightning_fabric.plugins.environments import LightningEnvironment
from torch import nn

from training_runs import VOCABULARY, cell, write_reversals
from wordorder.data.binary import ParallelCorpus
from wordorder.model.checkpoint import build_model
from wordorder.model.objective import TranslationObjective
from wordorder.training import device
from wordorder.training.loop import Trainer, steps_beside_parameters
from wordorder.training.state import StateDirectory


def half_precision(scale: float) -> Fabric:
    """Use fp16 as on a GPU; Fabric itself would use bfloat16 on a CPU."""
    scaler = torch.amp.GradScaler("cpu", init_scale=scale)
    return Fabric(
        accelerator="cpu", devices=1, plugins=[LightningEnvironment(), MixedPrecision("16-mixed", "cpu", scaler)]
    )


@pytest.mark.parametrize("clip_norm", [0.0, 1.0])
def test_a_training_in_half_precision_learns(tmp_path: Path, clip_norm: float) -> None:
    corpora = [
        ParallelCorpus.open(write_reversals(tmp_path / name, pairs=200, seed=seed))
        for seed, name in enumerate(("train", "valid"))
    ]
    asked = cell(precision="fp16", clip_norm=clip_norm, max_epochs=None, max_updates=100, validate_every=50)
    (tmp_path / "state").mkdir()
    torch.manual_seed(1)
    trainer = Trainer(
        asked,
        half_precision(scale=2.0**40),  # the first updates overflow
        TranslationObjective(build_model(asked, VOCABULARY), 0.1),
        train=corpora[0],
        valid=corpora[1],
        state=StateDirectory(tmp_path / "state"),
        save_seconds=math.inf,
        stop_requested=lambda: False,
    )
    before, _ = trainer.validation_loss()
    assert trainer.run().status == "finished"
    rows = [json.loads(line) for line in (tmp_path / "state/metrics.jsonl").read_text().splitlines()]
    assert [row["loss"] for row in rows if row["kind"] == "valid"][-1] < before - 0.3
    assert all(math.isfinite(row["gradient_norm"]) for row in rows if row["kind"] == "train")
    scaler = trainer.fabric.strategy.precision.state_dict()
    assert 0 < scaler["scale"] < 2.0**40


@pytest.mark.parametrize("fused", [True, False])
def test_the_steps_of_a_fused_optimizer_lie_where_its_parameters_do(fused: bool) -> None:
    """The device 'meta' stands for a GPU, to which ZeRO's share of a loaded state would not come."""
    model = nn.Linear(2, 2, device="meta")
    optimizer = torch.optim.AdamW(model.parameters())
    optimizer.param_groups[0]["fused"] = fused
    for parameter in model.parameters():
        optimizer.state[parameter] = {"step": torch.tensor(3.0), "exp_avg": torch.zeros_like(parameter)}
    steps_beside_parameters(optimizer)
    assert {state["step"].device.type for state in optimizer.state.values()} == {"meta" if fused else "cpu"}


@pytest.fixture
def settings_of_the_process() -> Iterator[None]:
    """Restore the settings that preparing a device changes."""
    mode, precision = torch.get_deterministic_debug_mode(), torch.get_float32_matmul_precision()
    cudnn, tf32 = torch.backends.cuda.cudnn_sdp_enabled(), torch.backends.cudnn.allow_tf32
    torch.set_deterministic_debug_mode("default")
    yield
    torch.set_deterministic_debug_mode(mode)
    torch.set_float32_matmul_precision(precision)
    torch.backends.cuda.enable_cudnn_sdp(cudnn)
    torch.backends.cudnn.allow_tf32 = tf32


@pytest.mark.usefixtures("settings_of_the_process")
def test_a_gpu_plans_no_attention_and_sorts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    device.prepare("bf16")
    assert not torch.backends.cuda.cudnn_sdp_enabled()
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.get_float32_matmul_precision() == "highest"
    assert torch.backends.cudnn.allow_tf32  # LSTMs have no automatic precision
    device.prepare("fp32")
    assert not torch.backends.cudnn.allow_tf32


@pytest.mark.usefixtures("settings_of_the_process")
def test_a_cpu_is_deterministic() -> None:
    device.prepare("bf16")
    assert torch.are_deterministic_algorithms_enabled() and torch.is_deterministic_algorithms_warn_only_enabled()


def test_a_fused_optimizer_has_its_gradients_unscaled_and_clipped(tmp_path: Path) -> None:
    """Scaled gradients give the same norm and weights as unscaled ones; if they overflow, no weight changes."""
    corpus = ParallelCorpus.open(write_reversals(tmp_path / "train", pairs=40, seed=1))
    asked = cell(clip_norm=0.5, max_epochs=None, max_updates=3)
    found = []
    for number, fabric in enumerate((Fabric(accelerator="cpu", devices=1), half_precision(2.0**10), overflowing())):
        torch.manual_seed(1)
        model = build_model(asked, VOCABULARY)
        before = [parameter.detach().clone() for parameter in model.parameters()]
        (tmp_path / f"state{number}").mkdir()
        trainer = Trainer(
            asked, fabric, TranslationObjective(model, 0.1), train=corpus, valid=corpus,
            state=StateDirectory(tmp_path / f"state{number}"), save_seconds=math.inf, stop_requested=lambda: False,
        )  # fmt: skip
        assert trainer.optimizer.param_groups[0]["fused"]
        torch.manual_seed(1)
        trainer.update(trainer.prepare(trainer.groups()[0]))
        moved = torch.cat([(own - old).flatten() for own, old in zip(model.parameters(), before, strict=True)])
        found.append((float(trainer._window.sums[2]), moved.detach()))
    (norm, step), (scaled_norm, scaled_step), (lost_norm, no_step) = found
    assert scaled_norm == pytest.approx(norm, rel=0.05)
    cosine = torch.nn.functional.cosine_similarity(step, scaled_step, dim=0)
    assert cosine > 0.9 and norm > 0.5
    assert lost_norm == 0 and not no_step.any()


def overflowing() -> Fabric:
    return half_precision(scale=2.0**80)
