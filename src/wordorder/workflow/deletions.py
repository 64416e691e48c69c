"""Results that are outdated because a job failed after Snakemake had deleted its outputs.

Snakemake deletes the outputs of a job before it runs and after it fails. A later run regards a missing output as not
needed if results exist that were made from it. After a failure in the middle of the workflow it would therefore have
"nothing to be done", although these results belong to an earlier state of the data or the configuration. When a run
ends with an error, such results are marked as incomplete, as Snakemake marks the outputs of killed jobs. With
``--rerun-incomplete``, which the profiles set, the next run makes them again; without, it names them in an error.
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

    def outdated(self, dag: Any) -> list[Any]:
        """Return the jobs with results that depend on outputs which this run deleted and did not make again.

        Args:
            dag: The jobs of Snakemake and their dependencies.
        """
        unfinished = {job: files for job, files in self._before.items() if not dag.finished(job)}
        lost = [job for job, files in unfinished.items() if not all(file.exists() for file in files)]
        return [job for job in dag.bfs(dag.depending, *lost) if job in unfinished and _existing(job)]


def _existing(job: Any) -> list[Path]:
    return [path for path in map(Path, job.output) if path.exists()]
