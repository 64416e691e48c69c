"""Metrics of a training run: JSON lines for figures, TensorBoard for users."""

from __future__ import annotations

import json
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from wordorder.errors import WordorderError
from wordorder.integrity import digest


class Metrics:
    """Writer of the metrics of one training run.

    It removes the rows that an interrupted process wrote after its last save.

    Args:
        path: The file of JSON lines.
        tensorboard: The folder of the event files.
        length: The length of the file in bytes at the last save.
        sha256: The checksum of these bytes; empty if an older version wrote the save.
        update: The number of updates at the last save.

    Raises:
        WordorderError: The file does not start with the bytes of the last save.
    """

    def __init__(self, path: Path, tensorboard: Path, *, length: int, sha256: str, update: int) -> None:
        self._path = path
        path.touch()
        if sha256 and digest(path, length) != sha256:
            raise WordorderError(
                f"{path} is damaged: its checksum is not that of the saved state. Delete {path.parent} and run the "
                "same command again, which trains from the beginning.",
                code="damaged-file",
                path=path,
            )
        self._file = path.open("r+", encoding="utf-8")
        self._file.truncate(length)
        self._file.seek(length)
        self._board = SummaryWriter(str(tensorboard), purge_step=update + 1)

    def write(self, kind: str, update: int, epoch: int, values: dict[str, float]) -> None:
        """Write one row.

        Args:
            kind: 'train' or 'valid'.
            update: The number of updates so far.
            epoch: The number of the epoch, from 0.
            values: The metrics by name.
        """
        self._file.write(json.dumps({"kind": kind, "update": update, "epoch": epoch, **values}) + "\n")
        for name, value in values.items():
            self._board.add_scalar(f"{kind}/{name}", value, update)

    def written(self) -> tuple[int, str]:
        """Return the number of bytes written so far and their checksum."""
        self._file.flush()
        length = self._file.tell()
        return length, digest(self._path, length)

    def close(self) -> None:
        """Close the files."""
        self._file.close()
        self._board.close()
