"""What a training job asked for and what it used, so that the next one asks for less."""

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

from wordorder.data.binary import ParallelCorpus
from wordorder.model.architectures.base import Translator
from wordorder.training.slurm import describe_job, job_number

SAMPLE_SECONDS = 10.0
_UNITS = {"": 1 << 20, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}  # SLURM means megabytes by default


class Usage(TypedDict):
    """Of one process."""

    host: str
    memory_bytes: int
    seconds: float
    cpu_seconds: float
    gpu_memory_bytes: int | None
    gpu_utilisation: float | None
    batch_share: float


class Meter:
    """Measures this process from ``with`` to ``with``'s end; a GPU is looked at every ten seconds."""

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
        """``batch_seconds`` of the ``update_seconds`` went into making batches, while the GPU may have waited."""
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
    """The entry ``efficiency`` of a record: of the processes that ended the training, not of those before a restart.

    ``operations`` are those for one target token. Memory is that of the machine where most was used.
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
    """Floating-point operations of a training for one target token, source tokens and backward pass included.

    6 · weights · tokens (Kaplan et al. 2020): each weight of a matrix is multiplied and added once forward and twice
    backward for every token that meets it (:meth:`.Translator.meets`). Embeddings are looked up and cost nothing, but
    the output layer, which may be the same matrix, does. Scores between tokens are not counted: a few per cent at the
    lengths of sentences.
    """
    source = target = 0
    for name, weight in model.named_parameters(remove_duplicate=False):
        if weight.dim() < 2 or "embedding" in name:
            continue
        sides = model.meets(name)
        source += weight.numel() * ("encoder" in sides)
        target += weight.numel() * ("decoder" in sides)
    return round(6 * (source * source_per_target + target))


def corpus_ratio(corpus: ParallelCorpus) -> float:
    """Return the source tokens of a corpus for each of its target tokens, ends counted."""
    return float((corpus.source_lengths + 1).sum() / (corpus.target_lengths + 1).sum())


def gpu_utilisation(identity: str) -> float | None:
    """The share of the last moments in which a GPU was at work, as nvidia-smi tells it."""
    command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", f"--id={identity}"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
        return float(told) / 100
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def asked() -> dict[str, Any] | None:
    """What the SLURM job was given, a node where it says so; None outside of SLURM, and for what nobody tells."""
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
    """4G, 2000M or 2000 (megabytes) as SLURM writes them."""
    found = re.fullmatch(r"([\d.]+)([KMGT]?)", text or "")
    return int(float(found[1]) * _UNITS[found[2]]) if found else None


def _seconds(text: str) -> int | None:
    """[days-]hours:minutes:seconds; None for UNLIMITED."""
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
