"""One writer at a time in a directory, on this machine and on others that share its disk.

The lock is the operating system's (flock), which ends with the process that holds it, however it dies. NFS since
Linux 2.6.12, Lustre mounted with 'flock', GPFS and CephFS share it between machines, and give it up when the machine
that held it is gone. The text of the file says who holds it, and its time stamp, renewed all the while, that the holder
lives: that is for people, for 'wordorder status', and for file systems that keep no locks.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, NamedTuple

from wordorder.errors import Interrupted, WordorderError

WAIT_SECONDS = 1.0  # between two looks at a lock that another process holds
BEAT_SECONDS = 30.0
# A holder on another machine counts as dead after so long without a beat; file systems keep times back for a minute.
DEAD_SECONDS = 180.0
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)


class Holder(NamedTuple):
    """Who holds, or last held, a lock."""

    process: int
    host: str
    job: str | None

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}" + (f", SLURM job {self.job}" if self.job else "")


@contextmanager
def locked(file: Path, ask: Callable[[bool], Sequence[bool]], *, for_others: bool = False) -> Iterator[None]:
    """Hold the lock ``file``; where another process has it, wait for that to end.

    A job that was left behind by a killed workflow ends in its own time, and the job that the next run of the workflow
    submits takes over what it has done. ``ask`` is called about every second: whether the lock is taken -> whether any
    process of this training has taken it, and whether any was asked to stop. With ``for_others`` one of them takes it.

    Raises Interrupted when asked to stop meanwhile.
    """
    with open_lock(file) if not for_others else nullcontext() as opened:
        waiting = False
        while True:
            taken, stop = ask(opened is not None and _take(opened, file))
            if taken:
                break
            if stop:
                raise Interrupted(f"Another process was still training in {file.parent} when this was asked to stop.")
            if opened and not waiting:
                opened.seek(0)
                print(
                    f"Another process ({opened.read().strip() or 'unknown'}) is training in {file.parent}. "
                    "Waiting for it to end; two writers would spoil the cell.",
                    file=sys.stderr,
                    flush=True,
                )
            waiting = True
            time.sleep(WAIT_SECONDS)
        with _signed(opened, file) if opened else nullcontext():
            yield


def open_lock(file: Path) -> IO[str]:
    """The file of a lock, which nobody has taken by that. Raises WordorderError where it cannot be written."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return file.open("a+", encoding="utf-8")
    except OSError as error:
        raise WordorderError(
            f"{file} cannot be written: {error.strerror}. Check its folder.", code="unwritable-file"
        ) from error


def _take(opened: IO[str], file: Path) -> bool:
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    if holder(file) is not None:
        return False
    print(
        f"The file system of {file} keeps no locks, so two processes that begin at the same moment are not kept "
        "apart. Mount it with locks ('flock' for Lustre) if you can.",
        file=sys.stderr,
    )
    return True


@contextmanager
def _signed(opened: IO[str], file: Path) -> Iterator[None]:
    """Say in the file who holds it, and that the holder lives."""
    opened.truncate(0)
    opened.write(str(Holder(os.getpid(), socket.gethostname(), os.environ.get("SLURM_JOB_ID"))))
    opened.flush()
    ended = threading.Event()
    threading.Thread(target=_beat, args=(file, ended), daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        opened.truncate(0)


def _beat(file: Path, ended: threading.Event) -> None:
    while not ended.wait(BEAT_SECONDS):
        try:
            os.utime(file)
        except OSError:  # the disk is away for a while, or the directory was deleted
            continue


def holder(file: Path) -> Holder | None:
    """Who holds the lock now, found by reading alone, so that asking never gets into a trainer's way.

    On this machine it is asked whether the process lives, elsewhere whether its last beat is recent.
    """
    try:
        found = re.fullmatch(r"process (\d+) on (.+?)(?:, SLURM job (\S+))?", file.read_text(encoding="utf-8").strip())
        beaten = file.stat().st_mtime
    except OSError:
        return None
    if found is None:
        return None
    named = Holder(int(found[1]), found[2], found[3])
    if named.host == socket.gethostname():
        return named if _lives(named.process) else None
    return named if time.time() - beaten < DEAD_SECONDS else None


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # somebody else's
    return True
