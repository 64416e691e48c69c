"""The processes of one training: how they are started, and how they come to agree.

There are three ways:

    wordorder stage train --devices N …       starts N - 1 more processes on this machine, one a GPU
    srun … wordorder stage train …            one process a task of the job step, on one node or several
    wordorder stage train …                   in a SLURM job of several tasks: starts itself again through srun

They share each update's micro-batches, so that the number of processes changes the speed and not the training.
"""

from __future__ import annotations

import ctypes
import inspect
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from lightning_fabric import Fabric
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from lightning_fabric.plugins.environments.slurm import SLURMEnvironment
from lightning_fabric.strategies.ddp import DDPStrategy
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from wordorder.errors import WordorderError
from wordorder.training.device import fabric_precision
from wordorder.training.slurm import describe_job

T = TypeVar("T")

_STARTED_BY = "WORDORDER_STARTED_BY"  # set for the processes that the first one starts
_PR_SET_PDEATHSIG = 1
# Not at every forward pass: encodings keep tables that grow with the sentences seen, each process its own.
_SYNC_BUFFERS = ("broadcast_buffers", "forward_sync_buffers")  # in older and in newer PyTorch


def open_fabric(precision: str, *, devices: int | None, nodes: int = 1, most: int) -> Fabric:
    """The Fabric of this process, launched: after this call all processes of the training run.

    ``devices`` are the processes a node; None takes the GPUs of the SLURM job, or else one. ``most`` is how many can
    have work. Raises WordorderError when there would be more, or fewer GPUs than processes.
    """
    environment: LightningEnvironment | SLURMEnvironment
    if (tasks := _number("SLURM_STEP_NUM_TASKS")) > 1:
        nodes = _number("SLURM_STEP_NUM_NODES")
        devices, left = divmod(tasks, nodes)
        if left:
            raise WordorderError(
                f"srun started {tasks} tasks on {nodes} nodes. Ask for the same number on every node.",
                code="uneven-tasks",
            )
        environment = _step_environment(devices)
    elif "SLURM_STEP_NUM_TASKS" not in os.environ and (tasks := _tasks_of_job()) > 1:
        _start_again_through_srun(tasks)
    else:
        environment = LightningEnvironment()
        devices = devices or min(_gpus_of_job(), most)
        _end_with_the_first()
    assert devices is not None
    if devices * nodes > most:
        raise WordorderError(
            f"{devices * nodes} processes would share {most} micro-batch{'es' * (most > 1)} an update, and the others "
            f"be idle. Train with at most {most} (--devices, --nodes, or tasks and GPUs of the SLURM job), or raise "
            "'accumulate' in the study's recipe.",
            code="idle-processes",
        )
    if torch.cuda.is_available() and devices > torch.cuda.device_count():
        raise WordorderError(
            f"{devices} processes need as many GPUs, and {torch.cuda.device_count()} can be seen here. Ask for more "
            "GPUs or for fewer processes (--devices). In a SLURM job each task must see all GPUs of its node, which "
            "--gpus-per-task and --gpu-bind take away.",
            code="too-few-gpus",
        )
    several = devices * nodes > 1
    fabric = Fabric(
        devices=devices,
        num_nodes=nodes,
        precision=fabric_precision(precision),
        strategy=_data_parallel() if several else "auto",
        plugins=[environment],
    )
    if not _started_by_the_first():
        os.environ[_STARTED_BY] = str(os.getpid())
    fabric.launch()
    return fabric


def _started_by_the_first() -> bool:
    """Whether another process of this training started this one."""
    return os.environ.get(_STARTED_BY) == str(os.getppid()) and "LOCAL_RANK" in os.environ


class Processes:
    """What one process asks the others. With a single process every question is answered at once."""

    def __init__(self, fabric: Fabric) -> None:
        self.number: int = fabric.world_size
        self.is_first: bool = fabric.is_global_zero
        # A group of its own on the CPU: the question at every update whether to stop does not wait for the GPU.
        self._group = distributed.new_group(backend="gloo") if self.number > 1 else None

    def any(self, *flags: bool) -> list[bool]:
        """For each flag, whether it is set in any process. The answer is the same in all."""
        if self._group is None:
            return list(flags)
        shared = torch.tensor(flags, dtype=torch.uint8)
        distributed.all_reduce(shared, op=distributed.ReduceOp.MAX, group=self._group)
        return [bool(flag) for flag in shared.tolist()]

    def gather(self, value: T) -> list[T]:
        """The values of all processes, in their order."""
        if self._group is None:
            return [value]
        gathered: list[Any] = [None] * self.number
        distributed.all_gather_object(gathered, value, group=self._group)
        return gathered

    def wait(self) -> None:
        """Until all are here."""
        if self._group is not None:
            distributed.barrier(group=self._group)

    def close(self) -> None:
        """Part in good order: no process is left waiting for another."""
        if self._group is not None:
            self.wait()
            distributed.destroy_process_group()
            self._group = None

    def first(self, action: Callable[[], T]) -> T | None:
        """Do ``action`` in the first process. If it fails with an error for the user, the others end, too."""
        result, failure = None, None
        if self.is_first:
            try:
                result = action()
            except WordorderError as error:
                failure = error
        failed = self.any(failure is not None)
        if failure is not None:
            raise failure
        if failed == [True]:
            raise SystemExit(0)  # the first process tells the error and has the exit status
        return result


def _data_parallel() -> DDPStrategy:
    known = inspect.signature(DistributedDataParallel).parameters
    settings: dict[str, Any] = {[name for name in _SYNC_BUFFERS if name in known][-1]: False}
    return DDPStrategy(**settings)


def _number(variable: str) -> int:
    return int(os.environ.get(variable) or 1)


def _tasks_of_job() -> int:
    """Outside of job steps, which are told. Jobs that Snakemake submits lack the variable, so SLURM is asked."""
    if "SLURM_NTASKS" in os.environ:
        return _number("SLURM_NTASKS")
    return int(describe_job().get("NumTasks", "1").partition("-")[0])


def _gpus_of_job() -> int:
    return _number("SLURM_GPUS_ON_NODE") if torch.cuda.is_available() else 1


def _step_environment(devices: int) -> SLURMEnvironment:
    """SLURM's, with what Lightning expects of --ntasks-per-node, and a port that two steps of a job do not share."""
    step = os.environ.get("SLURM_STEP_ID", "0")
    os.environ["SLURM_NTASKS"] = os.environ["SLURM_STEP_NUM_TASKS"]
    os.environ["SLURM_NTASKS_PER_NODE"] = str(devices)
    os.environ["SLURM_NNODES"] = os.environ.get("SLURM_STEP_NUM_NODES", "1")
    nodes = os.environ.get("SLURM_STEP_NODELIST") or os.environ.get("SLURM_JOB_NODELIST", "127.0.0.1")
    os.environ.setdefault("MASTER_ADDR", SLURMEnvironment.resolve_root_node_address(nodes))
    port = 15_000 + (_number("SLURM_JOB_ID") + 101 * int(step if step.isdecimal() else 0)) % 10_000
    os.environ.setdefault("MASTER_PORT", str(port))
    return SLURMEnvironment(auto_requeue=False)


def _start_again_through_srun(tasks: int) -> None:
    """Become srun with the same command, as many tasks on every node. It takes nodes and GPUs from the job."""
    job = describe_job()
    command = ["srun", "--kill-on-bad-exit=1", f"--ntasks={tasks}"]
    if "NumNodes" in job:
        per_node, left = divmod(tasks, int(job["NumNodes"].partition("-")[0]))
        command += [] if left else [f"--ntasks-per-node={per_node}"]
    if "CPUs/Task" in job:
        command.append(f"--cpus-per-task={job['CPUs/Task']}")
    command += [sys.executable, "-m", "wordorder.cli", *sys.argv[1:]]
    try:
        os.execvp(command[0], command)
    except OSError as error:
        raise WordorderError(
            f"This SLURM job has {tasks} tasks, which only srun can start, and srun cannot be run "
            f"({error.strerror}). Put the directory of srun on PATH, or ask for one task.",
            code="missing-program",
        ) from error


def _end_with_the_first() -> None:
    """Let Linux end this process with the one that started it, even when that is killed; else it waits for ever."""
    if _started_by_the_first() and sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if not _started_by_the_first():  # it ended before it could be said
            sys.exit(1)
