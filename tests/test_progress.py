"""Tests of progress: a bar on a terminal, plain lines in a log."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios
from collections.abc import Iterator

import pytest

from wordorder.progress import Progress, track


def test_a_log_gets_complete_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("Training", total=30, unit="updates", initial=10, interval=0) as progress:
        progress.advance(5, note="loss 2.0")
        progress.advance()
    assert capsys.readouterr().err.splitlines() == [
        "Training: 15/30 updates  loss 2.0",
        "Training: 16/30 updates  loss 2.0",
        "Training: 16/30 updates  loss 2.0",
    ]


def test_a_log_is_not_flooded(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track(range(1000), "Cleaning", unit="pairs")) == list(range(1000))
    assert capsys.readouterr().err == "Cleaning: 1000 pairs\n"


def test_bytes_are_scaled(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("Downloading", total=657_632_379, unit="B") as progress:
        progress.advance(65_000_000)
    assert capsys.readouterr().err == "Downloading: 65.0M/658M B\n"


def test_track_passes_on_errors_of_the_items(capsys: pytest.CaptureFixture[str]) -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("damaged")

    with pytest.raises(ValueError, match="damaged"):
        list(track(items(), "Reading"))
    assert capsys.readouterr().err == "Reading: 1 it\n"


def test_items_that_nobody_reads_to_the_end_leave_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise the line would appear whenever the abandoned generator is collected, amid other output."""
    items = track(range(3), "reading")
    next(items)
    items.close()  # type: ignore[attr-defined]
    assert capsys.readouterr().err == ""


def test_nothing_is_printed_if_standard_error_is_closed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert list(track(range(3), "Reading")) == [0, 1, 2]
    assert capsys.readouterr().out == "", "which may hold results"


def test_a_terminal_gets_a_bar() -> None:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    code = (
        "from wordorder.progress import Progress\n"
        "with Progress('Work', total=4) as p:\n    p.advance(3, note='x 1')\n    p._bar.refresh()\n    p.advance()\n"
    )
    subprocess.run([sys.executable, "-c", code], stderr=theirs, check=True, timeout=60)
    os.close(theirs)
    shown = b""
    try:
        while block := os.read(ours, 1 << 16):
            shown += block
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert b"\r" in shown
    assert b"75%" in shown and b"100%" in shown and b"x 1" in shown
