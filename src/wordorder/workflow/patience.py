"""Keep Snakemake's SLURM executor asking in the same way while SLURM does not answer."""

from __future__ import annotations

import sys
from collections.abc import Callable

_PLUGIN = "snakemake_executor_plugin_slurm"


def remembering(ask: Callable[[], int | None]) -> Callable[[], int | None]:
    """Return a function that answers as ``ask`` does, or as it last did where it has no answer."""
    known: int | None = None

    def answer() -> int | None:
        nonlocal known
        found = ask()
        known = known if found is None else found
        return known

    return answer


def remember_min_job_age() -> None:
    """Let the executor remember how long SLURM keeps jobs.

    It asks at each look at the jobs. Without an answer, such as while slurmctld restarts, it takes 'squeue' for
    unusable and asks 'sacct' for an hour, which knows nothing on a cluster without accounting.
    """
    plugin = sys.modules.get(_PLUGIN)
    if plugin is not None:
        plugin.get_min_job_age = remembering(plugin.get_min_job_age)  # type: ignore[attr-defined]
