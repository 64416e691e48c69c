"""One trainer a cell, and what others can tell of it."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from wordorder.errors import Interrupted
from wordorder.training import lock
from wordorder.training.lock import DEAD_SECONDS, Holder, holder, locked

HOLD = """
import sys, time; from pathlib import Path; from wordorder.training.lock import locked
with locked(Path(sys.argv[1]), lambda taken: (taken, False)):
    print('locked', flush=True); time.sleep(60)
"""


def only(file: Path) -> AbstractContextManager[None]:
    return locked(file, lambda taken: (taken, False))


def test_a_second_process_waits_for_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "lock"
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(file)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "locked\n"
        assert holder(file) == Holder(process.pid, socket.gethostname(), None)
        with pytest.raises(Interrupted, match=f"still training in {tmp_path}"), locked(file, lambda got: (got, True)):
            pass
        assert holder(file) is not None  # asking took nothing away
        threading.Timer(0.5, process.kill).start()
        with only(file):
            assert process.wait(timeout=10) == -9, "the lock was taken from a living process"
            assert holder(file) == Holder(os.getpid(), socket.gethostname(), None)
        message = rf"Another process \(process {process.pid} on .*\) is training in {tmp_path}"
        assert re.search(message, capsys.readouterr().err)
    finally:
        process.kill()
        process.wait()
    assert holder(file) is None


def test_a_process_that_does_not_take_the_lock_waits_for_the_one_that_does(tmp_path: Path) -> None:
    answers = [(False, False), (True, False)]
    with locked(tmp_path / "lock", lambda taken: answers.pop(0), for_others=True):
        assert not answers
    assert not (tmp_path / "lock").exists()
    stopped = locked(tmp_path / "lock", lambda taken: (False, True), for_others=True)
    with pytest.raises(Interrupted), stopped:
        pass


def test_the_job_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    with only(tmp_path / "lock"):
        assert holder(tmp_path / "lock") == Holder(os.getpid(), socket.gethostname(), "77")


def test_a_holder_on_another_machine_lives_as_long_as_its_lock_beats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "lock"
    file.write_text("process 1 on elsewhere.example, SLURM job 5")
    assert holder(file) == Holder(1, "elsewhere.example", "5")
    old = time.time() - DEAD_SECONDS - 1
    os.utime(file, (old, old))
    assert holder(file) is None
    monkeypatch.setattr(lock, "BEAT_SECONDS", 0.01)
    with only(file):
        os.utime(file, (old, old))
        for _ in range(500):
            if file.stat().st_mtime > old + 1:
                break
            time.sleep(0.01)
        else:
            raise AssertionError("the lock does not beat")


def test_without_locks_a_living_holder_keeps_others_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    file = tmp_path / "lock"
    file.write_text("process 1 on elsewhere.example")
    with pytest.raises(Interrupted), locked(file, lambda taken: (taken, True)):
        pass
    old = time.time() - DEAD_SECONDS - 1
    os.utime(file, (old, old))
    with only(file):  # its machine is gone, and no lock of a dead machine blocks for ever
        pass
    assert "keeps no locks" in capsys.readouterr().err
