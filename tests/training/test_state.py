"""Tests of the state folder: who may use it, whose state it holds, and what is loaded from it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from raises import raises
from wordorder.files import write_json, write_text
from wordorder.model.checkpoint import load_tensors, save_tensors
from wordorder.training import state
from wordorder.training.state import StateDirectory, average


def test_state_of_something_else_is_thrown_away(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path)
    assert directory.claim("one") is False
    directory.save({"update": 1})
    assert directory.claim("one") is False
    assert directory.load() == {"update": 1}
    assert directory.claim("two") is True
    assert directory.load() is None


def test_state_of_another_validation_set_is_thrown_away(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path)
    directory.claim("run")
    assert directory.begin("one") is False
    directory.save({"update": 1})
    directory.save_checkpoint(1, {"w": torch.zeros(1)}, keep=1)
    directory.metrics.write_text("{}\n")
    directory.tensorboard.mkdir()
    assert directory.begin("one") is False
    assert directory.load() == {"update": 1}
    assert directory.begin("two") is True
    assert directory.load() is None and not directory.checkpoints()
    assert not directory.metrics.exists() and not directory.tensorboard.exists()
    assert directory.begin("two") is False


@pytest.mark.parametrize("step", range(6))
def test_an_interrupted_claim_leaves_nothing_that_looks_like_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Wherever it is killed, the old configuration takes nothing of what is left for its own."""
    directory = StateDirectory(tmp_path)
    directory.claim("old")
    directory.save({"update": 1})
    directory.finished.mkdir()
    for name in ("model.pt", "record.json"):
        (directory.finished / name).touch()
    steps = iter(range(99))

    def mortal(function: Any) -> Any:
        def killed(*arguments: Any, **named: Any) -> Any:
            if next(steps) == step:
                raise KeyboardInterrupt
            return function(*arguments, **named)

        return killed

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        for module, name in ((os, "unlink"), (os, "rmdir"), (state, "write_text")):
            patch.setattr(module, name, mortal(getattr(module, name)))
        directory.claim("new")
    assert directory.claim("old") is False
    untouched = step == 0
    assert directory.finished.exists() is untouched
    assert (directory.load() is not None) is untouched


KILLED = """
import os, signal, sys; from pathlib import Path; import torch
from wordorder.training.state import StateDirectory
torch.save = lambda state, file: (file.write(b"half"), os.kill(os.getpid(), signal.SIGKILL))
StateDirectory(Path(sys.argv[1])).save({})
"""


def test_what_a_killed_process_left_half_written_is_removed(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path)
    directory.claim("one")
    directory.save({"update": 1})
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    (tmp_path / ".finished.0123456789ab.partial").mkdir()
    assert len(list(tmp_path.glob(".*.partial"))) == 2
    assert directory.claim("one") is False
    assert sorted(path.name for path in tmp_path.iterdir()) == [".stamp.sha256", "last.pt", "stamp"]
    assert directory.load() == {"update": 1}


def test_a_training_that_has_ended_leaves_nothing_that_it_no_longer_needs(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path)
    directory.save({"update": 1})
    directory.save_checkpoint(1, {"weight": torch.zeros(1)}, keep=1)
    directory.report_progress({"update": 1})
    directory.metrics.touch()
    directory.clean()
    assert not list(tmp_path.iterdir())


def test_only_the_newest_checkpoints_are_kept_and_averaged(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path)
    for update in (1, 2, 10):
        directory.save_checkpoint(update, {"weight": torch.tensor([float(update)]), "count": torch.tensor(4)}, keep=2)
    assert [path.name for path in directory.checkpoints()] == ["checkpoint-000000002.pt", "checkpoint-000000010.pt"]
    mean = average(directory.checkpoints())
    assert mean["weight"].item() == 6.0 and mean["weight"].dtype == torch.float32
    assert mean["count"].item() == 4 and mean["count"].dtype == torch.int64


def test_a_resumed_training_keeps_the_checkpoints_of_its_state_and_no_others(tmp_path: Path) -> None:
    for update in (1, 2, 9):
        save_tensors(tmp_path / f"checkpoint-{update:09d}.pt", {"weight": torch.zeros(1)})
    directory = StateDirectory(tmp_path)
    directory.keep([1, 2])  # the state is older than the last checkpoint
    assert [path.name for path in directory.checkpoints()] == ["checkpoint-000000001.pt", "checkpoint-000000002.pt"]
    directory.save_checkpoint(3, {"weight": torch.zeros(1)}, keep=2)
    assert directory.kept == [2, 3]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint-000000002.pt", "checkpoint-000000003.pt"]
    (tmp_path / "checkpoint-000000002.pt").unlink()
    with raises("missing-file", path=tmp_path / "checkpoint-000000002.pt", says=f"Delete {tmp_path}"):
        directory.checkpoints()


def test_a_state_of_an_earlier_version_names_no_checkpoints_and_keeps_all(tmp_path: Path) -> None:
    for update in (1, 2):
        save_tensors(tmp_path / f"checkpoint-{update:09d}.pt", {"weight": torch.zeros(1)})
    directory = StateDirectory(tmp_path)
    directory.keep(None)
    assert directory.kept == [1, 2] and len(directory.checkpoints()) == 2


def test_a_damaged_state_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path)
    (tmp_path / "last.pt").write_bytes(b"not a state")
    with raises("damaged-file", path=directory.path / "last.pt"):
        directory.load()


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_text("{")], ids=["missing", "damaged"])
def test_a_finished_training_with_a_missing_or_damaged_file_is_done_again(
    damage: Callable[[Path], object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = StateDirectory(tmp_path)
    names = ["model.pt", "record.json"]
    directory.discard_damaged(names)  # before the end of the training
    directory.finished.mkdir()
    save_tensors(directory.finished / "model.pt", {"weight": torch.ones(1)})
    write_json(directory.finished / "record.json", {})
    directory.discard_damaged(names)
    assert directory.finished.exists() and not capsys.readouterr().err
    damage(directory.finished / "record.json")
    directory.discard_damaged(names)
    said = capsys.readouterr().err
    assert not directory.finished.exists() and "record.json" in said and "the model is trained again" in said


def test_publishing_survives_the_deletion_of_an_output(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path / "state")
    directory.finished.mkdir(parents=True)
    save_tensors(directory.finished / "model.pt", {"weight": torch.ones(1)})
    output = tmp_path / "model.pt"
    for _ in range(2):
        directory.publish({"model.pt": output})
        assert load_tensors(output) == {"weight": torch.ones(1)}
        output.unlink()


# ------------------------------------------------------------------------------------------ writes in the background


def test_a_state_is_written_in_the_background_as_it_was_when_it_was_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow disk: the training goes on meanwhile and changes its weights."""
    may_write, threads = threading.Event(), []

    def slowly(path: Path, tensors: Any) -> None:
        threads.append(threading.current_thread().name)
        may_write.wait(30)
        save_tensors(path, tensors)

    monkeypatch.setattr(state, "save_tensors", slowly)
    directory = StateDirectory(tmp_path, background=True)
    weight = torch.ones(2)
    directory.save({"weights": {"a": weight, "tied": weight.detach()}, "update": 3})
    weight.zero_()
    assert not (tmp_path / "last.pt").exists()
    may_write.set()
    directory.wait()
    found = directory.load()
    assert found is not None and found["update"] == 3
    assert found["weights"]["a"].tolist() == [1, 1]
    assert found["weights"]["a"].data_ptr() == found["weights"]["tied"].data_ptr()
    assert threads[0].startswith("writer")


def test_background_writes_give_the_same_files(tmp_path: Path) -> None:
    states = {background: tmp_path / str(background) for background in (False, True)}
    for background, folder in states.items():
        folder.mkdir()
        directory = StateDirectory(folder, background=background)
        weight = torch.ones(2)
        directory.save({"weights": {"a": weight, "tied": weight.detach()}, "update": 3})
        for update in range(4):
            directory.save_checkpoint(update, {"weight": torch.full((2,), float(update))}, keep=2)
        assert [path.name for path in directory.checkpoints()] == ["checkpoint-000000002.pt", "checkpoint-000000003.pt"]
    names = {path.name for path in states[False].iterdir()}
    assert names == {path.name for path in states[True].iterdir()}
    assert all((states[False] / name).read_bytes() == (states[True] / name).read_bytes() for name in names)


def test_a_background_write_that_fails_is_an_error_at_a_later_save(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    directory = StateDirectory(tmp_path / "file", background=True)
    directory.save({"update": 1})
    with raises("unwritable-file"):
        for update in (2, 3):
            directory.save({"update": update})


def test_a_checkpoint_and_a_state_are_saved_one_after_the_other_without_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a validation; only a third write waits for the first."""
    may_write = threading.Event()

    def slowly(path: Path, tensors: Any) -> None:
        may_write.wait(30)
        save_tensors(path, tensors)

    monkeypatch.setattr(state, "save_tensors", slowly)
    directory = StateDirectory(tmp_path, background=True)
    directory.save_checkpoint(1, {"weight": torch.ones(2)}, keep=1)
    directory.save({"update": 1})
    third = threading.Thread(target=directory.save, args=[{"update": 2}])
    third.start()
    third.join(0.2)
    assert third.is_alive() and not list(tmp_path.glob("*.pt"))
    may_write.set()
    third.join(30)
    directory.wait()
    found = directory.load()
    assert found is not None and found["update"] == 2
    assert len(directory.checkpoints()) == 1


def test_a_published_output_is_new(tmp_path: Path) -> None:
    """Snakemake would train again for an output that is older than its inputs."""
    directory = StateDirectory(tmp_path / "state")
    directory.finished.mkdir(parents=True)
    write_text(directory.finished / "record.json", "{}")
    os.utime(directory.finished / "record.json", (1, 1))
    directory.publish({"record.json": tmp_path / "record.json"})
    assert (tmp_path / "record.json").stat().st_mtime > 1
