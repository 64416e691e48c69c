"""The GPUs of a workstation or an allocation, which jobs share: each takes those that the fewest other jobs use."""

from __future__ import annotations

import fcntl
import itertools
import os
import tempfile
from pathlib import Path
from typing import IO

import torch

from wordorder.training.slurm import has_own_job

VISIBLE = "CUDA_VISIBLE_DEVICES"
_RANK = "LOCAL_RANK"  # The first process of a training sets it for those that it starts, and assigns GPUs to them.
# A lock ends with its open file, and so with this process, however it ends.
_held: list[IO[str]] = []


def take_gpus(number: int = 1) -> None:
    """Let this process see only the GPUs that it uses: those that the fewest other jobs of this user have taken.

    The variable CUDA_VISIBLE_DEVICES is set, so PyTorch must not have used a GPU in this process yet. Nothing changes
    if the machine has fewer than two GPUs, if GPUs were assigned to this process, or if the folder for the locks cannot
    be written.

    Args:
        number: The number of GPUs that this process and those that it starts use.
    """
    visible = [] if has_own_job() or _RANK in os.environ else _visible()
    if len(visible) < 2:
        return
    try:
        os.environ[VISIBLE] = ",".join(_least_used(visible, min(number, len(visible)), _folder()))
    except OSError:
        return


def _visible() -> list[str]:
    """Return the names of the GPUs that this process may use, as CUDA_VISIBLE_DEVICES takes them."""
    count = torch.cuda.device_count()  # Does not start CUDA, which would then ignore the variable.
    named = os.environ.get(VISIBLE)
    return named.split(",")[:count] if named else [str(number) for number in range(count)]


def _folder() -> Path:
    """Return the folder of this user's locks on this machine.

    Raises:
        OSError: It cannot be made, or belongs to somebody else.
    """
    folder = Path(tempfile.gettempdir()) / f"wordorder-gpus-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user.")
    return folder


def _least_used(names: list[str], number: int, folder: Path) -> list[str]:
    """Take the locks of GPUs; each of the jobs that share a GPU has a lock with another number."""
    taken: list[str] = []
    for place, name in ((place, name) for place in itertools.count() for name in names):
        if name not in taken and _take(folder / f"{name.replace('/', '_')}.{place}"):
            taken.append(name)
        if len(taken) == number:
            break
    return sorted(taken, key=names.index)


def _take(file: Path) -> bool:
    opened = file.open("a", encoding="utf-8")
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        opened.close()
        return False
    _held.append(opened)
    return True
