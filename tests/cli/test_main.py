"""How every command ends: stopped, or with a mistake in its options."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from wordorder.cli.main import main

# A command that is at work on a file until it is stopped.
WORK = """
import signal, sys, time, types
from wordorder import cli
from wordorder.files import atomic

def work(options):
    with atomic(sys.argv[1]) as temporary:
        temporary.touch()
        print("ready", flush=True)
        time.sleep(60)

def add_commands(subparsers):
    subparsers.add_parser("work").set_defaults(run=work)

signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it
sys.modules["commands_of_work"] = types.SimpleNamespace(add_commands=add_commands)
cli.COMMAND_MODULES = ("commands_of_work",)
sys.exit(cli.main(["work"]))
"""


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [(signal.SIGINT, 130, "wordorder: stopped by Ctrl-C before it was done.\n"), (signal.SIGTERM, 143, "")],
)
def test_a_stopped_command_leaves_nothing_half_written(number: int, status: int, said: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", WORK, str(tmp_path / "file")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        assert list(tmp_path.iterdir())
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, errors) == (status, said)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("train --threads -1", "argument --threads: '-1' is no positive number."),
        ("train --threads some", "argument --threads: 'some' is no whole number."),
        ("train --save-seconds nan", "argument --save-seconds: 'nan' is no positive number of seconds."),
        ("translate --threads 0", "argument --threads: '0' is no positive number."),
        ("measure perplexity --threads -1", "argument --threads: '-1' is no positive number."),
        ("status demo --watch -1", "argument --watch: '-1' is no positive number of seconds."),
        ("status demo --watch inf", "argument --watch: 'inf' is no positive number of seconds."),
        ("status demo --log-lines -1", "argument --log-lines: '-1' is less than 0."),
        ("train-classes --classes 0", "argument --classes: '0' is no positive number."),
        ("reorder --threads 0", "argument --threads: '0' is no positive number."),
        ("positions noisy --ratio 1.5", "argument --ratio: '1.5' is no number from 0 to 1."),
        ("positions noisy --seed -1", "argument --seed: '-1' is less than 0."),
        ("align --threads -1", "argument --threads: '-1' is no positive number."),
        ("translate --threads -1", "argument --threads: '-1' is no positive number."),
        ("score-systems --batch-size 0", "argument --batch-size: '0' is no positive number."),
        ("params --vocabulary -1", "argument --vocabulary: '-1' is no positive number."),
        ("data check --timeout 0", "argument --timeout: '0' is no positive number of seconds."),
        ("table scores --results nope", "argument --results: there is no folder 'nope'."),
        ("figure scores --results nope", "argument --results: there is no folder 'nope'."),
        ("analyse length --results nope", "argument --results: there is no folder 'nope'."),
        ("summary --results nope", "argument --results: there is no folder 'nope'."),
        ("page --results nope", "argument --results: there is no folder 'nope'."),
        ("plan demo --results nope", "argument --results: there is no folder 'nope'."),
        ("status demo --results nope", "argument --results: there is no folder 'nope'."),
        ("efficiency demo --results nope", "argument --results: there is no folder 'nope'."),
        ("data pairs --results nope", "argument --results: there is no folder 'nope'."),
    ],
)
def test_options_out_of_range_are_told(
    arguments: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(arguments.split())
    assert ended.value.code == 2
    assert f"error: {sentence} See 'wordorder" in capsys.readouterr().err
