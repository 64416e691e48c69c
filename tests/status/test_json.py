"""``--json`` of ``plan``, ``status`` and ``models``: records for scripts."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from little_study import Workspace
from wordorder.cli.main import main
from wordorder.files import write_json
from wordorder.status.records import CellRecord, ModelRecord, PartRecord


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Two encodings with one seed each, of which the first is trained; a companion shares the trained model."""
    monkeypatch.setenv("PATH", "/usr/bin-without-squeue")
    workspace = Workspace(tmp_path)
    workspace.write()
    workspace.change("studies/little.yaml", "title:", "companions: [twin]\ntitle:")
    twin = "name: twin\nbased_on: little\ntitle: Its twin\nencodings: [opr]\nbaseline: opr\n"
    (workspace.config / "studies/twin.yaml").write_text(twin)
    folder = workspace.folder / workspace.model_folder("opr", 1)
    folder.mkdir(parents=True)
    (folder / "model.pt").write_bytes(bytes(1000))
    record = {"status": "finished", "updates": 20, "seconds": 60.0, "target_tokens_per_second": 1000.0}
    write_json(folder / "record.json", {**record, "precision": "fp32", "device": "cpu"})
    return workspace


def printed(workspace: Workspace, capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    common = ["--json", "--results", str(workspace.folder / "results"), "--root", str(workspace.config)]
    assert main([*words, *common]) == 0
    return json.loads(capsys.readouterr().out)


def test_status(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    log = workspace.log("sinusoidal", 1)
    log.parent.mkdir(parents=True)
    log.write_text("wordorder: error: one\nwordorder: error: two\n")
    found = printed(workspace, capsys, "status", "little", "--log-lines", "1")
    assert all(record.keys() == {each.name for each in fields(CellRecord)} for record in found)
    states = {(record["study"], record["encoding"], record["seed"]): record for record in found}
    assert {name: record["state"] for name, record in states.items()} == {
        ("little", "opr", 1): "done",
        ("little", "sinusoidal", 1): "failed",
        ("twin", "opr", 1): "done",
    }
    done, failed = states["little", "opr", 1], states["little", "sinusoidal", 1]
    assert (done["update"], done["seconds"], done["tokens_per_second"]) == (20, 60.0, 1000.0)
    assert (done["scored"], done["tests"], done["job"], done["log"]) == (0, 1, None, None)
    assert (failed["log"], failed["log_tail"]) == (str(log), ["wordorder: error: two"])


def test_watching_prints_a_list_per_line(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def sleep(seconds: float) -> None:
        if not (folder := workspace.folder / workspace.model_folder("sinusoidal", 1)).exists():
            write_json(folder / "record.json", {"status": "finished", "updates": 20})
            return
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", sleep)
    common = ["--results", str(workspace.folder / "results"), "--root", str(workspace.config)]
    assert main(["status", "little", "--json", "--watch", "5", *common]) == 0
    lists = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [[record["state"] for record in each] for each in lists] == [
        ["done", "queued", "done"],
        ["done", "done", "done"],
    ]


def test_plan(workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    profile = workspace.folder / "profile"
    profile.mkdir()
    (profile / "training.tsv").write_text("* * 1 2 1 1 0\n")
    corpus = workspace.folder / "results/data/pair/binary/train/meta.json"
    write_json(corpus, {"target_tokens": 9000, "vocabulary_size": 50})
    found = printed(workspace, capsys, "plan", "little", "--profile", str(profile))
    parts = {part["study"]: part for part in found["parts"]}
    assert all(part.keys() == {each.name for each in fields(PartRecord)} for part in found["parts"])
    assert {name: (part["cells"], part["done"]) for name, part in parts.items()} == {"little": (2, 1), "twin": (1, 1)}
    little = parts["little"]
    assert little["tokens_counted"] and not little["speed_estimated"]
    assert (little["device"], little["tokens_per_second"]) == ("cpu", 1000.0)
    assert little["hours_left"] == pytest.approx(little["tokens"] / 1000 / 3600) == little["longest_hours"]
    assert (little["job_limit_hours"], little["jobs"]) == (2, 1)
    assert parts["twin"]["hours_left"] == 0
    assert found["data"].keys() == {"downloads", "unknown_downloads", "prepared", "unknown_prepared"}

    monkeypatch.setenv("WORDORDER_ERRORS", "json")
    assert main(["plan", "little", "--json", "--price", "2", "--root", str(workspace.config)]) == 1
    error = json.loads(capsys.readouterr().err)
    assert (error["code"], error["key"]) == ("conflicting-options", "--price")


def test_models(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    (workspace.folder / workspace.model_folder("sinusoidal", 1)).mkdir(parents=True)
    trained, begun = printed(workspace, capsys, "models")
    assert trained.keys() == {each.name for each in fields(ModelRecord)}
    folder = workspace.folder / workspace.model_folder("opr", 1)
    assert (trained["encoding"], trained["seed"], trained["digest"]) == ("opr", 1, folder.parent.name)
    assert (trained["folder"], trained["studies"], trained["trained"]) == (str(folder), ["little", "twin"], True)
    assert trained["bytes"] > 1000
    assert (begun["encoding"], begun["trained"], begun["bytes"]) == ("sinusoidal", False, 0)
    assert printed(workspace, capsys, "models", "--unused") == []
