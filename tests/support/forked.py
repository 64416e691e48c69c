"""Run Python modules as commands without the seconds that a new process spends on imports.

The processes are forked from one that has imported what training and the workflow need, and has done nothing else. A
test of signals, of kills or of the start itself runs a process of its own.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import pkgutil
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

from wordorder.registry import KINDS

_IMPORTED = ["snakemake.cli", "snakemake.report.html_reporter", "wordorder.report.caption_texts", "wordorder.cli.main"]
_IMPORTED += ["wordorder.training.run"]
for _package in (*KINDS.values(), "wordorder.workflow"):
    _folder = importlib.import_module(_package).__path__
    _IMPORTED += [module.name for module in pkgutil.iter_modules(_folder, f"{_package}.")]
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(_IMPORTED)


def forked(
    module: str, *words: str | Path, folder: Path | None = None, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Return what ``python -m MODULE WORDS`` prints and how it ends, in a folder and an environment."""
    command = [str(word) for word in words]
    with tempfile.TemporaryDirectory() as printed:
        files = [Path(printed, name) for name in ("stdout", "stderr")]
        process = _SERVER.Process(
            target=_run, args=(module, command, folder or Path.cwd(), environment or dict(os.environ), files)
        )
        process.start()
        try:
            process.join(timeout=300)
            if process.exitcode is None:
                raise subprocess.TimeoutExpired([module, *command], 300)
        finally:
            process.kill()
        return subprocess.CompletedProcess(command, process.exitcode, *(file.read_text("utf-8") for file in files))


def _run(module: str, command: list[str], folder: Path, environment: dict[str, str], files: list[Path]) -> None:
    for descriptor, file in enumerate(files, start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), descriptor)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[:0] = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.argv = [module, *command]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
