"""Tests of a training in two processes: the curve of one process, a common stop, and a bit-identical resume."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from raises import raises
from training_runs import TrainingRun, cell, write_reversals
from wordorder.model.architectures.prefix_lm import PrefixLMSize
from wordorder.model.checkpoint import load_tensors
from wordorder.training.processes import open_fabric
from wordorder.training.slurm import LOCAL_JOBS
from wordorder.training.window import Window

# The part of srun that a training uses: it starts the command once per task of the job, with the number of the task.
SRUN = f"""#!{sys.executable}
import os, subprocess, sys
tasks = os.environ["SLURM_NTASKS"]
assert sys.argv[1:3] == ["--kill-on-bad-exit=1", "--ntasks=" + tasks]
command = sys.argv[3:]
step = {{"SLURM_STEP_NUM_TASKS": tasks, "SLURM_STEP_NUM_NODES": "1", "SLURM_STEP_ID": "0", "SLURM_NODEID": "0"}}
step["SLURM_STEP_NODELIST"] = "127.0.0.1"
ranks = [{{"SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank)}} for rank in range(int(tasks))]
started = [subprocess.Popen(command, env={{**os.environ, **step, **rank}}) for rank in ranks]
sys.exit(max(process.wait() for process in started))
"""


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("corpora")
    return write_reversals(folder / "train", pairs=300, seed=1), write_reversals(folder / "valid", pairs=50, seed=2)


def new_run(folder: Path, corpora: tuple[Path, Path], **recipe: Any) -> TrainingRun:
    folder.mkdir()
    return TrainingRun(folder, cell(**recipe), *corpora)


def weights(run: TrainingRun) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = load_tensors(run.folder / "model.pt")["weights"]
    return found


@pytest.mark.slow
def test_two_processes_train_as_one_with_twice_the_accumulation(tmp_path: Path, corpora: tuple[Path, Path]) -> None:
    """A recipe's four micro-batches an update are accumulated four in one process, or two in each of two.

    Only the order in which gradients are summed differs, so the loss of each report agrees to single precision; that
    error grows along the curve, to a relative 8e-6 in 40 updates. A gradient that is the mean over the target tokens of
    each process, and not over all, makes 2e-4 in the first epoch already.
    """
    recipe = {"accumulate": 4, "dropout": 0.0, "max_epochs": 4, "patience": None}
    one, two = (new_run(tmp_path / name, corpora, **recipe) for name in ("one", "two"))
    one.finish()
    two.finish("--devices", "2")
    assert (one.record()["processes"], two.record()["processes"]) == (1, 2)
    assert len(one.metrics()) == len(two.metrics()) >= 8
    for left, right in zip(one.metrics(), two.metrics(), strict=True):
        assert left.pop("kind") == right.pop("kind")
        assert right == pytest.approx(left, rel=5e-5)
    assert one.record()["target_tokens"] == two.record()["target_tokens"]


@pytest.mark.slow
def test_a_prefix_lm_in_two_processes_needs_no_gradient_of_what_it_does_not_read(
    tmp_path: Path, corpora: tuple[Path, Path]
) -> None:
    """Nothing reads the relative vectors of source queries in the last layer."""
    size = PrefixLMSize(architecture="prefix_lm", layers=2, dim=16, ffn_dim=16, heads=2, dropout=0.0)
    curves = []
    for name, options in (("one", ()), ("two", ("--devices", "2"))):
        run = new_run(tmp_path / name, corpora, accumulate=2, max_epochs=1, encoding={"type": "relative"})
        run = replace(run, cell=run.cell.model_copy(update={"size": size}))
        run.finish(*options)
        curves.append([line["loss"] for line in run.metrics()])
    assert curves[1] == pytest.approx(curves[0], rel=5e-5)


def other_process(first: int) -> int:
    """Return the process that the first process of a training has started."""
    children = Path(f"/proc/{first}/task/{first}/children")
    (child,) = [pid for pid in children.read_text().split() if "wordorder" in Path(f"/proc/{pid}/cmdline").read_text()]
    return int(child)


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc for the other process")
@pytest.mark.slow
def test_a_signal_to_one_of_two_processes_stops_both_and_the_bits_stay(
    tmp_path: Path, corpora: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With dropout, so that each process's generator must go on where it was.

    The uninterrupted training is started by srun in a job of two tasks; the interrupted one starts its second process
    itself and keeps the optimizer's state in shares. None of that may change a bit.
    """
    recipe = {"accumulate": 2, "max_epochs": 4}
    interrupted = new_run(tmp_path / "interrupted", corpora, **recipe)
    options = ("--devices", "2", "--shard-optimizer", "always")
    process = interrupted.start(*options)
    try:
        metrics = interrupted.folder / "state" / "metrics.jsonl"
        while not metrics.exists() and process.poll() is None:
            time.sleep(0.01)
        os.kill(other_process(process.pid), signal.SIGTERM)
        printed, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 75, printed
    assert printed.count(f"in {interrupted.folder / 'state'}. Run the same command again") == 1
    saved = load_tensors(interrupted.folder / "state" / "last.pt")
    first, second = (own["generators"]["cpu"] for own in saved["processes"])
    assert not torch.equal(first, second)
    assert not (interrupted.folder / "model.pt").exists()
    interrupted.finish(*options)
    assert interrupted.record()["restarts"] == 1

    srun = tmp_path / "bin" / "srun"
    srun.parent.mkdir()
    srun.write_text(SRUN)
    srun.chmod(0o755)
    monkeypatch.setenv("PATH", str(srun.parent), prepend=os.pathsep)
    for variable, value in {"SLURM_JOB_ID": "1234567", "SLURM_NTASKS": "2"}.items():
        monkeypatch.setenv(variable, value)
    uninterrupted = new_run(tmp_path / "uninterrupted", corpora, **recipe)
    uninterrupted.finish()
    assert uninterrupted.record()["processes"] == 2
    assert uninterrupted.record()["efficiency"]["asked"]["job"] == "1234567"
    assert interrupted.metrics() == uninterrupted.metrics()
    left, right = weights(interrupted), weights(uninterrupted)
    assert all(torch.equal(left[name], right[name]) for name in right)


def test_more_processes_than_micro_batches_are_refused() -> None:
    with raises("idle-processes", key="accumulate", found=3, expected=2):
        open_fabric("fp32", devices=3, most=2)
    with raises("idle-processes", key="accumulate", found=4, expected=1):
        open_fabric("fp32", devices=2, nodes=2, most=1)


def test_a_job_of_several_tasks_without_srun_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_NTASKS", "2")
    monkeypatch.setenv("PATH", str(tmp_path))
    with raises("missing-program", says="has 2 tasks, which only srun"):
        open_fabric("fp32", devices=None, most=2)


def test_a_job_of_snakemake_in_an_allocation_is_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tasks of the allocation are those of all jobs."""
    for variable, value in {
        "SLURM_JOB_ID": "6",
        "SLURM_NTASKS": "4",
        "SLURM_GPUS_ON_NODE": "4",
        LOCAL_JOBS: "1",
    }.items():
        monkeypatch.setenv(variable, value)
    assert open_fabric("fp32", devices=None, most=4).world_size == 1


def test_slurm_is_queried_for_the_number_of_tasks_if_the_environment_lacks_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the jobs of Snakemake's plugin, which takes the variable out."""
    (tmp_path / "scontrol").write_text('#!/bin/sh\necho "JobId=$4 NumNodes=3 NumTasks=$4 CPUs/Task=2"\n')
    (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SLURM_JOB_ID", "6")
    with raises("missing-program", says="has 6 tasks, which only srun"):
        open_fabric("fp32", devices=None, most=6)


def test_srun_must_start_as_many_on_every_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "3")
    monkeypatch.setenv("SLURM_STEP_NUM_NODES", "2")
    with raises("uneven-tasks", key="--ntasks", found=3, says="3 tasks on 2 nodes"):
        open_fabric("fp32", devices=None, most=4)


def test_a_window_resumes_with_another_number_of_processes() -> None:
    """Losses of all micro-batches are kept, once; the rest was the same in every process."""
    states = [
        {"sums": torch.tensor([loss, 2 * loss, 5.0], dtype=torch.float64), "updates": 3, "tokens": 7, "seconds": 1.0}
        for loss in (1.0, 10.0, 100.0)
    ]
    for number, losses in {1: [111.0], 2: [101.0, 10.0], 3: [1.0, 10.0, 100.0], 4: [1.0, 10.0, 100.0, 0.0]}.items():
        for rank, loss in enumerate(losses):
            window = Window(torch.device("cpu"))
            window.load(states, rank=rank, number=number)
            assert window.sums.tolist() == [loss, 2 * loss, 5.0]
            assert (window.updates, window.tokens, window.seconds) == (3, 7, 1.0)
