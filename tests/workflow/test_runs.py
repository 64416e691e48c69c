"""Tests of several runs of Snakemake on one results folder: which of them wait for which."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import NoReturn

import pytest

from wordorder import locks
from wordorder.workflow.patience import remembering
from wordorder.workflow.runs import Runs


class Restarted(Exception):
    """The run starts again."""


def restart() -> NoReturn:
    raise Restarted


@pytest.mark.parametrize(
    ("reads", "writes"), [(["data"], ["model"]), (["model"], ["scores"]), (["other"], ["data"])], ids=str
)
def test_a_run_waits_for_one_with_which_it_shares_files_and_starts_again(
    reads: list[str],
    writes: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(locks, "REMINDER_SECONDS", 0.5)
    first, second = Runs(tmp_path, restart), Runs(tmp_path, restart)
    turn = first.turn(["data"], ["model"])
    threading.Timer(1.5, turn.close).start()
    with pytest.raises(Restarted):
        second.turn(reads, writes)
    said = capsys.readouterr().err
    assert "a run of Snakemake: both need " in said and f"'kill -INT {os.getpid()}'" in said
    with Runs(tmp_path, restart).turn(reads, writes):  # it knows what the first has done
        pass


def test_runs_that_only_read_the_same_files_go_on_side_by_side(tmp_path: Path) -> None:
    with (
        Runs(tmp_path, restart).turn(["data"], ["model"]),
        Runs(tmp_path, restart).turn(["data"], ["other model"]),
        Runs(tmp_path, restart).turn(["model"], []),  # with nothing to do
    ):
        pass


def test_a_run_that_ended_while_another_decided_what_to_do_is_noticed(tmp_path: Path) -> None:
    slow = Runs(tmp_path, restart)
    Runs(tmp_path, restart).turn([], ["model"]).close()
    with pytest.raises(Restarted):
        slow.turn([], ["model"])


def test_what_slurm_said_is_remembered_while_it_does_not_answer() -> None:
    answers = iter([None, 300, None, 20, None])
    ask = remembering(lambda: next(answers))
    assert [ask() for _ in range(5)] == [None, 300, 300, 20, 20]
