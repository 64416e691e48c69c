"""What SLURM says of the job that this process runs in."""

from __future__ import annotations

import os
import subprocess


def job_number() -> str | None:
    return os.environ.get("SLURM_JOB_ID")


def describe_job() -> dict[str, str]:
    """The fields of ``scontrol show job``, NumNodes for instance; none outside of SLURM or where it does not answer.

    The environment of a job does not tell all of them: Snakemake takes most of SLURM's variables out of it.
    """
    if (job := job_number()) is None:
        return {}
    try:
        told = subprocess.run(
            ["scontrol", "show", "job", "--oneliner", job], capture_output=True, text=True, check=True, timeout=30
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    fields = dict(word.split("=", 1) for word in told.split() if "=" in word)
    fields.setdefault("TRES", fields.get("AllocTRES", fields.get("ReqTRES", "")))  # since SLURM 23.02
    return fields
