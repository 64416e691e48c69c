"""Tests of the GPUs of a workstation: real processes and locks, and a simulated number of GPUs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import wraps
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest
import torch

from wordorder.cli import functions
from wordorder.cli.functions import FunctionCommand
from wordorder.training import gpus
from wordorder.training.gpus import take_gpus
from wordorder.training.slurm import LOCAL_JOBS

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
        assigned = {"CUDA_VISIBLE_DEVICES", "SLURM_JOB_ID", "LOCAL_RANK", LOCAL_JOBS}
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


def test_jobs_of_snakemake_in_an_allocation_spread_over_its_gpus(jobs: Jobs) -> None:
    allocation = {"CUDA_VISIBLE_DEVICES": "0,1", "SLURM_JOB_ID": "1", LOCAL_JOBS: "1"}
    assert [jobs.take(of=2, **allocation) for _ in range(3)] == ["0", "1", "0"]


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


@pytest.mark.parametrize("name", sorted(functions._ON_A_GPU))
@pytest.mark.parametrize(("options", "number"), [({}, 1), ({"devices": 3}, 3)], ids=["one", "three"])
def test_a_stage_takes_its_gpus_before_it_begins(
    name: str, options: dict[str, int], number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _, function = name.rpartition(".")
    original = getattr(import_module(module), function)
    events: list[object] = []

    @wraps(original)
    def begun(*_: object, **__: object) -> None:
        events.append("begun")

    monkeypatch.setattr(import_module(module), function, begun)
    monkeypatch.setattr(gpus, "take_gpus", events.append)
    command = FunctionCommand("stage", name.removeprefix("wordorder."), None)
    command.load()
    assert command.callback is not None
    positional = [each.name for each in signature(original).parameters.values() if each.kind is each.POSITIONAL_ONLY]
    command.callback(**dict.fromkeys([*positional, "output"]), **options)
    assert events == [number, "begun"]
