"""The SLURM jobs of a study's training runs; none without SLURM."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from wordorder.results.index import CellFiles
from wordorder.workflow.study import CellName

# Snakemake's executor for SLURM writes this comment to a job. The wildcards have the order of the output's path.
_COMMENT = "rule_train_model_wildcards_{}"
_SEPARATOR = "\x1f"
_FIELDS = ("%i", "%T", "%r", "%k", "%Z")


class Job(NamedTuple):
    """A job in the queue.

    Attributes:
        number: The number of the job.
        state: Its state in SLURM's terms, such as PENDING.
        why: SLURM's reason for the state, such as Priority.
    """

    number: str
    state: str
    why: str

    @property
    def reason(self) -> str:
        """A description of the state for users."""
        waits = f" ({self.why})" if self.why not in ("", "None") else ""
        return f"SLURM job {self.number} is {self.state.lower()}{waits}"


def training_jobs(cells: Mapping[CellName, CellFiles], folders: Iterable[Path]) -> dict[CellName, Job]:
    """Find the user's SLURM jobs that train these runs.

    Args:
        cells: The files of each run.
        folders: The folders from which the jobs may have been submitted.

    Returns:
        The jobs by run; none without SLURM or if it does not answer.
    """
    if not shutil.which("squeue"):
        return {}
    command = ["squeue", "--me", "--noheader", "--format", _SEPARATOR.join(_FIELDS)]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    ours = {str(folder.resolve()) for folder in folders}
    found = {}
    for line in answer.splitlines():
        fields = line.split(_SEPARATOR)
        if len(fields) == len(_FIELDS) and fields[4] in ours:
            found[fields[3]] = Job(*fields[:3])
    # The last five parts of a model's folder are the wildcards of the rule.
    comments = {cell: _COMMENT.format("_".join(files.folder.parts[-5:])) for cell, files in cells.items()}
    return {cell: found[comment] for cell, comment in comments.items() if comment in found}
