"""Outputs that Snakemake deleted for a job that did not make them again: the next run makes them.

Snakemake deletes the outputs of a job before it runs and after it fails. A later run regards a missing output as not
needed if results exist that were made from it, so after a failure in the middle of the workflow it would have "nothing
to be done", although these results belong to an earlier state of the data or the configuration. Snakemake's marks of
incomplete outputs do not help: it removes those of failed jobs and ignores those of missing files. Here, an output that
a run deleted and did not make again is marked, and marks of missing files count. With ``--rerun-incomplete``, which the
profiles set, the next run makes such outputs and the results after them again; without, it names them in an error.
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
            if existing := [path for path in map(Path, job.output) if path.exists()]:
                self._before[job] = existing

    def lost(self, jobs: Iterable[Any]) -> list[Any]:
        """Return the jobs that lack an output that existed when the run started.

        Args:
            jobs: The jobs that this run has not finished.
        """
        return [job for job in jobs if not all(path.exists() for path in self._before.get(job, ()))]


async def marked(persistence: Any, job: Any) -> list[Any]:
    """Return the outputs of a job that are marked as incomplete, including missing ones.

    Args:
        persistence: Snakemake's records of outputs.
        job: The job.
    """
    keys = {persistence._get_key(file): file for file in job.output}
    incomplete: set[str] = persistence._filter_incomplete_keys(list(keys))
    return [file for key, file in keys.items() if key in incomplete]
