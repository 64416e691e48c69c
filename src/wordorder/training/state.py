"""The folder of a training run's saved state, which survives crashes and Snakemake's deletion of outputs.

lock            held while a process trains here
stamp           identifies the run; the state of any other run is discarded
valid           identifies the validation set of an unfinished run
last.pt         everything that is needed to resume
checkpoint-N    weights after update N, for averaging
finished/       model, metrics and record of a finished run
tensorboard/    event files
progress.json   progress, for 'wordorder status'
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from wordorder.errors import WordorderError
from wordorder.files import atomic, read_text, reading, remove, remove_leftovers, write_json, write_text
from wordorder.integrity import Checksum, check_inside
from wordorder.model.checkpoint import load_tensors, save_tensors
from wordorder.training.writer import Writer


class StateDirectory:
    """The folder of a training run's saved state.

    Args:
        path: The folder.
        background: Whether a thread writes states and checkpoints while the run continues.
    """

    def __init__(self, path: Path, *, background: bool = False) -> None:
        self.path = path
        self._writer = Writer(background=background)
        self.finished = path / "finished"
        self.tensorboard = path / "tensorboard"
        self.metrics = path / "metrics.jsonl"
        self.lock = path / "lock"
        self._progress = path / "progress.json"
        self._last = path / "last.pt"
        self._kept: list[int] = []  # the updates of the checkpoints to average, oldest first
        self.remedy = f"Delete {path} and run the same command again, which trains from the beginning."

    def claim(self, stamp: str, earlier: str | None = None) -> bool:
        """Assign the folder to a run, and discard the state of any other run.

        The caller must hold the lock, because half-written files of a killed process are removed too.

        Args:
            stamp: The identification of the run.
            earlier: The identification that an earlier version gave the same run.

        Returns:
            Whether the state of another run was discarded.
        """
        remove_leftovers(self.path)
        file = self.path / "stamp"
        found = read_text(file) if file.exists() else None
        if found == stamp:
            return False
        if found is not None and found == earlier:
            write_text(file, stamp)
            return False
        stale = found is not None
        file.unlink(missing_ok=True)  # This comes first: after an interruption, the remaining files belong to no run.
        for entry in self.path.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.stem != self.lock.name:  # This keeps the lock and the file that names its holder.
                entry.unlink()
        write_text(file, stamp)
        return stale

    def begin(self, valid: str) -> bool:
        """Prepare an unfinished run, and discard what was saved with another validation set.

        Its losses cannot be compared with those of the present set, so that they must not choose when to stop.

        Args:
            valid: The identification of the validation set.

        Returns:
            Whether a saved state was discarded.
        """
        file = self.path / "valid"
        other = file.exists() and read_text(file) != valid
        if other:
            self.clean()
            if self.tensorboard.exists():
                shutil.rmtree(self.tensorboard)
        write_text(file, valid)
        return other

    def save(self, state: dict[str, Any]) -> None:
        """Replace the last saved state. An error of a background write is raised at a later save or :meth:`wait`."""
        self._writer.run(lambda copies: save_tensors(self._last, copies), state)

    def wait(self) -> None:
        """Wait until all states and checkpoints are on the disk.

        Raises:
            OSError: One of them could not be written.
        """
        self._writer.wait()

    def load(self) -> dict[str, Any] | None:
        """Load the last saved state.

        Returns:
            The state; None before the first save.

        Raises:
            WordorderError: The file is damaged.
        """
        if not self._last.exists():
            return None
        state: dict[str, Any] = load_tensors(self._last, self.remedy)
        return state

    def report_progress(self, progress: dict[str, Any]) -> None:
        """Write the progress for 'wordorder status'."""
        write_json(self._progress, progress)

    def save_checkpoint(self, update: int, weights: dict[str, Tensor], *, keep: int) -> None:
        """Add a checkpoint and remove all except the ``keep`` newest."""
        self._kept = sorted({*self._kept, update})[-keep:]
        kept = [self._checkpoint(each) for each in self._kept]

        def write(copies: dict[str, Tensor]) -> None:
            save_tensors(self._checkpoint(update), copies)
            for old in self._checkpoints():
                if old not in kept:
                    old.unlink()

        self._writer.run(write, weights)

    @property
    def kept(self) -> list[int]:
        """The updates of the kept checkpoints, which are a part of the saved state."""
        return list(self._kept)

    def keep(self, updates: list[int] | None) -> None:
        """Continue with the checkpoints of a saved state.

        Args:
            updates: Their updates; None if an earlier version saved the state without them, so that all files count.
        """
        names = [file.stem.removeprefix("checkpoint-") for file in self._checkpoints()]
        self._kept = [int(name) for name in names if name.isdecimal()] if updates is None else updates

    def checkpoints(self) -> list[Path]:
        """Return the kept checkpoints, oldest first.

        Raises:
            WordorderError: One of them is missing, for example because only a part of the folder was copied.
        """
        self.wait()
        kept = [self._checkpoint(update) for update in self._kept]
        for file in kept:
            if not file.exists():
                raise WordorderError(
                    f"{file} is missing, but the finished model is the average of {len(kept)} checkpoints, and this is "
                    f"one of them. Put the file back and run the same command again. If it is lost: {self.remedy}",
                    code="missing-file",
                    path=file,
                )
        return kept

    def _checkpoint(self, update: int) -> Path:
        return self.path / f"checkpoint-{update:09d}.pt"

    def _checkpoints(self) -> list[Path]:
        return sorted(self.path.glob("checkpoint-*.pt"))

    def publish(self, outputs: dict[str, Path]) -> None:
        """Copy the files of ``finished/`` to the outputs.

        If the file system supports it, the outputs are hard links, so that Snakemake's deletion of an output loses
        nothing.

        Args:
            outputs: The path of each output, by its name in ``finished/``.
        """
        for name, output in outputs.items():
            with atomic(output, checksum=_checksum(name)) as temporary:
                try:
                    os.link(self.finished / name, temporary)
                except OSError:
                    shutil.copyfile(self.finished / name, temporary)
                os.utime(temporary)

    def discard_damaged(self, names: Iterable[str]) -> None:
        """Remove ``finished/`` with a warning if a file is missing or damaged; the model is then trained again.

        Args:
            names: The names of its files.
        """
        if not self.finished.exists():
            return
        try:
            for name in names:
                file = self.finished / name
                if not file.exists():
                    raise WordorderError(
                        f"{file} is missing, although its training has finished.",
                        code="missing-file",
                        path=file,
                    )
                with reading(file):
                    if _checksum(file.name) == "inside":
                        check_inside(file, "The next training writes it again.")
        except WordorderError as error:
            print(f"wordorder: warning: {error}", file=sys.stderr)
            print(f"wordorder: {self.finished} is removed, and the model is trained again.", file=sys.stderr)
            shutil.rmtree(self.finished)

    def clean(self) -> None:
        """Remove the files that only an unfinished run needs."""
        self.wait()
        self._kept = []
        for file in (self._last, self.metrics, self._progress, *self._checkpoints()):
            remove(file)


def _checksum(name: str) -> Checksum:
    return "inside" if name.endswith(".pt") else "beside"


def average(checkpoints: list[Path], remedy: str = "") -> dict[str, Tensor]:
    """Average the weights of checkpoints in double precision, summed in the given order.

    Args:
        checkpoints: The files of the checkpoints, at least one.
        remedy: The end of the message if a file is damaged.

    Returns:
        The mean weights by name, in their original precision.

    Raises:
        WordorderError: A file is damaged.
    """
    total: dict[str, Tensor] = {}
    kinds: dict[str, torch.dtype] = {}
    for path in checkpoints:
        for name, tensor in load_tensors(path, remedy).items():
            kinds[name] = tensor.dtype
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
    return {name: (tensor / len(checkpoints)).to(kinds[name]) for name, tensor in total.items()}
