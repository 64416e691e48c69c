"""Tests of results that a failed job has left outdated, with Snakemake on a workflow of three short jobs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from slurm_cluster import Cluster, why_not
from snakemake_runs import ROOT

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
    group: "prepare"
    shell: "cp {input} {output}"

rule import_text:
    input: "download"
    output: "text"
    group: "prepare"
    params: config.get("case", "kept")
    shell: "cp {input} {output}; test ! -e obstacle"

rule other:
    output: "other"
    shell: "test ! -e obstacle; touch {output}"
"""


class Workflow:
    """A finished workflow: download → text → temporary shards → models → page."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder, self.options = folder, options
        (folder / "Snakefile").write_text(SNAKEFILE)
        (folder / "download").write_text("words\n")
        assert self.run().returncode == 0

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "snakemake", *self.options, *arguments]
        folders = ["--snakefile", str(self.folder / "Snakefile"), "--directory", str(self.folder)]
        return subprocess.run([*command, *folders], cwd=ROOT, capture_output=True, text=True, check=False)

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
    return Workflow(tmp_path, "--cores", "1", "--rerun-incomplete")


def test_results_are_made_again_after_a_job_failed_with_other_parameters(workflow: Workflow) -> None:
    changed = ("--config", "case=lower")
    workflow.fail(*changed)
    assert not (workflow.folder / "text").exists() and (workflow.folder / "page").exists()
    assert not workflow.has_nothing_to_do(*changed)
    assert workflow.run(*changed).returncode == 0
    assert (workflow.folder / "text").exists() and workflow.has_nothing_to_do(*changed)


@pytest.mark.xdist_group("slurm")
def test_results_are_made_again_after_a_group_of_jobs_failed_on_a_cluster(tmp_path: Path) -> None:
    if reason := why_not():
        (pytest.fail if os.environ.get("WORDORDER_REQUIRE_SLURM") else pytest.skip)(reason)
    with Cluster(accounting=False):
        resources = ("--default-resources", "mem_mb=500", "runtime=15", "--retries", "0")
        cluster, changed = Workflow(tmp_path, "--profile", "slurm", *resources), ("--config", "case=lower")
        cluster.fail(*changed)
        assert not (tmp_path / "text").exists() and (tmp_path / "page").exists()
        assert not cluster.has_nothing_to_do(*changed)
        assert cluster.run(*changed).returncode == 0
        assert (tmp_path / "text").exists() and cluster.has_nothing_to_do(*changed)


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
