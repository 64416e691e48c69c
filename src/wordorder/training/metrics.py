"""Metrics of a training: JSON lines for the figures, TensorBoard for the eye."""

from __future__ import annotations

import json
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter


class Metrics:
    """Appends rows to ``path``; what an interrupted run wrote after its last save is cut off again."""

    def __init__(self, path: Path, tensorboard: Path, *, length: int, update: int) -> None:
        path.touch()
        self._file = path.open("r+", encoding="utf-8")
        self._file.truncate(length)
        self._file.seek(length)
        self._board = SummaryWriter(str(tensorboard), purge_step=update + 1)

    def write(self, kind: str, update: int, epoch: int, values: dict[str, float]) -> None:
        self._file.write(json.dumps({"kind": kind, "update": update, "epoch": epoch, **values}) + "\n")
        for name, value in values.items():
            self._board.add_scalar(f"{kind}/{name}", value, update)

    def length(self) -> int:
        """Bytes written so far."""
        self._file.flush()
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
        self._board.close()
