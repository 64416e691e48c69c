"""SLURM's description of the job in which this process runs."""

from __future__ import annotations

import os
import subprocess

# Snakemake sets this variable for the jobs that it runs itself, which share an allocation in which it may run.
LOCAL_JOBS = "WORDORDER_LOCAL_JOBS"


def has_own_job() -> bool:
    """Return whether this process has the tasks and GPUs of its SLURM job for itself."""
    return job_number() is not None and LOCAL_JOBS not in os.environ


def job_number() -> str | None:
    """Return the number of the SLURM job; None outside of SLURM."""
    return os.environ.get("SLURM_JOB_ID")


def describe_job() -> dict[str, str]:
    """Return the fields of ``scontrol show job``, such as NumNodes.

    The environment does not have all of them, because Snakemake removes most of SLURM's variables from it.

    Returns:
        The fields by name; none outside of SLURM or if it does not answer.
    """
    if (job := job_number()) is None:
        return {}
    try:
        answer = subprocess.run(
            ["scontrol", "show", "job", "--oneliner", job], capture_output=True, text=True, check=True, timeout=30
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    fields = dict(word.split("=", 1) for word in answer.split() if "=" in word)
    # SLURM has these names since 23.02.
    fields.setdefault("TRES", fields.get("AllocTRES", fields.get("ReqTRES", "")))
    return fields
