"""Counts the operations and host waits of an update on a GPU, on a machine without a GPU.

The update runs on the simulated GPU of :mod:`wordorder.training.simulation`. The counts are those of the operations
that the host submits to the device in single precision. Mixed precision adds casts, which PyTorch does not perform
there. LSTMs are counted step by step, whereas cuDNN has one operation per layer. The counts do not predict time.
"""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch
from lightning_fabric import Fabric
from lightning_fabric.accelerators.cpu import CPUAccelerator
from lightning_fabric.strategies.single_device import SingleDeviceStrategy

from wordorder.config.models import Cell
from wordorder.data.binary import ParallelCorpus
from wordorder.model.checkpoint import build_model
from wordorder.model.objective import TranslationObjective
from wordorder.training.batches import PassLimit
from wordorder.training.loop import Trainer
from wordorder.training.memory import pass_limit
from wordorder.training.simulation import DEVICE, Counts, Dispatches, as_on_a_gpu
from wordorder.training.state import StateDirectory

ASSUMED_MEMORY = 80_000_000_000  # The free bytes of a GPU where there is none.


class _Meta(CPUAccelerator):
    """Lightning's accelerator for a device that needs no set-up."""

    def setup_device(self, device: torch.device) -> None:
        """Accept any device."""


@dataclass(frozen=True)
class Update:
    """Counts of one update of a training run and of the report after it.

    Attributes:
        update: The counts of the update.
        report: The counts of the report.
        micro_batches: The number of micro-batches of the update, after joining.
        target_tokens: The number of target tokens of the update.
    """

    update: Counts
    report: Counts
    micro_batches: int
    target_tokens: int


def count_update(cell: Cell, corpus: ParallelCorpus, *, limit: PassLimit | None = None) -> Update:
    """Count the operations and host waits of an update, without a GPU and without training the model.

    A first update, which fills the tables of the encoding and the state of the optimizer, is not counted.

    Args:
        cell: The training run; its recipe sets the number and size of the micro-batches.
        corpus: The training pairs, with reordered positions if the encoding needs them.
        limit: What one pass may hold; by default what :func:`.pass_limit` gives this machine's GPU, or one of 80 GB.

    Returns:
        The counts.
    """
    model = build_model(cell, corpus.vocabulary_size)
    if limit is None:
        gpu = torch.device("cuda")
        limit = pass_limit(gpu, model, free=None if torch.cuda.is_available() else ASSUMED_MEMORY)
    fabric = Fabric(strategy=SingleDeviceStrategy(DEVICE, accelerator=_Meta()))
    with tempfile.TemporaryDirectory() as folder, as_on_a_gpu():
        trainer = Trainer(
            cell,
            fabric,
            TranslationObjective(model, cell.recipe.label_smoothing),
            train=corpus,
            valid=corpus,
            state=StateDirectory(Path(folder)),
            save_seconds=math.inf,
            stop_requested=lambda: False,
            pass_limit=limit,
        )
        prepared = trainer.prepare(trainer.groups()[0])
        with Dispatches():
            trainer.update(prepared)
        before = trainer.counters.target_tokens
        with Dispatches() as of_update:
            trainer.update(prepared)
        with Dispatches() as of_report:
            trainer.report()
        tokens = trainer.counters.target_tokens - before
        return Update(of_update.counts(), of_report.counts(), len(prepared.batches), tokens)
