"""``wordorder models``: the stored models, the studies that use them, and their removal."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from little_study import SIZES, Workspace
from wordorder.cli.main import main
from wordorder.errors import WordorderError
from wordorder.results.index import write_index
from wordorder.status.models import StoredModel, remove, stored_models
from wordorder.workflow.configuration import Configuration


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Two trained models and one that was begun; a second study shares the first."""
    workspace = Workspace(tmp_path)
    workspace.write()
    workspace.change("studies/little.yaml", "seeds: [1]", "seeds: [1, 2]")
    (workspace.config / "studies/other.yaml").write_text(
        "name: other\nbased_on: little\nseeds: [1]\nencodings: [opr, sinusoidal]\n"
    )
    for encoding, seed in (("opr", 1), ("opr", 2)):
        folder = workspace.folder / workspace.model_folder(encoding, seed)
        (folder / "state").mkdir(parents=True)
        (folder / "model.pt").write_bytes(bytes(1_000_000))
        (folder.parent / "cell.json").write_text("{}")
    (workspace.folder / workspace.cell("sinusoidal", "state")).mkdir(parents=True)
    return workspace


def found(workspace: Workspace) -> dict[str, StoredModel]:
    """Return the stored models by 'ENCODING/SEED'."""
    models = stored_models(workspace.folder / "results", Configuration(workspace.config))
    return {f"{model.folder.parts[-4]}/{model.folder.name}": model for model in models}


def run(workspace: Workspace, *options: str) -> int:
    return main(["models", *options, "--results", str(workspace.folder / "results"), "--root", str(workspace.config)])


def test_models_know_their_studies_and_sizes(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    models = found(workspace)
    assert {name: model.studies for name, model in models.items()} == {
        "opr/1": ["little", "other"],
        "opr/2": ["little"],
        "sinusoidal/1": ["little", "other"],
    }
    assert [model.trained for model in models.values()] == [True, True, False]
    assert models["opr/1"].bytes == 1_000_000
    assert run(workspace) == 0
    printed = capsys.readouterr().out
    assert "little, other" in printed and "3 models, 2.0 MB" in printed
    assert run(workspace, "--unused") == 0 and "opr" not in capsys.readouterr().out


def test_what_a_killed_run_has_left_is_no_model(workspace: Workspace) -> None:
    address = (workspace.folder / workspace.model_folder("opr", 1)).parent
    (address / ".cell.json.0123456789ab.partial").mkdir()
    assert "opr/.cell.json.0123456789ab.partial" not in found(workspace)
    assert run(workspace, "--json") == 0


def test_the_weights_count_once_although_the_saved_state_has_them_too(workspace: Workspace) -> None:
    folder = workspace.folder / workspace.cell("opr", "state/finished")
    folder.mkdir()
    (folder / "model.pt").hardlink_to(folder.parents[1] / "model.pt")
    (folder / "record.json").write_bytes(bytes(10))
    assert found(workspace)["opr/1"].bytes == 1_000_010


def test_a_file_that_a_training_removes_meanwhile_has_no_size(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed = workspace.folder / workspace.cell("opr", "state/removed")
    removed.write_bytes(bytes(1000))
    lstat = Path.lstat

    def late(path: Path) -> os.stat_result:
        if path.name == removed.name:
            path.unlink(missing_ok=True)
        return lstat(path)

    monkeypatch.setattr(Path, "lstat", late)
    assert found(workspace)["opr/1"].bytes == 1_000_000
    assert not removed.exists()


def test_unused_models_are_listed_and_removed(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    old = {name: model.folder for name, model in found(workspace).items()}
    workspace.change("encodings.yaml", "k: 8", "k: 4")  # no study uses the models of k = 8 any more
    new = workspace.folder / workspace.model_folder("opr", 1)
    (new / "state").mkdir(parents=True)
    (new.parent / "cell.json").write_text("{}")
    assert run(workspace, "--remove") == 1, "models that are used are never removed"
    assert old["opr/1"].is_dir()
    capsys.readouterr()

    assert run(workspace, "--unused") == 0
    printed = capsys.readouterr().out
    assert printed.count(old["opr/1"].parent.name) == 2 and new.parent.name not in printed
    assert "sinusoidal" not in printed and old["opr/1"].is_dir(), "listing removes nothing"

    lock = old["opr/2"] / "state" / "lock"
    lock.write_text(f"process {os.getpid()} on {socket.gethostname()}")
    assert run(workspace, "--unused", "--remove") == 1
    assert old["opr/1"].is_dir() and old["opr/2"].is_dir(), "all or nothing"
    with pytest.raises(WordorderError) as caught:
        remove([found(workspace)["opr/2"]])
    assert caught.value.code == "training-runs"
    lock.unlink()

    assert run(workspace, "--unused", "--remove") == 0
    assert not old["opr/1"].parent.exists(), "with cell.json, once no seed is left"
    assert new.is_dir() and (new.parent / "cell.json").is_file() and old["sinusoidal/1"].is_dir()


def test_models_of_the_results_of_a_study_stay_although_its_file_has_changed_or_is_elsewhere(
    workspace: Workspace,
) -> None:
    results, folder = workspace.folder / "results", workspace.folder / workspace.model_folder("opr", 1)
    workspace.change("encodings.yaml", "k: 8", "k: 4")
    assert found(workspace)["opr/1"].studies == []
    cells = {("pair", "mini", "opr", 1): f"../{folder.relative_to(results)}"}
    for name in ("little", "elsewhere"):
        write_index(results / name, cells, {"": "."}, {"pair": "."}, {})
    assert found(workspace)["opr/1"].studies == ["elsewhere", "little"]
    assert run(workspace, "--unused", "--remove") == 0
    assert folder.is_dir() and not folder.with_name("2").exists()


def test_a_damaged_index_keeps_every_model(workspace: Workspace) -> None:
    (workspace.folder / "results/little").mkdir()
    (workspace.folder / "results/little/models.json").write_text("{")
    (workspace.config / "studies/other.yaml").unlink()
    workspace.change("encodings.yaml", "k: 8", "k: 4")
    assert run(workspace, "--unused", "--remove") == 1
    assert "opr/1" in {
        f"{path.parts[-4]}/{path.name}" for path in (workspace.folder / "results").glob("models/*/*/*/*/*")
    }


def test_no_folder_stays_of_an_encoding_without_models(workspace: Workspace) -> None:
    models = workspace.folder / "results/models/pair"
    (models / "gone/mini/0123456789/1").mkdir(parents=True)
    (models / "gone/mini/0123456789/cell.json").write_text("{}")
    assert run(workspace, "--unused", "--remove") == 0
    assert {folder.name for folder in models.iterdir()} == {"opr", "sinusoidal"}


def test_a_study_with_a_mistake_keeps_every_model(workspace: Workspace) -> None:
    (workspace.config / "studies/other.yaml").write_text("name: other\nbased_on: nothing\n")
    assert run(workspace, "--unused", "--remove") == 1
    assert (workspace.folder / workspace.cell("opr", "model.pt")).is_file()


@pytest.mark.parametrize(
    ("file", "entry", "change"),
    [
        ("encodings.yaml", "lost: {type: lost}", "encodings: [lost, sinusoidal]"),
        ("sizes.yaml", SIZES.replace("mini: {", "lost: {architecture: lost, "), "sizes: [lost]"),
        ("encodings.yaml", "", "metrics: [chrf++, lost]"),
    ],
)
def test_a_study_whose_extension_is_missing_is_left_out(
    file: str, entry: str, change: str, workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    path = workspace.config / file
    path.write_text(f"{path.read_text()}\n{entry}\n")
    (workspace.config / "studies/other.yaml").write_text(f"name: other\nbased_on: little\n{change}\n")
    assert run(workspace, "--json") == 0
    printed = capsys.readouterr()
    assert [model["studies"] for model in json.loads(printed.out)] == [["little"]] * 3
    (warning,) = printed.err.splitlines()
    assert "'other'" in warning and "'lost'" in warning
    assert run(workspace, "--unused") == 1, "its models could be listed"
