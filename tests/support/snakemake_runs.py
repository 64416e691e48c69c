"""Run the project's workflow as a user does, and read Snakemake's list of jobs."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from forked import forked, with_forked_jobs

ROOT = Path(__file__).parents[2]


def snakemake(folder: Path, *arguments: str | Path, profile: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``snakemake`` from the root of the project on the results in ``folder``."""
    words = ["--directory", folder, *arguments, *(["--profile", profile] if profile else [])]
    environment = with_forked_jobs({**os.environ, "OMP_NUM_THREADS": "1"})
    return forked("snakemake", *words, folder=ROOT, environment=environment)


def dry_run(folder: Path, *arguments: str | Path, profile: str | None = None) -> str:
    """Return the output of a dry-run, which must succeed."""
    done = snakemake(folder, "--dry-run", *arguments, profile=profile)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def job_counts(text: str) -> dict[str, int]:
    """Count the jobs of each rule in the table 'Job stats' of a dry-run; empty if nothing is left to do."""
    table = re.search(r"^job +count\n[- ]+\n((?:\S+ +\d+\n)+)", text, re.MULTILINE)
    rows = re.findall(r"^(\S+) +(\d+)$", table[1], re.MULTILINE) if table else []
    return {rule: int(count) for rule, count in rows if rule != "total"}


def outputs(text: str) -> dict[str, list[str]]:
    """Return the first output of each job that a dry-run lists, sorted, by rule."""
    found: dict[str, list[str]] = {}
    # The jobs of a group are indented.
    for _, rule, block in re.findall(r"^( *)(?:local)?rule (\S+):\n((?:\1 +.*\n)+)", text, re.MULTILINE):
        if output := re.search(r"^ +output: ([^,\n]+)", block, re.MULTILINE):
            found.setdefault(rule, []).append(output[1])
    return {rule: sorted(files) for rule, files in found.items()}
