"""The processes of one training run: how they start and how they communicate.

They start in one of three ways:

    wordorder stage train --devices N …       starts N - 1 more processes on this machine, one per GPU
    srun … wordorder stage train …            one process per task of the job step, on one or several nodes
    wordorder stage train …                   in a SLURM job of several tasks: restarts itself with srun

The processes share the micro-batches of each update, so that their number affects the speed but not the training.
"""

from __future__ import annotations

import inspect
import os
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

from wordorder.children import end_with_parent
from wordorder.errors import WordorderError
from wordorder.training.device import fabric_precision
from wordorder.training.slurm import LOCAL_JOBS, describe_job

T = TypeVar("T")

_STARTED_BY = "WORDORDER_STARTED_BY"  # The first process sets this variable for the processes that it starts.
# Buffers are not synchronised: encodings keep tables that grow with sentence length, separately in each process. The
# setting has one name in older and another in newer versions of PyTorch.
_SYNC_BUFFERS = ("broadcast_buffers", "forward_sync_buffers")


def open_fabric(precision: str, *, devices: int | None, nodes: int = 1, most: int, unread: bool = False) -> Fabric:
    """Launch the Fabric of this process; after this call, all processes of the training run are active.

    Args:
        precision: The precision of the recipe.
        devices: The number of processes per node; by default one per GPU of the SLURM job, or one. Jobs of Snakemake
            that share an allocation have one each.
        nodes: The number of nodes outside of SLURM.
        most: The number of processes that can have work.
        unread: Whether the model may have parameters that no loss depends on, which processes must not wait for.

    Returns:
        The launched Fabric.

    Raises:
        WordorderError: There would be more processes than can have work or than GPUs, or srun is unusable.
    """
    environment: LightningEnvironment | SLURMEnvironment
    shared = LOCAL_JOBS in os.environ  # The tasks and GPUs of an allocation are those of all jobs of Snakemake in it.
    if not shared and (tasks := _number("SLURM_STEP_NUM_TASKS")) > 1:
        nodes = _number("SLURM_STEP_NUM_NODES")
        devices, left = divmod(tasks, nodes)
        if left:
            raise WordorderError(
                f"srun started {tasks} tasks on {nodes} nodes, but each node needs the same number of tasks. Set "
                "--ntasks to a multiple of the number of nodes.",
                code="uneven-tasks",
                key="--ntasks",
                found=tasks,
            )
        environment = _step_environment(devices)
    elif not shared and "SLURM_STEP_NUM_TASKS" not in os.environ and (tasks := _tasks_of_job()) > 1:
        _start_again_through_srun(tasks)
    else:
        environment = LightningEnvironment()
        devices = devices or (1 if shared else min(_gpus_of_job(), most))
        end_with_parent(_started_by_the_first)  # Otherwise this process would wait for the first one forever.
    assert devices is not None
    if devices * nodes > most:
        raise WordorderError(
            f"{devices * nodes} processes would share {most} micro-batch{'es' * (most > 1)} per update, so that "
            f"{devices * nodes - most} would be idle. Train with at most {most} (--devices, --nodes, or tasks and GPUs "
            "of the SLURM job), or raise 'accumulate' in the study's recipe.",
            code="idle-processes",
            key="accumulate",
            found=devices * nodes,
            expected=most,
        )
    if torch.cuda.is_available() and devices > torch.cuda.device_count():
        raise WordorderError(
            f"{devices} processes need {devices} GPUs, but only {torch.cuda.device_count()} are visible here. Request "
            "more GPUs or fewer processes (--devices). In a SLURM job, each task must see all GPUs of its node, so do "
            "not use --gpus-per-task or --gpu-bind.",
            code="too-few-gpus",
            key="--devices",
            found=devices,
            expected=torch.cuda.device_count(),
        )
    several = devices * nodes > 1
    fabric = Fabric(
        devices=devices,
        num_nodes=nodes,
        precision=fabric_precision(precision),
        strategy=_data_parallel(unread) if several else "auto",
        plugins=[environment],
    )
    if not _started_by_the_first():
        os.environ[_STARTED_BY] = str(os.getpid())
    fabric.launch()
    return fabric


def _started_by_the_first() -> bool:
    """Return whether another process of this training run started this one."""
    return os.environ.get(_STARTED_BY) == str(os.getppid()) and "LOCAL_RANK" in os.environ


class Processes:
    """Communication between the processes of a training run; with a single process, it is immediate.

    Args:
        fabric: The launched Fabric of this process.

    Attributes:
        number: The number of processes.
        is_first: Whether this process is the first one.
    """

    def __init__(self, fabric: Fabric) -> None:
        self.number: int = fabric.world_size
        self.is_first: bool = fabric.is_global_zero
        # A separate group on the CPU, so that agreeing on a stop at each update does not wait for the GPU.
        self._group = distributed.new_group(backend="gloo") if self.number > 1 else None

    def any(self, *flags: bool) -> list[bool]:
        """Return for each flag whether it is set in at least one process; the result is the same in all."""
        if self._group is None:
            return list(flags)
        shared = torch.tensor(flags, dtype=torch.uint8)
        distributed.all_reduce(shared, op=distributed.ReduceOp.MAX, group=self._group)
        return [bool(flag) for flag in shared.tolist()]

    def gather(self, value: T) -> list[T]:
        """Return the values of all processes, in the order of the processes."""
        if self._group is None:
            return [value]
        gathered: list[Any] = [None] * self.number
        distributed.all_gather_object(gathered, value, group=self._group)
        return gathered

    def wait(self) -> None:
        """Wait until all processes have called this method."""
        if self._group is not None:
            distributed.barrier(group=self._group)

    def close(self) -> None:
        """Wait for all processes and end the communication."""
        if self._group is not None:
            self.wait()
            distributed.destroy_process_group()
            self._group = None

    def first(self, action: Callable[[], T]) -> T | None:
        """Run an action in the first process only.

        Args:
            action: The action.

        Returns:
            The result of the action in the first process; None in the others.

        Raises:
            WordorderError: The action failed with this error. The other processes exit with status 0.
        """
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
            raise SystemExit(0)  # The first process reports the error and has the exit status.
        return result


def _data_parallel(unread: bool) -> DDPStrategy:
    known = inspect.signature(DistributedDataParallel).parameters
    settings: dict[str, Any] = {[name for name in _SYNC_BUFFERS if name in known][-1]: False}
    settings["gradient_as_bucket_view"] = True  # Exchanged gradients are not copied back, one kernel per parameter.
    return DDPStrategy(find_unused_parameters=unread, **settings)


def _number(variable: str) -> int:
    return int(os.environ.get(variable) or 1)


def _tasks_of_job() -> int:
    """Return the number of tasks of the SLURM job; 1 outside of SLURM."""
    # Snakemake removes the variable from the jobs that it submits, so that scontrol must provide the number.
    if "SLURM_NTASKS" in os.environ:
        return _number("SLURM_NTASKS")
    return int(describe_job().get("NumTasks", "1").partition("-")[0])


def _gpus_of_job() -> int:
    return _number("SLURM_GPUS_ON_NODE") if torch.cuda.is_available() else 1


def _step_environment(devices: int) -> SLURMEnvironment:
    """Set the variables that Lightning expects with --ntasks-per-node, and a port that differs between job steps."""
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
    """Replace this process by srun with the same command and evenly distributed tasks.

    srun takes the nodes and GPUs from the job.

    Raises:
        WordorderError: srun cannot be run.
    """
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
            f"This SLURM job has {tasks} tasks, which only srun can start, but srun cannot be run "
            f"({error.strerror}). Add the folder of srun to PATH, or request one task.",
            code="missing-program",
        ) from error
