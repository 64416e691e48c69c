"""Tests of signals and kills during a training, through Snakemake."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from little_study import Workspace
from snakemake_runs import ROOT, snakemake

TEXT = "results/data/pair/raw/train.source"

pytestmark = [pytest.mark.xdist_group("finished_study"), pytest.mark.slow]


def command(study: Workspace) -> list[str]:
    return [study.cell("opr", "model.pt"), *study.arguments()[1:]]


@contextmanager
def training(study: Workspace) -> Iterator[subprocess.Popen[str]]:
    """Snakemake in a session of its own, in the middle of a training that has validated, and so saved, already."""
    study.change("studies/little.yaml", "max_updates: 20, validate_every: 10", "max_updates: 600, validate_every: 20")
    state = study.folder / study.cell("opr", "state")
    arguments = [sys.executable, "-m", "snakemake", "--directory", str(study.folder), *command(study)]
    with (study.folder / "output").open("w") as output:
        process = subprocess.Popen(
            arguments, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
    try:
        deadline = time.monotonic() + 300
        while not (state / "last.pt").exists():
            assert process.poll() is None and time.monotonic() < deadline, (study.folder / "output").read_text()
            time.sleep(0.05)
        yield process
    finally:
        if members(process):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def members(process: subprocess.Popen[str]) -> dict[int, str]:
    """What still runs in the process group that ``process`` leads: commands by process id."""
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "pgid=,pid=,stat=,args="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(maxsplit=3) for line in listed.splitlines()]
    return {int(row[1]): row[3] for row in rows if int(row[0]) == process.pid and not row[2].startswith("Z")}


def finish(study: Workspace) -> dict[str, object]:
    """Run the training to its end; its record."""
    done = snakemake(study.folder, *command(study))
    assert done.returncode == 0, done.stdout + done.stderr
    record: dict[str, object] = json.loads((study.folder / study.cell("opr", "record.json")).read_text())
    return record


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_to_all_processes_saves_the_training(study: Workspace, number: int) -> None:
    with training(study) as process:
        os.killpg(process.pid, number)
        assert process.wait(timeout=120) != 0
        assert not members(process)
    output = (study.folder / "output").read_text()
    assert "asked to stop and was saved" in output, output
    assert "asked to stop and was saved" in study.log("opr").read_text()
    assert not (study.folder / study.cell("opr", "model.pt")).exists()
    record = finish(study)
    assert record["restarts"] == 1 and record["updates"] == 600


def test_the_status_of_a_saved_training_reaches_snakemake(study: Workspace) -> None:
    with training(study) as process:
        (trainer,) = [pid for pid, args in members(process).items() if "stage train" in args and "logged" not in args]
        os.kill(trainer, signal.SIGUSR1)
        assert process.wait(timeout=120) != 0
    assert "non-zero exit status 75" in (study.folder / "output").read_text()


def test_an_output_that_a_failed_job_lost_is_made_again(study: Workspace) -> None:
    study.change("datasets/pair.yaml", "train: 300", "train: 310")
    log = study.folder / "logs/generate_split/pair/train.log"
    log.unlink()
    (log / "in the way").mkdir(parents=True)
    done = snakemake(study.folder, *study.arguments())
    shutil.rmtree(log)
    assert done.returncode == 1 and "Error in rule generate_split" in done.stderr, done.stdout + done.stderr
    _makes_the_lost_text_again(study)


def test_an_output_that_a_killed_job_lost_is_made_again_after_a_change(study: Workspace) -> None:
    study.change("datasets/pair.yaml", "train: 300", "train: 310")
    arguments = [sys.executable, "-m", "snakemake", "--directory", str(study.folder), *study.arguments()]
    mark = study.folder / ".snakemake/incomplete" / base64.b64encode(TEXT.encode()).decode()
    with subprocess.Popen(arguments, cwd=ROOT, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        deadline = time.monotonic() + 300
        while not mark.exists():
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
    study.change("datasets/pair.yaml", "train: 310", "train: 300")
    assert study.would_run() == {}  # The models are those of this configuration.
    study.change("datasets/pair.yaml", "train: 300", "train: 310")
    _makes_the_lost_text_again(study)


def _makes_the_lost_text_again(study: Workspace) -> None:
    """Check that the next run makes the text again, although there are models that were trained on the one before."""
    assert not (study.folder / TEXT).exists() and (study.folder / study.cell("opr", "model.pt")).exists()
    done = snakemake(study.folder, *study.arguments())
    assert done.returncode == 0, done.stdout + done.stderr
    assert (study.folder / TEXT).exists()
    assert study.would_run() == {}


def test_after_sigkill_of_everything_the_training_goes_on(study: Workspace) -> None:
    with training(study) as process:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert finish(study)["restarts"] == 1
