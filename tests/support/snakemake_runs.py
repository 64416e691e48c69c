"""Run the project's workflow as a user does, and read Snakemake's list of jobs."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import pkgutil
import re
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

from wordorder.registry import KINDS

ROOT = Path(__file__).parents[2]

# A dry-run mostly imports. It is forked from a process that has imported what it needs and has done nothing else.
_IMPORTED = ["snakemake.cli", "snakemake.report.html_reporter", "wordorder.report.caption_texts"]
for _package in (*KINDS.values(), "wordorder.workflow"):
    _folder = importlib.import_module(_package).__path__
    _IMPORTED += [module.name for module in pkgutil.iter_modules(_folder, f"{_package}.")]
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(_IMPORTED)


def snakemake(folder: Path, *arguments: str | Path, profile: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``snakemake`` from the root of the project on the results in ``folder``."""
    words = ["--directory", folder, *arguments, *(["--profile", profile] if profile else [])]
    command = [str(word) for word in words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if {"--dry-run", "-n"} & set(command):
        return _forked(command, environment)
    return subprocess.run(
        [sys.executable, "-m", "snakemake", *command],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def _forked(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Return what ``python -m snakemake`` with these arguments would."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("stdout", "stderr")]
        process = _SERVER.Process(target=_run, args=(command, environment, files))
        process.start()
        process.join()
        assert process.exitcode is not None
        return subprocess.CompletedProcess(command, process.exitcode, *(file.read_text("utf-8") for file in files))


def _run(command: list[str], environment: dict[str, str], files: list[Path]) -> None:
    for descriptor, file in enumerate(files, start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), descriptor)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(ROOT)
    sys.path[:0] = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.argv = ["snakemake", *command]
    runpy.run_module("snakemake", run_name="__main__", alter_sys=True)


def dry_run(folder: Path, *arguments: str | Path, profile: str | None = None) -> str:
    """Return the output of a dry-run, which must succeed."""
    done = snakemake(folder, "--dry-run", *arguments, profile=profile)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def job_counts(text: str) -> dict[str, int]:
    """Count the jobs of each rule in the table 'Job stats' of a dry-run; empty if nothing is left to do."""
    table = re.search(r"^job +count\n[- ]+\n((?:\S+ +\d+\n)+)", text, re.MULTILINE)
    rows = re.findall(r"^(\S+) +(\d+)$", table[1], re.MULTILINE) if table else []
    return {rule: int(count) for rule, count in rows if rule != "total"}


def outputs(text: str) -> dict[str, list[str]]:
    """Return the first output of each job that a dry-run lists, sorted, by rule."""
    found: dict[str, list[str]] = {}
    # The jobs of a group are indented.
    for _, rule, block in re.findall(r"^( *)(?:local)?rule (\S+):\n((?:\1 +.*\n)+)", text, re.MULTILINE):
        if output := re.search(r"^ +output: ([^,\n]+)", block, re.MULTILINE):
            found.setdefault(rule, []).append(output[1])
    return {rule: sorted(files) for rule, files in found.items()}
