"""Tests of results that a failed job has left outdated, with Snakemake on a workflow of three short jobs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SNAKEFILE = """
from wordorder.workflow.deletions import Deletions

deletions = Deletions()

onstart:
    deletions.start(workflow.dag.needrun_jobs())

onerror:
    for job in deletions.outdated(workflow.dag, workflow.scheduler.failed):
        workflow.persistence.started(job)

rule page:
    input: "models"
    output: "page"
    shell: "cp {input} {output}"

rule train:
    input: "shards"
    output: "models"
    shell: "cp {input} {output}"

rule cut:
    input: "text"
    output: temp("shards")
    shell: "cp {input} {output}"

rule import_text:
    input: "download"
    output: "text"
    params: config.get("case", "kept")
    shell: "cp {input} {output}; test ! -e obstacle"

rule other:
    output: "other"
    shell: "test ! -e obstacle; touch {output}"
"""


class Workflow:
    """A finished workflow: download → text → temporary shards → models → page."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "Snakefile").write_text(SNAKEFILE)
        (folder / "download").write_text("words\n")
        assert self.run().returncode == 0

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "snakemake", "--cores", "1", "--rerun-incomplete", *arguments]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)

    def fail(self, *arguments: str) -> None:
        """Run the workflow with an obstacle that lets jobs fail, and remove the obstacle."""
        (self.folder / "obstacle").touch()
        assert self.run(*arguments).returncode == 1
        (self.folder / "obstacle").unlink()

    def has_nothing_to_do(self, *arguments: str) -> bool:
        done = self.run("--dry-run", *arguments)
        assert done.returncode == 0, done.stderr
        return "Nothing to be done" in done.stdout + done.stderr


@pytest.fixture
def workflow(tmp_path: Path) -> Workflow:
    return Workflow(tmp_path)


def test_results_are_made_again_after_a_job_failed_with_other_parameters(workflow: Workflow) -> None:
    changed = ("--config", "case=lower")
    workflow.fail(*changed)
    assert not (workflow.folder / "text").exists() and (workflow.folder / "page").exists()
    assert not workflow.has_nothing_to_do(*changed)
    assert workflow.run(*changed).returncode == 0
    assert (workflow.folder / "text").exists() and workflow.has_nothing_to_do(*changed)


def test_results_are_made_again_after_a_job_failed_with_another_input(workflow: Workflow) -> None:
    (workflow.folder / "download").write_text("other words\n")
    workflow.fail()
    assert workflow.run().returncode == 0
    assert (workflow.folder / "page").read_text() == "other words\n"


def test_results_stay_if_the_job_that_failed_was_only_forced_or_made_something_else(workflow: Workflow) -> None:
    before = os.stat(workflow.folder / "page")
    workflow.fail("--forcerun", "import_text")
    workflow.fail("page", "other")
    assert workflow.has_nothing_to_do()
    assert workflow.run("page", "other").returncode == 0
    assert os.stat(workflow.folder / "page") == before
