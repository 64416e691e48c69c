"""The resources that a training job requested and used, so that users can adapt the requests of later jobs."""

from __future__ import annotations

import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from types import TracebackType
from typing import Any, TypedDict

import torch
from torch import nn

from wordorder.data.binary import ParallelCorpus
from wordorder.model.architectures.base import Translator
from wordorder.training.slurm import describe_job, job_number

SAMPLE_SECONDS = 10.0
# SLURM's default unit is megabytes.
_UNITS = {"": 1 << 20, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Usage(TypedDict):
    """The resources that one process used."""

    host: str
    memory_bytes: int
    seconds: float
    cpu_seconds: float
    gpu_memory_bytes: int | None
    gpu_utilisation: float | None
    batch_share: float


class Meter:
    """Context manager that measures the resources of this process; it samples a GPU every ten seconds.

    Args:
        device: The device of the process.
    """

    def __init__(self, device: torch.device) -> None:
        self._gpu = device if device.type == "cuda" else None
        self._samples: list[float] = []
        self._ended = threading.Event()

    def __enter__(self) -> Meter:
        self._started, self._cpu_started = time.monotonic(), _cpu_seconds()
        if self._gpu is not None and shutil.which("nvidia-smi"):
            threading.Thread(target=self._sample, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._seconds, self._cpu = time.monotonic() - self._started, _cpu_seconds() - self._cpu_started

    def _sample(self) -> None:
        identity = f"GPU-{torch.cuda.get_device_properties(self._gpu).uuid}"
        while not self._ended.wait(SAMPLE_SECONDS):
            if (sample := gpu_utilisation(identity)) is not None:
                self._samples.append(sample)

    def usage(self, update_seconds: float, batch_seconds: float) -> Usage:
        """Return the resources that the process used in the context.

        Args:
            update_seconds: The time of all updates.
            batch_seconds: The part of this time that the process spent on making batches, while a GPU may have waited.
        """
        factor = 1 if sys.platform == "darwin" else 1024
        return Usage(
            host=socket.gethostname(),
            memory_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * factor,
            seconds=self._seconds,
            cpu_seconds=self._cpu,
            gpu_memory_bytes=torch.cuda.max_memory_reserved(self._gpu) if self._gpu else None,
            gpu_utilisation=sum(self._samples) / len(self._samples) if self._samples else None,
            batch_share=batch_seconds / update_seconds if update_seconds else 0.0,
        )


def efficiency(usages: Sequence[Usage], tokens_per_second: float, operations: int) -> dict[str, Any]:
    """Return the entry ``efficiency`` of a run record, without the time before the last restart.

    Args:
        usages: The resources that each process used.
        tokens_per_second: Target tokens per second.
        operations: Floating-point operations per target token.

    Returns:
        The requested and used resources; the memory is that of the machine on which most was used.
    """
    memory: defaultdict[str, int] = defaultdict(int)
    for usage in usages:
        memory[usage["host"]] += usage["memory_bytes"]
    seconds = max(usage["seconds"] for usage in usages)
    gpu_memory = [usage["gpu_memory_bytes"] for usage in usages if usage["gpu_memory_bytes"] is not None]
    utilisations = [usage["gpu_utilisation"] for usage in usages if usage["gpu_utilisation"] is not None]
    return {
        "asked": asked(),
        "used": {
            "memory_bytes": max(memory.values()),
            "cores": round(sum(usage["cpu_seconds"] for usage in usages) / seconds, 2) if seconds else 0.0,
            "gpus": len(gpu_memory),
            "gpu_memory_bytes": max(gpu_memory, default=None),
            "gpu_utilisation": round(sum(utilisations) / len(utilisations), 3) if utilisations else None,
            "seconds": round(seconds, 1),
        },
        "target_tokens_per_second": round(tokens_per_second, 1),
        "model_flops_per_second": round(tokens_per_second * operations),
        "batch_share": round(max(usage["batch_share"] for usage in usages), 3),
    }


def operations_per_token(model: Translator, source_per_target: float) -> int:
    """Return the floating-point operations of training per target token, including source tokens and backward pass.

    The number is 6 · weights · tokens (Kaplan et al. 2020): each weight of a matrix is multiplied and added once in the
    forward pass and twice in the backward pass, for each token that meets it (:meth:`.Translator.meets`). Embedding
    look-ups cost nothing, but the output layer, which may be the same matrix, is counted. Of an encoding, only linear
    layers are counted, because its other parameters are mostly tables. Attention scores are not counted; at the lengths
    of sentences, they are a few per cent.

    Args:
        model: The model.
        source_per_target: The number of source tokens per target token.
    """
    modules = model.named_modules(remove_duplicate=False)
    linear = {f"{name}.weight" for name, module in modules if isinstance(module, nn.Linear)}
    source = target = 0
    for name, weight in model.named_parameters(remove_duplicate=False):
        if weight.dim() < 2 or "embedding" in name or (name.startswith("encoding.") and name not in linear):
            continue
        sides = model.meets(name)
        source += weight.numel() * ("encoder" in sides)
        target += weight.numel() * ("decoder" in sides)
    return round(6 * (source * source_per_target + target))


def corpus_ratio(corpus: ParallelCorpus) -> float:
    """Return the number of source tokens per target token of a corpus, including ends of sentences."""
    return float((corpus.source_lengths + 1).sum() / (corpus.target_lengths + 1).sum())


def gpu_utilisation(identity: str) -> float | None:
    """Return the fraction of the last moments in which a GPU was busy.

    Args:
        identity: The identifier of the GPU for nvidia-smi.

    Returns:
        The fraction; None if nvidia-smi does not report it.
    """
    command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", f"--id={identity}"]
    try:
        percentage = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
        return float(percentage) / 100
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def asked() -> dict[str, Any] | None:
    """Return the resources that SLURM gave to the job, memory per node.

    Returns:
        The resources by name, None if unknown; None outside of SLURM.
    """
    if (job := job_number()) is None:
        return None
    shown = describe_job()
    resources = dict(pair.split("=", 1) for pair in shown.get("TRES", "").split(",") if "=" in pair)
    nodes = int(shown.get("NumNodes", "1").partition("-")[0])
    memory = _bytes(resources.get("mem"))
    gpus = [int(number) for name, number in resources.items() if name.startswith("gres/gpu")]
    return {
        "job": job,
        "nodes": nodes,
        "memory_bytes": memory // nodes if memory else _bytes(os.environ.get("SLURM_MEM_PER_NODE")),
        "cpus": int(resources["cpu"]) if "cpu" in resources else _integer(os.environ.get("SLURM_CPUS_PER_TASK")),
        "gpus": max(gpus, default=0) if resources else _integer(os.environ.get("SLURM_GPUS_ON_NODE")),
        "seconds": _seconds(shown.get("TimeLimit", "")),
    }


def _bytes(text: str | None) -> int | None:
    """Parse an amount of memory in SLURM's format: 4G, 2000M or 2000 (megabytes)."""
    found = re.fullmatch(r"([\d.]+)([KMGT]?)", text or "")
    return int(float(found[1]) * _UNITS[found[2]]) if found else None


def _seconds(text: str) -> int | None:
    """Parse a time in SLURM's format, [days-]hours:minutes:seconds; None for UNLIMITED."""
    found = re.fullmatch(r"(?:(\d+)-)?(\d+):(\d+):(\d+)", text)
    if not found:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _integer(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
