"""Tests of studies through ``--profile slurm`` on a real SLURM: the same results despite failures of jobs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import torch

from little_study import Workspace
from slurm_cluster import Cluster, wait_until, why_not
from snakemake_runs import ROOT

# One process, so that one cluster at a time is in /etc/slurm.
pytestmark = [pytest.mark.xdist_group("slurm"), pytest.mark.slow]

# Every training requests one of the two GPUs.
TABLE = "# dataset size memory_gb hours nodes cpus gpus\n*  *  2  0.5  1  1  1\n"
ENCODINGS = ["opr", "sinusoidal"]
# What two runs of a training may differ in.
TIMES = {"seconds", "target_tokens_per_second", "tokens_per_second", "peak_memory", "efficiency", "finished"}
DIFFERENT = {*TIMES, "restarts", "git_commit"}


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """One node with accounting, unless a test asks for another."""
    if reason := why_not():
        (pytest.fail if os.environ.get("WORDORDER_REQUIRE_SLURM") else pytest.skip)(reason)
    with Cluster(**getattr(request, "param", {})) as running:
        yield running


@pytest.fixture(autouse=True)
def no_job_left(cluster: Cluster) -> Iterator[None]:
    yield
    cluster.cancel_all()


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The study, run on this machine without a network: from the downloads on, nothing needs one."""
    study = new_study(tmp_path_factory.mktemp("local"))
    command = ["unshare", "--net", sys.executable, "-m", "snakemake", "--directory", study.folder, *study.arguments()]
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return study


def new_study(folder: Path) -> Workspace:
    study = Workspace(folder)
    study.write()
    study.change("studies/little.yaml", "max_updates: 20, validate_every: 10", "max_updates: 200, validate_every: 10")
    study.change("studies/little.yaml", "baseline:", "figures: [scores]\nbaseline:")
    (folder / "training.tsv").write_text(TABLE)
    return study


@pytest.fixture
def untrained(local: Workspace, tmp_path: Path) -> Workspace:
    """A copy of the study in which the model of OPR is still to be trained."""
    shutil.copytree(local.folder.parent, tmp_path / "copy")
    study = Workspace(tmp_path / "copy")
    shutil.rmtree(study.folder / study.model_folder("opr"))
    return study


# -------------------------------------------------------------------------------------------------- what befalls jobs


class Run:
    """``snakemake --profile slurm`` at work while the test looks on."""

    def __init__(self, study: Workspace, *arguments: str) -> None:
        self.study, self.output = study, study.folder.parent / "output"
        table = study.folder.parent / "training.tsv"
        command = [sys.executable, "-m", "snakemake", "--directory", study.folder, "--profile", "slurm", *arguments]
        command += ["--config", f"config_dir={study.config}", f"training_table={table}"]
        with self.output.open("w") as output:
            self.process = subprocess.Popen(
                [str(part) for part in command],
                cwd=ROOT,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=_hear_ctrl_c,
            )

    def until(self, what: str, done: Callable[[], bool]) -> None:
        def look() -> bool:
            assert self.process.poll() is None, f"Snakemake ended before {what}: {self.output.read_text()}"
            return done()

        wait_until(what, look, seconds=300)

    def paused(self, encoding: str, newer_than: float = 0) -> int:
        """Stop the trainer of a cell (SIGSTOP) as soon as it has saved its state; its process."""
        found: list[int] = []

        def look() -> bool:
            found[:] = [pid for pid in trainers(self.study, encoding) if saved_at(self.study, encoding) > newer_than]
            for pid in found:
                os.kill(pid, signal.SIGSTOP)
            return bool(found)

        self.until(f"the state of {encoding} was saved", look)
        (pid,) = found
        return pid

    def finish(self) -> str:
        assert self.process.wait(timeout=500) == 0, self.output.read_text()
        return self.output.read_text()


def _hear_ctrl_c() -> None:
    # What a shell starts in the background ignores it, and so does what that starts.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def running(study: Workspace, *arguments: str) -> Iterator[Run]:
    run = Run(study, *arguments)
    try:
        yield run
    finally:
        if run.process.poll() is None:
            os.killpg(run.process.pid, signal.SIGKILL)
        run.process.wait()


def model_of(study: Workspace) -> str:
    return study.cell("opr", "model.pt")


def trainers(study: Workspace, encoding: str) -> list[int]:
    """Processes that train a cell of a study: 'python …/wordorder stage train …', not the shell around it."""
    found, model = [], study.cell(encoding, "model.pt")
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().decode().split("\0")
            trains = words[1:2] and words[1].endswith("/wordorder") and words[2:4] == ["stage", "train"]
            if trains and model in words and (process / "cwd").readlink() == study.folder:
                found.append(int(process.name))
    return found


def saved_at(study: Workspace, encoding: str) -> float:
    """When the state of a cell was last saved; 0 if it was not."""
    with suppress(FileNotFoundError):
        return (study.folder / study.cell(encoding, "state/last.pt")).stat().st_mtime
    return 0


def job_of(cluster: Cluster, encoding: str) -> int:
    """The job that trains a cell."""
    (job,) = [job for job, comment in cluster.jobs("train_model", "running").items() if f"_{encoding}_" in comment]
    return job


def delay(cluster: Cluster, stage: str, following: str) -> float:
    """Seconds from the end of the last job of a stage to the start of the last job that waited for one of them."""

    def times(rule: str, name: str) -> list[float]:
        return [datetime.fromisoformat(cluster.field(job, name)).timestamp() for job in cluster.jobs(rule)]

    return max(times(following, "StartTime")) - max(times(stage, "EndTime"))


def record(study: Workspace, encoding: str) -> dict[str, Any]:
    return dict(json.loads((study.folder / study.cell(encoding, "record.json")).read_text()))


def test_a_study_on_two_gpus_ends_as_it_does_here(cluster: Cluster, local: Workspace, tmp_path: Path) -> None:
    study = new_study(tmp_path)
    with running(study, "little") as run:
        # Something more urgent takes both GPUs. SLURM puts the trainings back into the queue, under their numbers.
        for encoding in ENCODINGS:
            run.paused(encoding)
        jobs = [job_of(cluster, encoding) for encoding in ENCODINGS]
        assert all("gres/gpu=1" in cluster.field(job, "TRES") for job in jobs)
        cluster.tell("sbatch", "--partition=urgent", "--gres=gpu:2", "--output=/dev/null", "--wrap=sleep 1")
        for job in jobs:
            cluster.start_at_once(job)
        # One is warned as before its time is up, the other cancelled. Snakemake submits both again.
        before = {encoding: saved_at(study, encoding) for encoding in ENCODINGS}
        pids = [run.paused(encoding, newer_than=before[encoding]) for encoding in ENCODINGS]
        cluster.tell("scancel", "--signal=TERM", jobs[0])
        os.kill(pids[0], signal.SIGCONT)
        cluster.tell("scancel", jobs[1])
        output = run.finish()
    assert [cluster.field(job, "Restarts") for job in jobs] == ["1", "1"]
    assert [cluster.field(job, "JobState") for job in jobs] == ["FAILED", "CANCELLED"]
    assert output.count("Trying to restart job") == 2
    assert [record(study, encoding)["restarts"] for encoding in ENCODINGS] == [2, 2]
    submitted = {
        rule: len(cluster.jobs(rule)) for rule in ("prepare", "train_model", "evaluate_model", "compare_systems")
    }
    assert submitted == {"prepare": 1, "train_model": 4, "evaluate_model": 2, "compare_systems": 1}
    waited = [
        delay(cluster, *stages) for stages in (("train_model", "evaluate_model"), ("evaluate_model", "compare_systems"))
    ]
    assert max(waited) < 30, f"stages began {waited} s after the ones before them"
    assert_same_results(study, local)


def test_a_training_on_a_lost_node_goes_on(cluster: Cluster, local: Workspace, untrained: Workspace) -> None:
    with running(untrained, model_of(untrained)) as run:
        run.paused("opr")
        job = job_of(cluster, "opr")
        cluster.lose_node()
        wait_until("SLURM to miss the node", lambda: cluster.field(job, "JobState") != "RUNNING", seconds=60)
        cluster.start_slurmd()
        time.sleep(5)  # SLURM is still telling the node to end what ran there: why requeued jobs wait for two minutes
        cluster.start_at_once(job)
        output = run.finish()
    assert cluster.field(job, "Restarts") == "1" and cluster.field(job, "JobState") == "COMPLETED"
    assert output.count("has been submitted") == 1, "Snakemake submitted the job as well"
    assert record(untrained, "opr")["restarts"] == 1
    assert_same_training(untrained, local)


def test_a_killed_snakemake_leaves_a_job_that_the_next_run_waits_for(
    cluster: Cluster, local: Workspace, untrained: Workspace
) -> None:
    with running(untrained, model_of(untrained)) as run:
        trainer = run.paused("opr")
        job = job_of(cluster, "opr")
    log = untrained.log("opr")
    with running(untrained, model_of(untrained)) as run:
        run.until("the second job waits", lambda: log.exists() and "Waiting for process" in log.read_text())
        assert len(trainers(untrained, "opr")) == 2
        os.kill(trainer, signal.SIGCONT)
        run.finish()
    assert cluster.field(job, "JobState") == "COMPLETED"
    assert record(untrained, "opr")["restarts"] == 0, "two trainers have written"
    assert_same_training(untrained, local)


def test_a_job_without_enough_memory_gets_more(cluster: Cluster, local: Workspace, untrained: Workspace) -> None:
    (untrained.folder.parent / "training.tsv").write_text(TABLE.replace("  2  ", "  0.4  "))
    before = set(cluster.jobs("train_model"))
    with running(untrained, model_of(untrained), "--slurm-status-command", "sacct") as run:
        run.finish()
    jobs = sorted(set(cluster.jobs("train_model")) - before)
    memory = [cluster.field(job, "MinMemoryNode") for job in jobs]
    assert memory == ["400M", "800M", "1200M", "1600M"][: len(jobs)] and len(jobs) > 1
    assert {cluster.field(job, "JobState") for job in jobs[:-1]} <= {"FAILED", "OUT_OF_MEMORY"}
    assert_same_training(untrained, local)


def test_five_hundred_trainings_are_queued_and_cancelled_together(cluster: Cluster, untrained: Workspace) -> None:
    untrained.change("studies/little.yaml", "seeds: [1]", f"seeds: {list(range(101, 351))}")
    cluster.tell("scontrol", "update", "partitionname=main", "state=down")
    try:
        with running(untrained, "little") as run:
            run.until("500 jobs are in the queue", lambda: len(cluster.jobs("train_model", "pending")) == 500)
            run.process.send_signal(signal.SIGINT)
            run.process.wait(timeout=120)
        assert not cluster.jobs(state="pending"), "Ctrl-C cancels what was submitted"
    finally:
        cluster.tell("scontrol", "update", "partitionname=main", "state=up")


def test_a_group_of_jobs_that_slurm_rejects_says_why(cluster: Cluster, tmp_path: Path) -> None:
    assert "invalid partition" in rejected(tmp_path, "slurm_partition=nosuch")


def test_a_group_of_jobs_with_an_unknown_account_does_not_wait_forever(cluster: Cluster, tmp_path: Path) -> None:
    assert "account nosuch appears to be invalid" in rejected(tmp_path, "slurm_account=nosuch")


def rejected(folder: Path, resource: str) -> str:
    """Run a study whose jobs have a resource that the cluster rejects; return what Snakemake said."""
    study = new_study(folder)
    with running(study, "little", "--retries", "0", "--default-resources", resource, "mem_mb=500", "runtime=15") as run:
        assert run.process.wait(timeout=400) == 1, run.output.read_text()
    said = run.output.read_text()
    assert "The group of jobs 'prepare' was not submitted." in said
    return said


@pytest.mark.parametrize("cluster", [{"accounting": False}], indirect=True)
def test_a_cluster_without_accounting_will_do(cluster: Cluster, local: Workspace, untrained: Workspace) -> None:
    with running(untrained, model_of(untrained)) as run:
        run.paused("opr")
        cluster.tell("scancel", job_of(cluster, "opr"))
        assert run.finish().count("Trying to restart job") == 1
    assert_same_training(untrained, local)


@pytest.mark.parametrize("cluster", [{"accounting": False, "nodes": 2}], indirect=True)
def test_a_training_on_two_nodes_goes_on_after_a_warning(
    cluster: Cluster, local: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On one GPU of each. A node's processes share every update, and stop together."""
    shutil.copytree(local.folder.parent, tmp_path / "copy")
    study = Workspace(tmp_path / "copy")
    study.change("studies/little.yaml", "batch_tokens: 512", "batch_tokens: 256, accumulate: 2")
    (study.folder.parent / "training.tsv").write_text(TABLE.replace("1  1  1", "2  1  1"))
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")  # the nodes are of one machine, so their names are nobody's address
    with running(study, model_of(study)) as run:
        run.until("the state was saved", lambda: saved_at(study, "opr") > 0)
        job = job_of(cluster, "opr")
        assert (cluster.field(job, "NumNodes"), cluster.field(job, "TresPerJob")) == ("2", "gres:gpu:2")
        cluster.tell("scancel", "--signal=TERM", job)
        output = run.finish()
    assert output.count("Trying to restart job") == 1
    trained = record(study, "opr")
    assert (trained["processes"], trained["restarts"], trained["efficiency"]["asked"]["nodes"]) == (2, 1, 2)


# ------------------------------------------------------------------------------------------------------------ the demo


@pytest.fixture
def finished_demo() -> Workspace:
    """The demo as 'make demo' has left it in a folder that the environment names."""
    folder = Path(os.environ["WORDORDER_FINISHED_DEMO"])
    demo = Workspace(folder)
    demo.folder, demo.config = folder, folder / "config"
    return demo


@pytest.mark.skipif(
    "WORDORDER_FINISHED_DEMO" not in os.environ,
    reason="WORDORDER_FINISHED_DEMO names no folder of a finished 'make demo'",
)
def test_the_demo_ends_on_a_cluster_as_it_does_here(cluster: Cluster, finished_demo: Workspace, tmp_path: Path) -> None:
    """Two of its models are trained again, one on each GPU: one job is cancelled, the other taken back by SLURM."""
    demo = Workspace(tmp_path)
    for name in ("results", ".snakemake"):
        shutil.copytree(finished_demo.folder / name, demo.folder / name, ignore=shutil.ignore_patterns("report.html"))
    shutil.copytree(finished_demo.config, demo.config)
    (tmp_path / "training.tsv").write_text(TABLE)
    for encoding in ("opr", "inxl"):
        shutil.rmtree(demo.folder / demo.model_folder(encoding, study="demo"))
    with running(demo, "demo") as run:
        for encoding in ("opr", "inxl"):
            state = demo.folder / demo.cell(encoding, "state/last.pt", study="demo")
            run.until(f"the state of {encoding} was saved", state.exists)
        cancelled, requeued = (job_of(cluster, encoding) for encoding in ("opr", "inxl"))
        cluster.tell("scancel", cancelled)
        cluster.tell("scontrol", "requeue", requeued)
        cluster.start_at_once(requeued)
        output = run.finish()
    assert output.count("Trying to restart job") == 1 and cluster.field(requeued, "Restarts") == "1"
    for encoding in ("opr", "inxl"):
        file = demo.folder / demo.cell(encoding, "record.json", study="demo")
        assert json.loads(file.read_text())["restarts"] == 1, encoding
    assert_same_results(demo, finished_demo, but="report.html")


# ------------------------------------------------------------------------------------------------------ comparison


def assert_same_results(study: Workspace, local: Workspace, but: str = "") -> None:
    names = [name for name in result_files(local) if Path(name).name != but]
    assert result_files(study) == names
    assert_same_files(names, study, local)


def assert_same_training(study: Workspace, local: Workspace) -> None:
    assert_same_files([study.cell("opr", file) for file in ("model.pt", "metrics.jsonl", "record.json")], study, local)


def assert_same_files(names: list[str], study: Workspace, local: Workspace) -> None:
    """Byte for byte; of records and metrics all but times and restarts."""
    for name in names:
        ours, theirs = study.folder / name, local.folder / name
        if name.endswith("model.pt"):
            left, right = (torch.load(path, weights_only=True) for path in (ours, theirs))
            assert left.keys() == right.keys()
            assert all(torch.equal(left["weights"][key], right["weights"][key]) for key in right["weights"]), name
        elif name.endswith(("record.json", "metrics.jsonl")):
            assert without_times(ours) == without_times(theirs), name
        else:
            assert ours.read_bytes() == theirs.read_bytes(), name


def result_files(study: Workspace) -> list[str]:
    """Neither the state of a training, which is nobody's output, nor lists of runs, nor the table and the page that
    tell its speed.

    Checksums follow from the files beside them.
    """
    found = (path for path in study.folder.glob("results/**/*") if path.is_file() and path.suffix != ".sha256")
    files = [path.relative_to(study.folder) for path in found]
    timed = ("parameters", "index")
    return sorted(str(path) for path in files if {"state", ".runs"}.isdisjoint(path.parts) and path.stem not in timed)


def without_times(file: Path) -> list[dict[str, Any]]:
    text = file.read_text()
    documents = [json.loads(text)] if file.suffix == ".json" else [json.loads(line) for line in text.splitlines()]
    return [{key: value for key, value in document.items() if key not in DIFFERENT} for document in documents]
