"""Run Python modules as commands without the seconds that a new process spends on imports.

The processes are forked from one that has imported what training and the workflow need, and has done nothing else. So
are the jobs of a run of Snakemake, for which ``wordorder`` is a function of the shell (``forked_job.py``). A test of
signals, of kills or of the start itself runs a process of its own.
"""

from __future__ import annotations

import atexit
import importlib
import json
import multiprocessing
import os
import pkgutil
import runpy
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from wordorder.registry import KINDS

_SECONDS = 900  # within which a command ends
_IMPORTED = ["snakemake.cli", "snakemake.report.html_reporter", "wordorder.report.caption_texts", "wordorder.cli.main"]
_IMPORTED += ["torch._dynamo", "wordorder.training.run", "wordorder.report.page", "wordorder.drawing.style"]
_IMPORTED += [f"matplotlib.backends.backend_{name}" for name in ("agg", "pdf", "svg")]
for _package in (*KINDS.values(), "wordorder.workflow"):
    _folder = importlib.import_module(_package).__path__
    _IMPORTED += [module.name for module in pkgutil.iter_modules(_folder, f"{_package}.")]
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(_IMPORTED)
_FORKS = multiprocessing.get_context("fork")


def forked(
    module: str, *words: str | Path, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Return what ``python -m MODULE WORDS`` prints and how it ends, in a folder and an environment."""
    command = [str(word) for word in words]
    with tempfile.TemporaryDirectory() as printed:
        files = [Path(printed, name) for name in ("stdout", "stderr")]
        arguments = (files, module, command, folder or Path.cwd(), dict(environment or os.environ))
        process = _SERVER.Process(target=_print_to, args=arguments)
        process.start()
        try:
            process.join(timeout=_SECONDS)
            if process.exitcode is None:
                raise subprocess.TimeoutExpired([module, *command], _SECONDS)
        finally:
            process.kill()
        return subprocess.CompletedProcess(command, process.exitcode, *(file.read_text("utf-8") for file in files))


def with_forked_jobs(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which the command ``wordorder`` of a job is run by a forked process."""
    program = shlex.join([sys.executable, "-IS", str(Path(__file__).with_name("forked_job.py"))])
    # The jobs' shell prefers a function to a program of the same name.
    return {**environment, "BASH_FUNC_wordorder%%": f'() {{ {program} "$@"; }}', "FORKED_JOBS": str(_jobs())}


def _print_to(files: Sequence[Path], *command: Any) -> None:
    output, errors = (os.open(file, os.O_WRONLY | os.O_CREAT) for file in files)
    _redirect(os.open(os.devnull, os.O_RDONLY), output, errors)
    _run(*command)


def _redirect(*descriptors: int) -> None:
    """Replace the standard input, output and error stream."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)


def _run(module: str, words: Sequence[str], folder: str | Path, environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[:0] = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.argv = [module, *words]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


@cache
def _jobs() -> Path:
    """Start the process that forks jobs, and return its socket."""
    address = Path(tempfile.mkdtemp(prefix="jobs-"), "socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(address))
        listener.listen()
        process = _SERVER.Process(target=_serve, args=(listener,))
        process.start()

    @atexit.register
    def end() -> None:
        process.kill()
        shutil.rmtree(address.parent)

    return address


def _serve(listener: socket.socket) -> None:
    """Fork a process for each job, until the process that started this one ends."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    while parent.sentinel not in wait([listener, parent.sentinel]):
        with listener.accept()[0] as connection:
            _FORKS.Process(target=_answer, args=(connection,)).start()
        multiprocessing.active_children()  # so that the system forgets those that have ended


def _answer(connection: socket.socket) -> None:
    """Run one job, and tell its exit status as a shell does."""
    _, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
    request = json.load(connection.makefile(encoding="utf-8"))
    job = _FORKS.Process(target=_job, args=(descriptors, request))
    job.start()
    job.join()
    assert job.exitcode is not None
    connection.sendall(str(job.exitcode if job.exitcode >= 0 else 128 - job.exitcode).encode())


def _job(descriptors: Sequence[int], request: Mapping[str, Any]) -> None:
    _redirect(*descriptors)
    _run("wordorder.cli", request["words"], request["folder"], request["environment"])
