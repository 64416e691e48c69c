"""The SLURM jobs of a study's trainings, where there is SLURM."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from wordorder.results.index import CellFiles
from wordorder.workflow.study import CellName

# What Snakemake's executor for SLURM writes into the comment of a job, the wildcards in the order of the output's path.
_COMMENT = "rule_train_model_wildcards_{}"
_SEPARATOR = "\x1f"
_FIELDS = ("%i", "%T", "%r", "%k", "%Z")


class Job(NamedTuple):
    """A job in the queue; ``state`` and ``why`` in SLURM's words: PENDING, Priority."""

    number: str
    state: str
    why: str

    @property
    def reason(self) -> str:
        waits = f" ({self.why})" if self.why not in ("", "None") else ""
        return f"SLURM job {self.number} is {self.state.lower()}{waits}"


def training_jobs(cells: Mapping[CellName, CellFiles], folders: Iterable[Path]) -> dict[CellName, Job]:
    """Return the user's jobs that train these cells, submitted in one of ``folders``; none without an answer."""
    if not shutil.which("squeue"):
        return {}
    command = ["squeue", "--me", "--noheader", "--format", _SEPARATOR.join(_FIELDS)]
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    ours = {str(folder.resolve()) for folder in folders}
    found = {}
    for line in told.splitlines():
        fields = line.split(_SEPARATOR)
        if len(fields) == len(_FIELDS) and fields[4] in ours:
            found[fields[3]] = Job(*fields[:3])
    # The wildcards of the rule are the last five parts of a model's folder.
    comments = {cell: _COMMENT.format("_".join(files.folder.parts[-5:])) for cell, files in cells.items()}
    return {cell: found[comment] for cell, comment in comments.items() if comment in found}
