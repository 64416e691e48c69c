"""Coordination of several runs of Snakemake on one results folder: a run waits for others that share its files.

Snakemake's own lock refuses a second run, remains after a kill until a user removes it, and disappears when any other
run ends. Instead, each run lists the files that its jobs read and write in ``results/.runs``, and holds a lock (see
:mod:`wordorder.locks`) that ends with the run. A run that overlaps with others waits for them and then restarts,
because the remaining jobs have changed.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

from wordorder.errors import WordorderError
from wordorder.files import read_json, write_json
from wordorder.locks import holder, locked

_CANCEL = "kill -INT"  # Like Ctrl-C, this also ends the jobs of a run; 'kill' lets it wait for them.
_OLD = 86_400.0  # After this time in seconds, the list of a finished run is removed.


class Rival(NamedTuple):
    """Another run whose files overlap with those of this one.

    Attributes:
        lock: The lock of the other run.
        file: A file that both runs need and at least one of them writes.
    """

    lock: Path
    file: str


class Runs:
    """The runs on a results folder; create the object before Snakemake decides which jobs to run.

    Args:
        results: The results folder.
        restart: Restarts this run.
    """

    def __init__(self, results: Path, restart: Callable[[], NoReturn]) -> None:
        self._folder, self._restart = results / ".runs", restart
        # Snakemake sees the results of these finished runs. It may miss the results of all other runs.
        self._over = {file for file in self._lists() if holder(_lock(file)) is None}

    def turn(self, reads: Iterable[str], writes: Iterable[str]) -> ExitStack:
        """Reserve the files of this run; if other runs use them, wait for those and restart this run.

        Args:
            reads: The inputs of the jobs to run, relative to the working directory.
            writes: The outputs of the jobs to run.

        Returns:
            A context that ends the reservation.
        """
        held, own = ExitStack(), {"reads": sorted(set(reads)), "writes": sorted(set(writes))}
        if not own["writes"]:
            return held
        with locked(self._folder / "lock", waiting="Waiting for {holder}, which looks for other runs of Snakemake."):
            self._remove_old()
            rivals = [rival for file in self._lists() - self._over if (rival := _rival(file, own))]
            if not rivals:
                name = self._folder / f"{secrets.token_hex(6)}.json"
                held.enter_context(locked(_lock(name)))
                write_json(name, own, checksum="none")  # This comes last, so that no run sees a list with a free lock.
                return held
        for lock, file in rivals:
            waiting = f"Waiting for {{holder}}, a run of Snakemake: both need {file}."
            with locked(lock, waiting=waiting, end=_CANCEL):
                pass
        self._restart()

    def _lists(self) -> set[Path]:
        return set(self._folder.glob("*.json"))

    def _remove_old(self) -> None:
        for file in self._over:
            with suppress(OSError):
                if time.time() - file.stat().st_mtime > _OLD:
                    file.unlink()
                    _lock(file).unlink()


def _lock(file: Path) -> Path:
    return file.with_suffix(".lock")


def _rival(file: Path, own: dict[str, list[str]]) -> Rival | None:
    """Return the run with this list if it shares a file with this run that one of them writes."""
    try:
        other = read_json(file)
        reads, writes = set(other["reads"]), set(other["writes"])
    except (WordorderError, KeyError, TypeError):
        return None  # Another run has removed the list, or another version wrote it.
    shared = writes.intersection(own["writes"] + own["reads"]) | reads.intersection(own["writes"])
    return Rival(_lock(file), min(shared)) if shared else None


def restart(folder: str) -> NoReturn:
    """Replace this process by Snakemake with the same command in the same folder.

    Args:
        folder: The folder where Snakemake was started.

    Raises:
        WordorderError: This process was not started by the command 'snakemake'.
    """
    if not any("snakemake" in word for word in sys.orig_argv[:3]):
        raise WordorderError("Another run has changed the remaining jobs. Start Snakemake again.", code="changed-files")
    sys.stdout.flush()
    sys.stderr.flush()
    os.chdir(folder)
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
