"""The directory that lets a training survive anything, Snakemake's deletion of outputs included.

lock            held while a process trains here
stamp           what is being trained; state of anything else is thrown away
last.pt         everything needed to go on
checkpoint-N    weights after update N, for averaging
finished/       model, metrics and record of a training that has ended
tensorboard/    event files
progress.json   how far it is, for 'wordorder status'
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from wordorder.errors import WordorderError
from wordorder.files import atomic, read_text, reading, remove, remove_leftovers, write_json, write_text
from wordorder.integrity import Checksum, check_inside
from wordorder.locks import locked
from wordorder.model.checkpoint import load_tensors, save_tensors


class StateDirectory:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.finished = path / "finished"
        self.tensorboard = path / "tensorboard"
        self.metrics = path / "metrics.jsonl"
        self.lock = path / "lock"
        self._progress = path / "progress.json"
        self._last = path / "last.pt"
        self.remedy = f"Delete {path} and run the same command again, which trains from the beginning."

    def locked(self, stop_requested: Callable[[], bool] = lambda: False) -> AbstractContextManager[None]:
        """Keep every other process out, and wait for one that is in; see :func:`wordorder.locks.locked`."""
        return locked(self.lock, lambda taken: (taken, stop_requested()))

    def claim(self, stamp: str) -> bool:
        """Make this directory the state of ``stamp``. Returns whether state of something else was thrown away.

        The lock must be held, since what a killed process has left half-written is removed too.
        """
        remove_leftovers(self.path)
        file = self.path / "stamp"
        if file.exists() and read_text(file) == stamp:
            return False
        stale = file.exists()
        file.unlink(missing_ok=True)  # before anything else, so that what an interruption leaves is nobody's state
        for entry in self.path.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.stem != self.lock.name:  # neither the lock nor its owner
                entry.unlink()
        write_text(file, stamp)
        return stale

    def save(self, state: dict[str, Any]) -> None:
        save_tensors(self._last, state)

    def load(self) -> dict[str, Any] | None:
        """The last saved state, or None before the first."""
        if not self._last.exists():
            return None
        state: dict[str, Any] = load_tensors(self._last, self.remedy)
        return state

    def report_progress(self, progress: dict[str, Any]) -> None:
        write_json(self._progress, progress)

    def save_checkpoint(self, update: int, weights: dict[str, Tensor], *, keep: int) -> None:
        """Add a checkpoint and drop all but the ``keep`` newest."""
        save_tensors(self.path / f"checkpoint-{update:09d}.pt", weights)
        for old in self.checkpoints()[:-keep]:
            old.unlink()

    def checkpoints(self) -> list[Path]:
        """Oldest first."""
        return sorted(self.path.glob("checkpoint-*.pt"))

    def publish(self, outputs: dict[str, Path]) -> None:
        """Put the files of ``finished/`` (by name) where the outputs belong.

        They are links where the file system allows it, so that Snakemake may delete an output and cost nothing.
        """
        for name, output in outputs.items():
            with atomic(output, checksum=_checksum(name)) as temporary:
                try:
                    os.link(self.finished / name, temporary)
                except OSError:
                    shutil.copyfile(self.finished / name, temporary)
                os.utime(temporary)

    def discard_damaged(self) -> None:
        """Remove ``finished/`` if one of its files is damaged, so that the model is trained again."""
        try:
            for file in self.finished.glob("[!.]*"):
                with reading(file):
                    if _checksum(file.name) == "inside":
                        check_inside(file, "It is removed, and the model is trained again.")
        except WordorderError as error:
            print(f"wordorder: warning: {error}", file=sys.stderr)
            shutil.rmtree(self.finished)

    def clean(self) -> None:
        """Remove what only an unfinished training needs."""
        for file in (self._last, self.metrics, self._progress, *self.checkpoints()):
            remove(file)


def _checksum(name: str) -> Checksum:
    return "inside" if name.endswith(".pt") else "beside"


def average(checkpoints: list[Path], remedy: str = "") -> dict[str, Tensor]:
    """The mean of the weights, summed in double precision, in the order given."""
    total: dict[str, Tensor] = {}
    kinds: dict[str, torch.dtype] = {}
    for path in checkpoints:
        for name, tensor in load_tensors(path, remedy).items():
            kinds[name] = tensor.dtype
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
    return {name: (tensor / len(checkpoints)).to(kinds[name]) for name, tensor in total.items()}
