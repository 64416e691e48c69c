"""Tests of many short jobs through ``--profile slurm`` on a failing cluster: each keeps its outcome.

WORDORDER_SLURM_JOBS=1000 queues a thousand.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import slurm_cluster
from slurm_cluster import Cluster, wait_until, why_not
from snakemake_runs import ROOT

# One process, so that one cluster at a time is in /etc/slurm.
pytestmark = [pytest.mark.xdist_group("slurm"), pytest.mark.slow]

JOBS = int(os.environ.get("WORDORDER_SLURM_JOBS", 20))
FAIL = {number for number in range(JOBS) if number % 20 == 7}
SNAKEFILE = """
from wordorder.workflow.patience import remember_min_job_age
remember_min_job_age()

rule all:
    input: expand("done/{number}", number=range(COUNT))
rule short:
    output: "done/{number}"
    shell:
        "echo began >>tries/{wildcards.number}; sleep 1; [ $(({wildcards.number} % 20)) != 7 ];"
        " echo ended >>tries/{wildcards.number}; touch {output}"
"""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    if reason := why_not():
        (pytest.fail if os.environ.get("WORDORDER_REQUIRE_SLURM") else pytest.skip)(reason)
    with Cluster(accounting=False, nodes=2) as running:
        yield running


def test_every_job_keeps_its_outcome(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "tries").mkdir()
    (tmp_path / "Snakefile").write_text(SNAKEFILE.replace("COUNT", str(JOBS)))
    command = [sys.executable, "-m", "snakemake", "--snakefile", tmp_path / "Snakefile", "--directory", tmp_path]
    command += ["--profile", "slurm", "--retries", "1", "--default-resources", "mem_mb=500", "runtime=15"]
    output = tmp_path / "output"
    with output.open("w") as file:
        run = subprocess.Popen(
            [str(part) for part in command], cwd=ROOT, stdout=file, stderr=file, start_new_session=True
        )

    def state() -> str:
        return cluster.tell("sinfo", "--noheader", "--Node", f"--nodes={cluster.nodes[0]}", "--format=%T")

    def back() -> bool:
        """Ask for the node until it is there: SLURM refuses while it has not heard of it."""
        if "drain" in state():
            cluster.tell("scontrol", "update", f"nodename={cluster.nodes[0]}", "state=resume")
        return "drain" not in state()

    def ended() -> int:
        return sum("ended" in path.read_text() for path in (tmp_path / "tries").iterdir())

    def until(share: float) -> None:
        """Wait until so many of the jobs have ended."""
        wait_until("jobs", lambda: run.poll() is not None or ended() >= share * JOBS, seconds=3600)
        assert run.poll() is None, output.read_text()

    try:
        wait_until("the jobs to be queued", lambda: len(cluster.jobs()) == JOBS, seconds=900)
        until(0.1)
        cluster.restart_slurmctld()
        until(0.2)
        cluster.tell("scontrol", "update", f"nodename={cluster.nodes[0]}", "state=drain", "reason=test")
        wait_until("the node to drain", lambda: "drain" in state())
        until(0.3)
        assert "drain" in state()
        wait_until("the node to be back", back, seconds=300)
        requeued = list(cluster.jobs(state="running"))[:3]
        for job in requeued:
            with suppress(subprocess.CalledProcessError):  # it has just ended
                cluster.tell("scontrol", "requeue", job)
                cluster.start_at_once(job)
        until(0.5)
        with cluster.silent_scheduler():
            time.sleep(30)
        status = run.wait(timeout=600 + 30 * JOBS)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
    said = output.read_text()
    assert status == 1, said  # some jobs failed
    assert {int(path.name) for path in (tmp_path / "done").iterdir()} == set(range(JOBS)) - FAIL
    tries = {int(path.name): path.read_text().split() for path in (tmp_path / "tries").iterdir()}
    again = sum(tries[number].count("ended") - 1 for number in set(range(JOBS)) - FAIL)
    assert again <= len(requeued), "a finished job ran again"  # a job may be taken back just after its work
    assert all(tries[number].count("ended") == 0 for number in FAIL)
    assert all(len(tries[number]) >= 2 for number in FAIL), "a failed job was not tried again"
    assert "Traceback" not in said


def test_a_killed_cluster_is_removed() -> None:
    if (reason := why_not()) and not os.environ.get("WORDORDER_REQUIRE_SLURM"):
        pytest.skip(reason)
    command = [sys.executable, slurm_cluster.__file__, "--no-accounting"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout
        folder = Path(killed.stdout.readline().split()[4].rstrip(";"))
        assert "another test" in (why_not() or ""), "a running cluster is not touched"
        killed.kill()
    daemons = [int(file.read_text()) for file in folder.glob("run/*.pid")]
    assert len(daemons) == 3
    assert why_not() is None
    assert not folder.exists()
    wait_until("the daemons to end", lambda: not any(Path(f"/proc/{pid}/comm").exists() for pid in daemons))
