"""Measures the speed and memory of a model's updates on this machine's hardware in a few seconds of training.

The updates are those of a training run of the workflow. The weights are random at the start, and the probe neither
validates nor keeps the model.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from numpy.typing import NDArray

from wordorder.config.models import Cell
from wordorder.data.binary import ParallelCorpus, write_corpus
from wordorder.data.positions import SourcePositions, write_positions
from wordorder.model.batch import END
from wordorder.model.checkpoint import build_model, count_parameters
from wordorder.model.objective import TranslationObjective
from wordorder.training import device
from wordorder.training.counting import count_update
from wordorder.training.loop import Trainer
from wordorder.training.memory import pass_limit
from wordorder.training.processes import Processes
from wordorder.training.record import machine, peak_memory
from wordorder.training.state import StateDirectory
from wordorder.training.usage import corpus_ratio, operations_per_token

# The mean number of subwords per side of simulated sentences, as in the WMT data.
MEAN_LENGTH = 27
_PAIRS, _SHAPE = 20_000, 3.0
_WARM_UP_UPDATES, _WARM_UP_SHARE = 3, 0.25
_NEVER = 1 << 40  # A number of updates that is never reached.


class _TimeIsUp(Exception):
    pass


class _Stopwatch:
    """Measures all updates except the first few; the trainer calls it after each update.

    Args:
        seconds: The time for all updates after the first; at least one is measured, however long it takes.
        where: The device.
    """

    def __init__(self, seconds: float, where: torch.device) -> None:
        self.seconds, self.where = seconds, where
        self.trainer: Trainer
        self.updates = 0
        self._first: float | None = None
        self._begun: tuple[int, int, float] | None = None
        self.measured: dict[str, float] = {}

    def __call__(self) -> bool:
        self.updates += 1
        now, tokens = time.perf_counter(), self.trainer.counters.target_tokens
        if self._first is None:
            self._first = now
        if self._begun is None:
            warm = self.updates >= _WARM_UP_UPDATES or now - self._first > _WARM_UP_SHARE * self.seconds
            if warm:
                self._synchronise()
                self._begun = self.updates, tokens, time.perf_counter()
        elif now - self._first > self.seconds:
            self._synchronise()
            updates, before, started = self._begun
            seconds = time.perf_counter() - started
            self.measured = {
                "updates": self.updates - updates,
                "seconds": round(seconds, 3),
                "target_tokens_per_second": round((tokens - before) / seconds, 1),
            }
            raise _TimeIsUp
        return False

    def _synchronise(self) -> None:
        if self.where.type == "cuda":
            torch.cuda.synchronize(self.where)


def probe(
    cells: Mapping[str, Cell],
    *,
    corpus: Path | None,
    vocabulary_size: int,
    seconds: float | None,
    threads: int | None = None,
) -> dict[str, Any]:
    """Measure a few updates of several models on this machine's hardware, or count the operations of an update.

    Args:
        cells: The training runs by encoding; the first is always measured, the others while time remains.
        corpus: The binary corpus to train on; random sentences if it is None.
        vocabulary_size: The vocabulary size of random sentences.
        seconds: The time for all measurements; None counts operations and measures nothing.
        threads: The CPU threads; by default PyTorch's choice.

    Returns:
        For each encoding, the number of passes of an update, and either its counts or the tokens per second, the GPU
        memory and the floating-point operations per token; instead of these, the reason for a failure. Also the
        hardware and the process memory.
    """
    device.prepare()
    if threads:
        torch.set_num_threads(threads)
    found: dict[str, dict[str, Any]] = {}
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        data = simulated_corpus(folder / "corpus", vocabulary_size) if corpus is None else ParallelCorpus.open(corpus)
        reordered = any(cell.encoding.needs_reordered for cell in cells.values())
        positions = _reversed(folder / "positions", data) if reordered else None
        ends = time.monotonic() + (seconds or 0)
        for number, (name, cell) in enumerate(cells.items()):
            left = ends - time.monotonic()
            if seconds is not None and number and left <= 0:
                found[name] = {"failed": "no time was left"}
                continue
            print(f"{name} …", file=sys.stderr, flush=True)
            data.positions = positions if cell.encoding.needs_reordered else None
            if seconds is None:
                found[name] = _counts(cell, data)
            else:
                found[name] = timed_updates(cell, data, folder / str(number), max(left, 0.0) / (len(cells) - number))
        memory = peak_memory()["process_bytes"]
    hardware = machine()["hardware"]
    on_gpu = torch.cuda.is_available()
    return {
        "measured": seconds is not None,
        "device": "cuda" if on_gpu else "cpu",
        "hardware": hardware["gpus"][0] if on_gpu else hardware["processor"],
        "threads": torch.get_num_threads(),
        "data": "prepared" if corpus is not None else "simulated",
        "process_bytes": memory,
        "encodings": found,
    }


def _counts(cell: Cell, corpus: ParallelCorpus) -> dict[str, Any]:
    """Count the passes, operations and host waits of an update on a GPU."""
    counted = count_update(cell, corpus)
    return {
        "passes": counted.micro_batches,
        "operations": counted.update.operations,
        "host_waits": counted.update.host_waits,
    }


def timed_updates(cell: Cell, corpus: ParallelCorpus, folder: Path, seconds: float) -> dict[str, Any]:
    """Measure one training run, whose state is kept in ``folder``."""
    endless = {"max_updates": _NEVER, "max_epochs": None, "validate_every": _NEVER, "patience": None}
    cell = cell.model_copy(update={"recipe": cell.recipe.model_copy(update=endless)})
    fabric = Fabric(
        devices=1, precision=device.fabric_precision(cell.recipe.precision), plugins=[LightningEnvironment()]
    )
    fabric.launch()
    fabric.seed_everything(cell.seed, verbose=False)
    _free()
    if fabric.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(fabric.device)
    stopwatch, processes = _Stopwatch(seconds, fabric.device), Processes(fabric)
    processes.is_first = False  # No process shows the progress of these updates.
    trainer = None
    try:
        model = build_model(cell, corpus.vocabulary_size)
        operations = operations_per_token(model, corpus_ratio(corpus))
        folder.mkdir()
        stopwatch.trainer = trainer = Trainer(
            cell,
            fabric,
            TranslationObjective(model, cell.recipe.label_smoothing),
            train=corpus,
            valid=corpus,
            state=StateDirectory(folder),
            save_seconds=float("inf"),
            stop_requested=stopwatch,
            processes=processes,
            pass_limit=pass_limit(fabric.device, model),
        )
        passes = len(trainer.prepare(trainer.groups()[0]).batches)
        trainer.run()
    except _TimeIsUp:
        pass
    except torch.OutOfMemoryError:
        return {"failed": "the memory of the GPU is too small"}
    finally:
        if trainer is not None and trainer.metrics:
            trainer.metrics.close()
    measured: dict[str, Any] = {
        **stopwatch.measured,
        "passes": passes,
        "flops_per_token": operations,
        "parameters": count_parameters(model)["total"],
    }
    if fabric.device.type == "cuda":
        measured["gpu_bytes"] = torch.cuda.max_memory_reserved(fabric.device)
    return measured


def _free() -> None:
    """Free the memory of earlier models."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def simulated_corpus(folder: Path, vocabulary_size: int) -> ParallelCorpus:
    """Write random sentences whose lengths are distributed like those of real sentences."""
    generator = np.random.default_rng(1)
    lengths = np.clip(generator.gamma(_SHAPE, MEAN_LENGTH / _SHAPE, (_PAIRS, 1)), 1, 4 * MEAN_LENGTH)
    # The two sides of a pair have about the same length.
    sides = np.maximum(1, np.rint(lengths * generator.uniform(0.85, 1.15, (_PAIRS, 2)))).astype(int)

    def sentence(length: int) -> Sequence[int]:
        tokens: list[int] = generator.integers(END + 1, vocabulary_size, length).tolist()
        return tokens

    write_corpus(folder, ((sentence(s), sentence(t)) for s, t in sides.tolist()), vocabulary_size=vocabulary_size)
    return ParallelCorpus.open(folder)


def _reversed(folder: Path, corpus: ParallelCorpus) -> SourcePositions:
    """Write reversed source positions; the speed does not depend on their values."""
    rows: Sequence[NDArray[np.int64]] = [np.arange(length)[::-1] for length in corpus.source_lengths]
    write_positions(folder, rows, kind="reversed", corpus=corpus)
    return SourcePositions.open(folder, corpus)
