"""Results that are outdated because a job lost its outputs: Snakemake deleted them, and it did not make them again.

Snakemake deletes the outputs of a job before it runs and after it fails. A later run regards a missing output as not
needed if results exist that were made from it, unless it notices a change: of the parameters since the last run of the
job, or of its inputs if other than temporary files depend directly on the output. A failed job counts as a run. After a
failure, the next run may therefore have "nothing to be done", although the results belong to the state before a change.

Here, such results are marked as incomplete when a run ends with an error. With ``--rerun-incomplete``, which the
profiles set, the next run makes them again; without, it names them in an error. A killed run cannot mark anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any


class Deletions:
    """The outputs that the jobs of a run had before the run."""

    def __init__(self) -> None:
        self._before: dict[Any, list[Path]] = {}

    def start(self, jobs: Iterable[Any]) -> None:
        """Record which outputs exist.

        Args:
            jobs: The jobs of Snakemake that will run.
        """
        for job in jobs:
            if existing := _existing(job):
                self._before[job] = existing

    def outdated(self, dag: Any, failed: Iterable[Any]) -> list[Any]:
        """Return the jobs with results that depend on an outdated output that this run deleted and did not make again.

        Args:
            dag: The jobs of Snakemake and their dependencies.
            failed: The jobs, or groups of jobs, that failed, in contrast to those that were interrupted.
        """
        single = {member for job in failed for member in (job.jobs if job.is_group() else [job])}
        unfinished = {job: files for job, files in self._before.items() if not dag.finished(job)}
        lost = [
            job
            for job, files in unfinished.items()
            if not all(file.exists() for file in files) and _is_outdated(dag.reason(job), failed=job in single)
        ]
        return [job for job in dag.bfs(dag.depending, *lost) if job in unfinished and _existing(job)]


def _is_outdated(reason: Any, *, failed: bool) -> bool:
    """Return whether a job was to run because of a change that the next run does not notice."""
    other = reason.params_changed or reason.input_changed or reason.code_changed or reason.software_stack_changed
    return bool(reason.updated_input or reason.updated_input_run or (failed and other))


def _existing(job: Any) -> list[Path]:
    return [path for path in map(Path, job.output) if path.exists()]
