"""A corpus that takes a second to learn, and the command that trains on it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forked import forked
from wordorder.config.models import Cell, Recipe
from wordorder.data.binary import write_corpus
from wordorder.model.architectures.transformer import TransformerSize

VOCABULARY = 24
SIZE = TransformerSize(encoder_layers=1, decoder_layers=1, dim=16, ffn_dim=32, heads=2, dropout=0.1)


def write_reversals(directory: Path, *, pairs: int, seed: int) -> Path:
    """Write sentences of 1 to 9 random subwords; the target is the reversed source."""
    generator = random.Random(seed)
    sources = [[generator.randrange(4, VOCABULARY) for _ in range(generator.randint(1, 9))] for _ in range(pairs)]
    write_corpus(directory, ((source, source[::-1]) for source in sources), vocabulary_size=VOCABULARY)
    return directory


def cell(*, seed: int = 1, encoding: dict[str, Any] | None = None, **recipe: Any) -> Cell:
    defaults = {"learning_rate": 1e-2, "warmup_updates": 10, "batch_tokens": 128, "max_epochs": 8, "average": 2}
    return Cell(
        encoding=encoding or {"type": "sinusoidal"}, size=SIZE, recipe=Recipe(**{**defaults, **recipe}), seed=seed
    )


@dataclass(frozen=True)
class TrainingRun:
    """One ``wordorder stage train``, with all files below ``folder``."""

    folder: Path
    cell: Cell
    train: Path
    valid: Path
    positions: dict[str, Path] = field(default_factory=dict)  # of 'train' and 'valid'

    def words(self) -> list[str]:
        words = ["stage", "train", "--config", self.cell.model_dump_json()]
        words += ["--train", str(self.train), "--valid", str(self.valid), "--state", str(self.folder / "state")]
        for name, file in (("model", "model.pt"), ("metrics", "metrics.jsonl"), ("record", "record.json")):
            words += [f"--{name}", str(self.folder / file)]
        for split, folder in self.positions.items():
            words += [f"--{split}-positions", str(folder)]
        return [*words, "--threads", "1"]

    def start(self, *options: str) -> subprocess.Popen[str]:
        """Start a process of its own, which a test may stop."""
        command = [sys.executable, "-m", "wordorder.cli", *self.words(), *options]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def finish(self, *options: str, status: int = 0) -> str:
        """Run to the end and return the output."""
        done = forked("wordorder.cli", *self.words(), *options)
        printed = done.stdout + done.stderr
        assert done.returncode == status, printed
        return printed

    def record(self) -> dict[str, Any]:
        record: dict[str, Any] = json.loads((self.folder / "record.json").read_text())
        return record

    def metrics(self) -> list[dict[str, Any]]:
        """Return the rows without their speeds."""
        rows = [json.loads(line) for line in (self.folder / "metrics.jsonl").read_text().splitlines()]
        return [{name: value for name, value in row.items() if name != "tokens_per_second"} for row in rows]
