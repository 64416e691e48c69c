"""The run record: versions, hardware and memory of a training run."""

from __future__ import annotations

import datetime
import platform
import resource
import socket
import subprocess
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

PACKAGES = ("wordorder", "torch", "lightning-fabric", "numpy", "sentencepiece", "sacremoses", "sacrebleu", "snakemake")


def environment() -> dict[str, Any]:
    """Describe the commit, the packages and the hardware of this process."""
    return {
        "git_commit": loaded_commit(),
        "python": platform.python_version(),
        **machine(),
        "finished": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def machine() -> dict[str, Any]:
    """Describe the packages and the hardware of this process."""
    return {
        "packages": {name: _version(name) for name in PACKAGES},
        "hardware": {
            "host": socket.gethostname(),
            "processor": _processor(),
            # Other instruction sets (AVX2, AVX512) round differently and give another model.
            "instructions": torch.backends.cpu.get_cpu_capability(),
            "threads": torch.get_num_threads(),
            "gpus": [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())],
        },
    }


def peak_memory() -> dict[str, int]:
    """Return the peak memory in bytes of this process and, if there is one, of its GPU."""
    factor = 1 if sys.platform == "darwin" else 1024
    peak = {"process_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * factor}
    if torch.cuda.is_available():
        peak["gpu_bytes"] = torch.cuda.max_memory_allocated()
    return peak


@cache
def loaded_commit() -> str | None:
    """Return the commit of the code that this process has loaded.

    A training calls the function when it starts, because its working copy may be updated before it ends.
    """
    return git_commit(Path(__file__).parent)


def git_commit(here: Path) -> str | None:
    """Return the commit of the source tree that contains a folder.

    Changes of results do not count, because they do not affect training.

    Args:
        here: The folder.

    Returns:
        The commit, with '+' if tracked files have changed; None outside a repository.
    """
    all_but_results = [":/", ":(top,exclude)results"]
    try:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=True)
        asked = ["git", "status", "--porcelain", "--untracked-files=no", "--", *all_but_results]
        changed = subprocess.run(asked, cwd=here, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit.stdout.strip() + ("+" if changed.stdout.strip() else "")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
