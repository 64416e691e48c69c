"""Half precision: gradients are scaled, and updates whose gradients overflow are left out."""

from __future__ import annotations

import json
import math
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
from wordorder.training.loop import Trainer, steps_beside_parameters
from wordorder.training.state import StateDirectory


def half_precision(scale: float) -> Fabric:
    """As on a GPU: Fabric itself takes bfloat16 on a CPU."""
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


def test_the_steps_of_an_optimizer_lie_where_its_parameters_do() -> None:
    """The device 'meta' stands for a GPU, to which ZeRO's share of a loaded state would not come."""
    model = nn.Linear(2, 2, device="meta")
    optimizer = torch.optim.AdamW(model.parameters())
    for parameter in model.parameters():
        optimizer.state[parameter] = {"step": torch.tensor(3.0), "exp_avg": torch.zeros_like(parameter)}
    steps_beside_parameters(optimizer)
    assert {state["step"].device.type for state in optimizer.state.values()} == {"meta"}
