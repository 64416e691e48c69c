"""Tests of ``wordorder status`` and ``wordorder efficiency``, while a study runs and afterwards."""

from __future__ import annotations

import datetime
import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from little_study import Workspace
from wordorder.cli.main import main
from wordorder.results.index import CellFiles
from wordorder.status.cells import CellStatus, look
from wordorder.status.efficiency import efficiency_text
from wordorder.status.table import seconds_left, status_text
from wordorder.workflow.study import CellName

NOW = datetime.datetime(2026, 1, 31, 22, 0)
GB = 1 << 30


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """The little study with six seeds of one encoding; nothing has run."""
    workspace = Workspace(tmp_path)
    workspace.write()
    workspace.change("studies/little.yaml", "seeds: [1]", "seeds: [1, 2, 3, 4, 5, 6]")
    workspace.change("studies/little.yaml", "encodings: [opr, sinusoidal]", "encodings: [sinusoidal]")
    workspace.folder.mkdir()
    return workspace


def folder_of(workspace: Workspace, seed: int) -> Path:
    folder = workspace.folder / workspace.model_folder("sinusoidal", seed)
    (folder / "state").mkdir(parents=True, exist_ok=True)
    return folder


def write_record(folder: Path, **values: Any) -> None:
    record = {"status": "finished", "updates": 20, "seconds": 60.0, "target_tokens_per_second": 1000.0, **values}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "record.json").write_text(json.dumps(record))


def write_log(workspace: Workspace, seed: int, text: str) -> None:
    log = workspace.log("sinusoidal", seed)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(text)


def write_running(folder: Path, *, update: int, seconds_an_update: float, host: str | None = None) -> None:
    who = f"process {os.getpid()} on {host or socket.gethostname()}"
    (folder / "state" / "lock").write_text(f"{who}, SLURM job 9")
    progress = {"update": update, "planned_updates": 20, "updates_per_second": 1 / seconds_an_update}
    (folder / "state" / "progress.json").write_text(
        json.dumps({**progress, "target_tokens_per_second": 500.0, "restarts": 0})
    )


def told(workspace: Workspace, capsys: pytest.CaptureFixture[str], *command: str) -> str:
    (workspace.folder / "results").mkdir(exist_ok=True)
    common = ["--results", str(workspace.folder / "results"), "--root", str(workspace.config)]
    assert main([command[0], "little", *command[1:], *common]) == 0
    return capsys.readouterr().out


def rows(text: str) -> dict[str, str]:
    """Return each line of the table, by seed."""
    lines = [line.split() for line in text.split("\n\n")[0].splitlines()[2:]]
    return {line[3]: " ".join(line[4:]) for line in lines}


def test_every_state_is_told_from_the_files(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin-without-squeue")
    done = folder_of(workspace, 1)
    write_record(done)
    scores = workspace.folder / workspace.scores("sinusoidal")
    scores.parent.mkdir(parents=True)
    scores.write_text("{}")
    write_running(folder_of(workspace, 2), update=5, seconds_an_update=4.0)
    stopped = folder_of(workspace, 3) / "state"
    (stopped / "last.pt").touch()
    (stopped / "metrics.jsonl").write_text('{"kind": "train", "update": 7, "tokens_per_second": 3.0}\n{"kind": "tr')
    write_log(
        workspace, 3, "train: 7/20\nwordorder: The training was asked to stop and was saved after update 7 in x.\n"
    )
    write_log(workspace, 4, "Traceback (most recent call last):\nwordorder: error: results/train does not exist.\n")
    write_record(folder_of(workspace, 5), status="diverged", updates=9)
    text = told(workspace, capsys, "status")
    found = rows(text)
    assert rows(told(workspace, capsys, "status", "--log-lines", "0")) == found, "logs that are not shown are read"
    assert found["1"] == "done 20 1,000 1/1"
    assert found["2"].startswith("running 5 of 20 (25%) 500 ")
    assert found["2"].endswith(f" on {socket.gethostname()}, job 9")
    assert found["3"].startswith("stopped 7 asked to stop;")
    assert found["4"] == "failed results/train does not exist."
    assert found["5"] == "failed 9 of 9 (100%) 1,000 diverged: no finite loss, update 9"
    assert found["6"] == "queued"
    log = workspace.log("sinusoidal", 4)
    assert f"pair sinusoidal mini 4 failed, {log} ends:\n    Traceback" in text
    assert "\n    wordorder: error: results/train does not exist.\n" in text
    last = text.splitlines()[-1]
    assert last.startswith("little: 1 of 6 cells done, 1 running, 1 stopped, 1 queued, 2 failed; 500 tokens/s together")
    # 15 updates of 4 s, then two cells of a minute each, as no share of the stopped one is known to be done.
    assert last.endswith("(in 3 min).")


@pytest.mark.parametrize("option", [(), ("--json",)])
def test_the_folder_around_the_results_is_not_taken_for_them(
    option: tuple[str, ...], workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    write_record(folder_of(workspace, 1))
    common = ["--root", str(workspace.config), *option]
    assert main(["status", "little", "--results", str(workspace.folder), *common]) == 1
    results = workspace.folder / "results"
    assert f"but {results} has one. Name the folder of all results: --results {results}." in capsys.readouterr().err
    assert main(["status", "little", "--results", str(results), *common]) == 0


def write_evaluation_log(workspace: Workspace, seed: int, text: str) -> Path:
    path = workspace.evaluation("sinusoidal", seed).replace("results/models", "logs/evaluate_model")
    log = (workspace.folder / path).with_suffix(".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(text)
    return log


def test_a_failed_evaluation_is_shown_until_its_scores_exist(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin-without-squeue")
    for seed in (1, 2):
        write_record(folder_of(workspace, seed))
        write_log(workspace, seed, "the training succeeded\n")
    log = write_evaluation_log(workspace, 1, "translating\nwordorder: error: data/test is damaged.\n")
    write_evaluation_log(workspace, 2, "translating\n")
    text = told(workspace, capsys, "status")
    found = rows(text)
    assert found["1"] == "done 20 1,000 0/1 not scored: data/test is damaged."
    assert found["2"] == "done 20 1,000 0/1"
    assert f" 1 not scored, {log} ends:\n    translating\n    wordorder: error: data/test is damaged.\n" in text
    assert "the training succeeded" not in text
    assert "little: 2 of 6 cells done, 4 queued, the evaluation of 1 failed;" in text
    (record,) = [each for each in json.loads(told(workspace, capsys, "status", "--json")) if each["reason"]]
    assert (record["seed"], record["state"], record["log"]) == (1, "done", str(log))
    scores = workspace.folder / workspace.scores("sinusoidal")
    scores.parent.mkdir(parents=True)
    scores.write_text("{}")
    text = told(workspace, capsys, "status")
    assert rows(text)["1"] == "done 20 1,000 1/1" and "failed" not in text


def test_a_diverged_training_is_neither_done_nor_scored(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin-without-squeue")
    write_record(folder_of(workspace, 1), status="diverged", updates=9, precision="fp32", device="cpu")
    scores = workspace.folder / workspace.scores("sinusoidal")
    scores.parent.mkdir(parents=True)
    scores.write_text("{}")
    record = json.loads(told(workspace, capsys, "status", "--json"))[0]
    assert (record["state"], record["scored"], record["tests"]) == ("failed", 0, 1)
    assert "little: 0 of 6 cells done, 5 queued, 1 failed." in told(workspace, capsys, "status")
    assert "little: 6 cells, 1 done (1 of them diverged), 5 to train;" in told(workspace, capsys, "plan")


def test_a_killed_training_is_not_running(workspace: Workspace) -> None:
    name, folder = CellName("pair", "sinusoidal", "mini", 1), folder_of(workspace, 1)

    def state(log: str = "") -> tuple[str, str]:
        if log:
            write_log(workspace, 1, log)
        found = look(name, CellFiles(folder, {}, "", {}), [], None)
        return found.state, found.reason

    assert state() == ("queued", "")
    write_running(folder, update=5, seconds_an_update=1.0)
    assert state()[0] == "running"
    (folder / "state" / "lock").write_text(f"process {2**22 + 1} on {socket.gethostname()}")  # no such process
    assert state("train: 5/20 updates\n")[0] == "failed"
    (folder / "state" / "last.pt").touch()
    assert state()[0] == "stopped" and "killed" in state()[1]
    (folder / "state" / "lock").write_text("process 1 on elsewhere.example")  # it beats
    assert state()[0] == "running"
    os.utime(folder / "state" / "lock", (0, 0))
    assert state()[0] == "stopped"
    assert state("slurmstepd: error: Detected 1 oom_kill event in step 9.0\n")[0] == "failed"
    # Snakemake has deleted the outputs before it publishes them again.
    write_record(folder / "state" / "finished")
    assert state()[0] == "done"


@pytest.mark.parametrize("content", ["{}", "[]", '{"update": 5}', "3"])
def test_a_report_of_progress_in_another_form_counts_as_missing(workspace: Workspace, content: str) -> None:
    name, folder = CellName("pair", "sinusoidal", "mini", 1), folder_of(workspace, 1)
    write_running(folder, update=5, seconds_an_update=1.0)
    (folder / "state" / "progress.json").write_text(content)
    (folder / "state" / "metrics.jsonl").write_text(f'{{"update": 4, "tokens_per_second": 3.0}}\n{content}\n')
    found = look(name, CellFiles(folder, {}, "", {}), [], None)
    assert (found.state, found.planned) == ("running", None)
    assert found.update == (5 if "update" in content else 4)


def test_companions_are_shown_too(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin-without-squeue")
    write_record(folder_of(workspace, 1))
    alone = told(workspace, capsys, "status")
    twin = "name: twin\nbased_on: little\ntitle: Its twin\nseeds: [7, 8]\n"
    (workspace.config / "studies/twin.yaml").write_text(twin)
    workspace.change("studies/little.yaml", "title:", "companions: [twin]\ntitle:")
    write_record(workspace.folder / workspace.model_folder("sinusoidal", 8, "twin"), target_tokens_per_second=500.0)
    text = told(workspace, capsys, "status")
    heading = "little: A little study\n======================\n\n"
    assert text.startswith(f"{heading}{alone}\ntwin: Its twin\n==============\n\n")
    found = rows(text.partition("twin: Its twin\n==============\n\n")[2])
    assert found == {"7": "queued", "8": "done 20 500 0/1"}
    assert text.endswith(
        "twin: 1 of 2 cells done, 1 queued; 500 tokens/s per cell.\n\n"
        "little and its companions\n=========================\n\n"
        "All 2 studies: 2 of 8 cells done, 6 queued; 750 tokens/s per cell.\n"
    )


SQUEUE = """#!/bin/sh
[ "$1 $2 $3" = "--me --noheader --format" ] || exit 1
echo "$4" | sed -e "s:%i:31:; s:%T:PENDING:; s:%r:Priority:; s:%k:{comment}:; s:%Z:{folder}:"
"""


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_queued_cell_has_its_job(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, elsewhere: bool
) -> None:
    program = workspace.folder / "bin" / "squeue"
    program.parent.mkdir()
    comment = "_".join(["rule_train_model_wildcards", *workspace.model_folder("sinusoidal", 2).split("/")[2:]])
    folder = workspace.folder / "other" if elsewhere else workspace.folder
    program.write_text(SQUEUE.format(comment=comment, folder=folder))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    write_log(workspace, 2, "wordorder: error: it failed before and is tried again\n")
    found = rows(told(workspace, capsys, "status"))
    error = "failed it failed before and is tried again"
    assert found["2"] == (error if elsewhere else "queued SLURM job 31 is pending (Priority)")
    assert found["1"] == "queued"


def cells_of(*states: tuple[str, dict[str, Any]]) -> list[CellStatus]:
    return [
        CellStatus(CellName("pair", "sinusoidal", "mini", seed), state=state, **values)  # type: ignore[arg-type]
        for seed, (state, values) in enumerate(states)
    ]


def test_the_finish_of_a_study_is_foretold() -> None:
    running = ("running", {"update": 10, "planned": 40, "seconds_left": 300.0})
    done, queued = ("done", {"seconds": 100.0}), ("queued", {})
    assert seconds_left(cells_of(done, queued)) is None  # nothing runs
    assert seconds_left(cells_of(running, done)) == 300
    assert seconds_left(cells_of(running, running, done)) == 300
    # Five cells of 100 s and two of 300 s, two at a time.
    assert seconds_left(cells_of(running, running, done, *[queued] * 5)) == (600 + 500) / 2
    # Nothing is done: one takes what those that run will have taken, 300 s / (30/40).
    assert seconds_left(cells_of(running, queued)) == 300 + 400
    # Half of a stopped one is done already.
    assert seconds_left(cells_of(running, done, ("stopped", {"update": 20, "planned": 40}))) == 350
    assert seconds_left(cells_of(("running", {}), queued)) is None


def test_a_large_study_lists_what_matters() -> None:
    done = [("done", {"seconds": 1.0})] * 50
    many = cells_of(*done, ("running", {"update": 3}), *[("queued", {})] * 10, ("done", {"reason": "not scored"}))
    text = status_text("big", many, {"pair": []}, NOW, everything=False)
    assert list(rows(text)) == ["50", "61"]
    assert "big: 51 of 62 cells done, 1 running, 10 queued, " in text and "--all lists them." in text
    assert len(rows(status_text("big", many, {"pair": []}, NOW, everything=True))) == 62


def test_a_finish_on_another_day_has_its_date() -> None:
    text = status_text("s", cells_of(("running", {"seconds_left": 7200.0})), {"pair": []}, NOW, everything=False)
    assert "2026-02-01 00:00" in text and text.endswith("trained at about 2026-02-01 00:00 (in 2 h 0 min).")


def test_an_unknown_study_is_an_error(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("status", "efficiency"):
        assert main([command, "litle", "--root", str(workspace.config)]) == 1
        assert "little" in capsys.readouterr().err


@pytest.mark.parametrize(("command", "key"), [("status", "status"), ("efficiency", "status"), ("plan", "precision")])
def test_a_record_of_another_shape_is_said(
    command: str, key: str, workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder_of(workspace, 1) / "record.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[]")
    common = ["--results", str(workspace.folder / "results"), "--root", str(workspace.config)]
    assert main([command, "little", *common]) == 1
    assert f"{path} has no '{key}', so it was not written by" in capsys.readouterr().err


def test_watching_repeats_until_interrupted(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        write_record(folder_of(workspace, 1))
        if len(slept) == 2:
            raise KeyboardInterrupt

    monkeypatch.setenv("PATH", "/usr/bin-without-squeue")
    monkeypatch.setattr("time.sleep", sleep)
    text = told(workspace, capsys, "status", "--watch", "7")
    assert slept == [7, 7]
    assert [line for line in text.splitlines() if "cells done" in line] == [
        "little: 0 of 6 cells done, 6 queued.",
        "little: 1 of 6 cells done, 5 queued; 1,000 tokens/s per cell.",
    ]


def measured(*, asked: dict[str, Any] | None, **used: Any) -> dict[str, Any]:
    defaults = {"memory_bytes": GB, "cores": 1.0, "gpus": 0, "gpu_memory_bytes": None, "gpu_utilisation": None}
    return {
        "target_tokens_per_second": 2000.0,
        "efficiency": {
            "asked": asked,
            "used": {**defaults, "seconds": 1800.0, **used},
            "model_flops_per_second": 5_000_000_000,
            "batch_share": 0.04,
        },
    }


def name(seed: int) -> CellName:
    return CellName("pair", "opr", "mini", seed)


def test_whoever_asks_for_far_too_much_is_told() -> None:
    gpu = {"gpus": 1, "gpu_memory_bytes": 2 * GB}
    asked = {"job": "5", "nodes": 1, "memory_bytes": 32 * GB, "cpus": 8, "gpus": 2, "seconds": 36000}
    wasteful = measured(asked=asked, gpu_utilisation=0.12, **gpu)
    worse = measured(asked={**asked, "memory_bytes": 64 * GB}, gpu_utilisation=0.2, **gpu)
    text = efficiency_text("s", {name(1): wasteful, name(2): worse})
    assert "1.0 / 32.0" in text and "1 / 2" in text and "12%" in text and "0.50 / 10.00" in text and "2,000" in text
    warnings = [line for line in text.splitlines() if line.startswith("Warning: 2 ")]
    for line, facts in zip(
        warnings,
        (
            ("memory", "pair/opr/mini/2 most: 64.0 GB", " 1.0 GB", "'memory_gb'"),
            ("CPUs", "pair/opr/mini/1 most: 8 CPUs", "'cpus'"),
            ("GPUs", "pair/opr/mini/1 most: 2 GPUs", " 1 used", "'gpus'"),
            ("idle", "pair/opr/mini/1 most: 12% busy"),
        ),
        strict=True,
    ):
        assert all(fact in line for fact in facts), line


def test_whoever_asks_for_what_it_needs_is_left_alone() -> None:
    fine = {"job": "5", "nodes": 1, "memory_bytes": 4 * GB, "cpus": 2, "gpus": 1, "seconds": None}
    ample = {**fine, "memory_bytes": 16 * GB}
    records = {
        name(1): measured(asked=fine, memory_bytes=GB // 2, cores=0.9, gpus=1, gpu_utilisation=0.31),
        name(2): measured(asked=ample, memory_bytes=4 * GB, cores=1.7, gpus=1, gpu_utilisation=0.9),
        name(3): measured(asked=None),
        name(4): {"target_tokens_per_second": 100.0},
    }
    text = efficiency_text("s", records)
    assert "Warning" not in text
    assert "\n\n1 of 4 records " in text
    assert efficiency_text("s", {}).startswith("s: no cell is trained yet.")


def test_efficiency_of_a_study(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    write_record(folder_of(workspace, 2), **measured(asked=None))
    text = told(workspace, capsys, "efficiency")
    assert rows(text)["2"] == "1.0 1.0 0.50 2,000 5.0 4%"


def test_a_stopped_run_has_no_time_left(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_of(workspace, 2)
    write_running(folder, update=5, seconds_an_update=4.0)
    (folder / "state" / "lock").unlink()
    (folder / "state" / "last.pt").touch()
    found = {each["seed"]: each for each in json.loads(told(workspace, capsys, "status", "--json"))}
    assert (found[2]["state"], found[2]["update"]) == ("stopped", 5)
    assert found[2]["seconds_left"] is None and found[2]["tokens_per_second"] is None
