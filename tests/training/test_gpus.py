"""Tests of the GPUs of a workstation: real processes and locks, and a simulated number of GPUs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import torch

from wordorder.training.gpus import take_gpus

TAKE = """
import os, sys, torch
from wordorder.training.gpus import take_gpus
torch.cuda.device_count = lambda: int(sys.argv[1])
take_gpus(int(sys.argv[2]))
print(os.environ.get("CUDA_VISIBLE_DEVICES"), flush=True)
sys.stdin.read()
"""


class Jobs:
    """Processes that take GPUs and keep them until they end."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self._running: list[subprocess.Popen[str]] = []

    def take(self, *, of: int, number: int = 1, **variables: str) -> str:
        """Start a job on a machine with ``of`` GPUs; return which GPUs it sees."""
        assigned = {"CUDA_VISIBLE_DEVICES", "SLURM_JOB_ID", "LOCAL_RANK"}
        environment = {name: value for name, value in os.environ.items() if name not in assigned}
        job = subprocess.Popen(
            [sys.executable, "-c", TAKE, str(of), str(number)],
            env={**environment, "TMPDIR": str(self._folder), **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._stack.enter_context(job)
        self._stack.callback(job.kill)
        self._running.append(job)
        assert job.stdout is not None
        return job.stdout.readline().strip()

    def kill(self, number: int) -> None:
        """End a job as a lack of memory would."""
        self._running[number].kill()
        self._running[number].wait()


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    with ExitStack() as stack:
        yield Jobs(tmp_path, stack)


def test_jobs_spread_over_the_gpus_and_a_killed_job_frees_its_own(jobs: Jobs) -> None:
    assert [jobs.take(of=2) for _ in range(3)] == ["0", "1", "0"]
    jobs.kill(1)
    assert [jobs.take(of=2) for _ in range(2)] == ["1", "1"]


def test_a_training_on_two_gpus_takes_two(jobs: Jobs) -> None:
    assert jobs.take(of=4) == "0"
    assert jobs.take(of=4, number=2) == "1,2"
    assert jobs.take(of=4) == "3"


def test_a_training_on_all_gpus_takes_them_too(jobs: Jobs) -> None:
    assert jobs.take(of=2) == "0"
    assert jobs.take(of=2, number=2) == "0,1"
    assert jobs.take(of=2) == "1"


def test_only_the_visible_gpus_are_taken(jobs: Jobs) -> None:
    visible = {"CUDA_VISIBLE_DEVICES": "2,GPU-5f1,7"}
    assert [jobs.take(of=3, **visible) for _ in range(3)] == ["2", "GPU-5f1", "7"]


@pytest.mark.parametrize("variable", ["SLURM_JOB_ID", "LOCAL_RANK"])
def test_assigned_gpus_stay(variable: str, jobs: Jobs) -> None:
    assert jobs.take(of=2, CUDA_VISIBLE_DEVICES="0,1", **{variable: "1"}) == "0,1"


@pytest.mark.parametrize("others", ["file", "link"])
def test_without_a_folder_for_locks_nothing_changes(others: str, jobs: Jobs, tmp_path: Path) -> None:
    folder = tmp_path / f"wordorder-gpus-{os.getuid()}"
    if others == "file":
        folder.touch()
    else:
        folder.symlink_to(tmp_path)
    assert jobs.take(of=2) == "None"


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_changes_without_several_gpus(count: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    take_gpus()
    assert "CUDA_VISIBLE_DEVICES" not in os.environ and not list(tmp_path.iterdir())
