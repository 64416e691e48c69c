"""Metrics of a training: JSON lines for the figures, TensorBoard for the eye."""

from __future__ import annotations

import json
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from wordorder.errors import WordorderError
from wordorder.integrity import digest


class Metrics:
    """Appends rows to ``path``; what an interrupted run wrote after its last save is cut off again.

    Args:
        path: The file of JSON lines.
        tensorboard: The folder of the event files.
        length: The bytes that the last save has seen.
        sha256: The checksum of these bytes; empty if the save was written by an earlier version.
        update: The number of updates at the last save.

    Raises:
        WordorderError: The file does not begin with the bytes that the last save has seen.
    """

    def __init__(self, path: Path, tensorboard: Path, *, length: int, sha256: str, update: int) -> None:
        self._path = path
        path.touch()
        if sha256 and digest(path, length) != sha256:
            raise WordorderError(
                f"{path} is damaged: it does not have the checksum in the saved state. Delete {path.parent} and run "
                "the same command again, which trains from the beginning.",
                code="damaged-file",
                path=path,
            )
        self._file = path.open("r+", encoding="utf-8")
        self._file.truncate(length)
        self._file.seek(length)
        self._board = SummaryWriter(str(tensorboard), purge_step=update + 1)

    def write(self, kind: str, update: int, epoch: int, values: dict[str, float]) -> None:
        self._file.write(json.dumps({"kind": kind, "update": update, "epoch": epoch, **values}) + "\n")
        for name, value in values.items():
            self._board.add_scalar(f"{kind}/{name}", value, update)

    def written(self) -> tuple[int, str]:
        """Return the number of bytes written so far, and their checksum."""
        self._file.flush()
        length = self._file.tell()
        return length, digest(self._path, length)

    def close(self) -> None:
        self._file.close()
        self._board.close()
