"""Tests of locks: one training process per cell, and what other processes can read about it."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from wordorder import locks
from wordorder.errors import Interrupted
from wordorder.locks import DEAD_SECONDS, Holder, holder, locked, this_place

HOLD = """
import sys, time; from pathlib import Path; from wordorder import locks
from wordorder.locks import locked
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
        assert holder(file) == Holder(process.pid, socket.gethostname(), None, this_place())
        with pytest.raises(Interrupted, match=re.escape(str(tmp_path))), locked(file, lambda got: (got, True)):
            pass
        assert holder(file) is not None  # asking took nothing away
        threading.Timer(0.5, process.kill).start()
        with only(file):
            assert process.wait(timeout=10) == -9, "the lock was taken from a living process"
            assert holder(file) == Holder(os.getpid(), socket.gethostname(), None, this_place())
        message = rf"Waiting for process {process.pid} on \S+, which is training in {tmp_path}"
        assert re.search(message, capsys.readouterr().err)
    finally:
        process.kill()
        process.wait()
    assert holder(file) is None


@pytest.mark.parametrize("state", ["alive", "stopped", "silent"])
def test_a_long_wait_says_for_whom_since_when_and_what_to_do(
    state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(locks, "REMINDER_SECONDS", 0.3)
    monkeypatch.setattr(locks, "WAIT_SECONDS", 0.1)
    file = tmp_path / "lock"
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(file)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "locked\n"
        if state == "stopped":
            process.send_signal(signal.SIGSTOP)
        if state == "silent":
            monkeypatch.setattr(locks, "this_place", lambda: "elsewhere")
            os.utime(file, (time.time() - 600, time.time() - 600))
        threading.Timer(1.5, process.kill).start()
        with locked(file, end="kill -INT"):
            pass
    finally:
        process.kill()
        process.wait()
    first, *others = capsys.readouterr().err.splitlines()
    named = rf"^Waiting for process {process.pid} on {re.escape(socket.gethostname())}, "
    assert re.search(named, first) and len(others) >= 2, "the first sentence comes at once, others follow"
    for line in others:
        assert re.search(named, line) and str(file) in line, "the command is named, too"
        assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", line) and f"'kill -INT {process.pid}'" in line
        assert ("is stopped" in line, "no sign of life for 10 minutes" in line) == (
            state == "stopped",
            state == "silent",
        )


def test_any_command_can_hold_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["snakemake", "a\nprocess 1 on b", "{} %s \udcff", "x" * 10_000])
    with only(tmp_path / "lock"):
        assert holder(tmp_path / "lock") == Holder(os.getpid(), socket.gethostname(), None, this_place())
        assert (tmp_path / "lock").stat().st_size < 1000


@pytest.mark.parametrize("content", [b"\xff\xfe\0", b"", b"process", b"process 9999999999999999999999 on %s"])
def test_a_damaged_lock_is_free(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "lock"
    file.write_bytes(content.replace(b"%s", os.fsencode(socket.gethostname())))
    assert holder(file) is None
    with only(file):
        assert holder(file) is not None


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
        assert holder(tmp_path / "lock") == Holder(os.getpid(), socket.gethostname(), "77", this_place())


def test_a_holder_on_another_machine_lives_as_long_as_its_lock_beats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "lock"
    file.write_text("process 1 on elsewhere.example, SLURM job 5")
    assert holder(file) == Holder(1, "elsewhere.example", "5")
    old = time.time() - DEAD_SECONDS - 1
    os.utime(file, (old, old))
    assert holder(file) is None
    monkeypatch.setattr(locks, "BEAT_SECONDS", 0.01)
    with only(file):
        os.utime(file, (old, old))
        for _ in range(500):
            if file.stat().st_mtime > old + 1:
                break
            time.sleep(0.01)
        else:
            raise AssertionError("the lock does not beat")


def test_a_process_of_another_pid_namespace_is_not_mistaken_for_one_of_this(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    host, here = socket.gethostname(), this_place()
    for process, place in (
        (os.getpid(), "boot/1"),
        (2**22 + 1, "boot/1"),
    ):  # one that lives here, and one that does not
        file.write_text(f"process {process} on {host}\nnamespace {place}")
        assert holder(file) == Holder(process, host, None, place)
        os.utime(file, (0, 0))
        assert holder(file) is None
    file.write_text(f"process {os.getpid()} on renamed.example\nnamespace {here}")
    os.utime(file, (0, 0))
    assert holder(file) is not None


def test_a_lock_is_held_across_pid_namespaces(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    inside = ["unshare", "--uts", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode:
        pytest.skip("PID namespaces are not permitted here")
    process = subprocess.Popen([*inside, sys.executable, "-c", HOLD, str(file)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "locked\n"
        found = holder(file)
        assert found is not None and found.process == 1 and found.place != this_place()
        with pytest.raises(Interrupted), locked(file, lambda got: (got, True)):
            pass
    finally:
        process.kill()
        process.wait()
    with only(file):  # at once, although the text of the lock names the dead
        pass


@pytest.mark.parametrize("locks_of", ["none", "this machine"])
def test_without_shared_locks_a_living_owner_keeps_others_out(
    locks_of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    if locks_of == "none":
        monkeypatch.setattr(fcntl, "flock", refuse)
    else:
        monkeypatch.setattr(locks, "_is_shared", lambda file: False)
    file, owner = tmp_path / "lock", tmp_path / "lock.owner"
    owner.write_text("process 1 on elsewhere.example")
    with pytest.raises(Interrupted), locked(file, lambda taken: (taken, True)):
        pass
    old = time.time() - DEAD_SECONDS - 1
    os.utime(owner, (old, old))
    with only(file):  # its machine is gone, and no lock of a dead machine blocks for ever
        assert holder(owner) == Holder(os.getpid(), socket.gethostname(), None, this_place())
    assert not owner.exists()


@pytest.mark.parametrize(
    ("options", "shared"),
    [("rw,local_lock=none", True), ("rw,nolock", False), ("rw,local_lock=all", False), ("rw,localflock", False)],
)
def test_file_systems_that_do_not_share_locks_are_known(
    options: str, shared: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = f"disk / ext4 rw,nolock 0 0\nserver:/home {tmp_path}/my\\040share nfs4 {options} 0 0\n"
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: mounts)
    assert locks._is_shared(tmp_path / "my share/state/lock") is shared
