"""Processes that share the work of this one and end with it."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from wordorder.errors import WordorderError

T = TypeVar("T")

_PR_SET_PDEATHSIG = 1
_work: Callable[[int], Any]  # of a child process


def can_fork() -> bool:
    """Return whether this process may start children that inherit its memory."""
    return sys.platform == "linux" and not multiprocessing.current_process().daemon


def end_with_parent(is_child: Callable[[], bool]) -> None:
    """Let Linux end this process with its parent, even if the parent is killed.

    Args:
        is_child: Returns whether the parent still runs.
    """
    if is_child() and sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if not is_child():  # The parent ended before the call.
            sys.exit(1)


def shared(work: Callable[[int], T], count: int, processes: int) -> Iterator[tuple[int, T]]:
    """Do ``count`` pieces of work in child processes of one thread each.

    The children inherit the memory of this process and copy only the pages that one of them changes. Each takes the
    next piece when it has finished one, so that the first pieces should be the longest.

    Args:
        work: Does one piece, given its number from 0. Its results are pickled.
        count: Number of pieces.
        processes: Number of processes.

    Yields:
        The number of each piece and its result, in the order in which they are finished.

    Raises:
        WordorderError: A process was killed.
    """
    fork = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(processes, fork, initializer=_start, initargs=(work, os.getpid()))
    try:
        numbers = {pool.submit(_do, number): number for number in range(count)}
        for future in as_completed(numbers):
            yield numbers[future], future.result()
    except BrokenProcessPool as error:
        raise WordorderError(
            f"One of {processes} processes that shared the work was ended from outside, probably because the machine "
            "ran out of memory. Use fewer threads, because each thread is a process with memory of its own (--threads, "
            "or the threads of the rule), smaller batches ('batch_tokens'), or more memory.",
            code="process-killed",
            found=processes,
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _start(work: Callable[[int], Any], parent: int) -> None:
    global _work
    end_with_parent(lambda: os.getppid() == parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the parent ends the others.
    import torch  # of which this module otherwise knows nothing

    torch.set_num_threads(1)
    _work = work


def _do(number: int) -> Any:
    return _work(number)
