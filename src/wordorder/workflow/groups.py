"""Reports why SLURM did not accept a group of jobs.

The first jobs of a study are submitted as a group, so a wrong account or partition is noticed there.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from snakemake.jobs import GroupJob
from snakemake.logging import logger


def explain_rejected_groups() -> None:
    """Let Snakemake report groups of jobs that could not be submitted as it reports single jobs.

    Snakemake leaves the reason out of the report of a group. The SLURM executor names the rule of the job in its own
    report, and a group has none; its thread then ends with an error, and Snakemake waits for the job forever.
    """
    report = GroupJob.log_error

    def log_error(self: GroupJob, msg: str | None = None, **details: Any) -> None:
        if msg and "external_jobid" not in details:
            logger.error(f"The group of jobs '{self.groupid}' was not submitted. {msg}")
        report(self, msg, **details)

    GroupJob.log_error = log_error
    GroupJob.rule = property(lambda self: SimpleNamespace(name=self.groupid))
