"""Several runs of Snakemake on one results folder: one that needs the files of another waits for it.

Snakemake's own lock refuses the second run, holds after a kill until somebody removes it, and is lost when any other
run ends. Here each run lists the files that its jobs read and write in ``results/.runs``, and holds a lock (see
:mod:`wordorder.locks`) that ends with it. A run that overlaps with others waits for them and then starts again, since
what is left to do has changed.
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

_OLD = 86_400.0  # seconds after which the list of a run that ended is removed


class Rival(NamedTuple):
    """Another run, and a file that both need and at least one of them writes."""

    lock: Path
    file: str


class Runs:
    """The runs on a results folder, as this one finds them before it decides what to do.

    Args:
        results: The results folder.
        restart: Starts this run again.
    """

    def __init__(self, results: Path, restart: Callable[[], NoReturn]) -> None:
        self._folder, self._restart = results / ".runs", restart
        # What these have done is seen by this run; what others do, from now on, may not be.
        self._over = {file for file in self._lists() if holder(_lock(file)) is None}

    def turn(self, reads: Iterable[str], writes: Iterable[str]) -> ExitStack:
        """Keep other runs from the files of this one, and start again when others have worked on them meanwhile.

        Args:
            reads: The inputs of the jobs that are to run, relative to the working directory.
            writes: Their outputs.

        Returns:
            A context. Other runs have their turn when it ends.
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
                write_json(name, own, checksum="none")  # last, so that nobody sees a list whose lock is free
                return held
        for lock, file in rivals:
            with locked(lock, waiting=f"Waiting for {{holder}}, a run of Snakemake: both need {file}."):
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
    """Return the run with this list if it and this run need a file that one of them writes."""
    try:
        other = read_json(file)
        reads, writes = set(other["reads"]), set(other["writes"])
    except (WordorderError, KeyError, TypeError):
        return None  # removed, or not of this version
    shared = writes.intersection(own["writes"] + own["reads"]) | reads.intersection(own["writes"])
    return Rival(_lock(file), min(shared)) if shared else None


def restart(folder: str) -> NoReturn:
    """Start Snakemake again, with the same command, in the folder where it was started.

    Raises:
        WordorderError: This process was not started as a command.
    """
    if not any("snakemake" in word for word in sys.orig_argv[:3]):
        raise WordorderError("Another run has changed what is left to do. Start Snakemake again.", code="changed-files")
    sys.stdout.flush()
    sys.stderr.flush()
    os.chdir(folder)
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
