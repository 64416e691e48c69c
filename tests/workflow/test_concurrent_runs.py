"""Tests of parallel runs of Snakemake on one results folder, in one and in two PID namespaces."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from little_study import Workspace
from snakemake_runs import ROOT, outputs

pytestmark = pytest.mark.slow

OTHER = "name: other\nbased_on: little\ntitle: Shares a model\nencodings: [sinusoidal, none]\n"
ELSEWHERE = ["unshare", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
ELSEWHERE += ["sh", "-c", 'hostname elsewhere; exec "$@"', "sh"]


@pytest.fixture
def two(tmp_path: Path) -> Workspace:
    """Two studies that share a dataset and a model."""
    workspace = Workspace(tmp_path)
    workspace.write()
    workspace.change("encodings.yaml", "sinusoidal:", "none: {type: none}\nsinusoidal:")
    (workspace.config / "studies/other.yaml").write_text(OTHER)
    return workspace


def start(workspace: Workspace, study: str, *, before: list[str]) -> subprocess.Popen[str]:
    """Train the models of a study."""
    command = [*before, sys.executable, "-m", "snakemake", "--directory", workspace.folder, "train_all", "--cores", "1"]
    command += ["--rerun-incomplete", "--config", f"config_dir={workspace.config}", f"study={study}"]
    return subprocess.Popen(
        [str(part) for part in command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("machines", [1, 2])
def test_two_runs_that_share_a_model_train_it_once(two: Workspace, machines: int) -> None:
    before = ELSEWHERE if machines == 2 else []
    if before and subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        pytest.skip("PID namespaces are not permitted here")
    runs = [start(two, "other", before=before), start(two, "little", before=[])]
    try:
        said = [run.communicate(timeout=600)[0] for run in runs]
    finally:
        for run in runs:
            with suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
    assert [run.returncode for run in runs] == [0, 0], "\n".join(said)
    models = [("opr", "little"), ("sinusoidal", "little"), ("none", "other")]
    started = [outputs(text) for text in said]
    for rule, expected in {
        "train_model": [two.cell(name, "model.pt", study=study) for name, study in models],
        "train_subword": ["results/data/pair/subword/model.model"],
    }.items():
        assert sorted(file for own in started for file in own.get(rule, [])) == sorted(expected), rule
    assert re.search(r"^Waiting for process \d+ on \S+, a run of Snakemake: both need results/", "\n".join(said), re.M)
    assert all((two.folder / two.cell(name, "model.pt", study=study)).is_file() for name, study in models)
