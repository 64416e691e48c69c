"""The progress of a training run."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass
class Counters:
    """The progress of a training run, which is part of its saved state.

    Attributes:
        update: The number of finished updates.
        epoch: The number of finished epochs.
        group: The number of finished updates of the current epoch.
        target_tokens: The number of target tokens of all updates.
        seconds: The time of all updates in seconds, over all restarts.
        best_loss: The lowest validation loss.
        best_update: The update with the lowest validation loss.
        bad_validations: The number of validations since the lowest loss.
        restarts: The number of restarts.
        metrics_bytes: The length of the metrics file at the last save.
        metrics_sha256: The checksum of these bytes.
        trained_on: The hardware and the version of PyTorch of the updates, in their order, without repetition.
        status: 'running', 'finished' or 'diverged'.
    """

    update: int = 0
    epoch: int = 0
    group: int = 0
    target_tokens: int = 0
    seconds: float = 0.0
    best_loss: float = math.inf
    best_update: int = 0
    bad_validations: int = 0
    restarts: int = 0
    metrics_bytes: int = 0
    metrics_sha256: str = ""
    trained_on: list[str] = field(default_factory=list)
    status: str = "running"

    def continue_on(self, hardware: str) -> None:
        """Note where the next updates take place."""
        if hardware not in self.trained_on:
            self.trained_on.append(hardware)
