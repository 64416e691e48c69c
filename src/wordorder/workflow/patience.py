"""Keeps Snakemake's SLURM executor on the same query command while SLURM does not answer."""

from __future__ import annotations

import sys
from collections.abc import Callable

_PLUGIN = "snakemake_executor_plugin_slurm"


def remembering(ask: Callable[[], int | None]) -> Callable[[], int | None]:
    """Return a function that returns the result of ``ask``, or its last result if it returns None.

    Args:
        ask: The function.
    """
    known: int | None = None

    def answer() -> int | None:
        nonlocal known
        found = ask()
        known = known if found is None else found
        return known

    return answer


def remember_min_job_age() -> None:
    """Let the executor remember how long SLURM keeps finished jobs.

    The executor queries this time whenever it checks jobs. Without an answer, for instance while slurmctld restarts, it
    considers 'squeue' unusable and uses 'sacct' for an hour. On a cluster without accounting, 'sacct' reports nothing.
    """
    plugin = sys.modules.get(_PLUGIN)
    if plugin is not None:
        plugin.get_min_job_age = remembering(plugin.get_min_job_age)  # type: ignore[attr-defined]
