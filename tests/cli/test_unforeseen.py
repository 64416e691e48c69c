"""Test that unforeseen errors, too, end with a sentence."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from wordorder.cli import main as module
from wordorder.cli.main import main


def bug() -> None:
    raise ValueError("what nobody foresaw")


def fail_with(error: Exception) -> Callable[[list[str]], None]:
    def run(_: list[str]) -> None:
        raise error

    return run


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "wordorder" / "errors"


def test_the_traceback_is_in_a_log_that_the_sentence_names(
    state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "_run", lambda _: bug())
    assert main(["check"]) == 1
    (log,) = state.iterdir()
    text = capsys.readouterr().err
    assert "Traceback" not in text and len(text.splitlines()) == 1
    assert str(log) in text and "what nobody foresaw" in text
    assert "in bug\n" in log.read_text()


def test_debug_shows_the_traceback_and_writes_no_log(
    state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "_run", lambda _: bug())
    assert main(["check", "--debug"]) == 1
    assert "in bug\n" in capsys.readouterr().err
    assert not state.exists()


def test_debug_shows_the_cause_of_a_known_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--debug", "check", "none.yaml"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_debug_shows_the_cause_of_each_of_several_errors(plugins: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (plugins / "encodings/broken.py").write_text("def find():\n    return {}['x']\n\n\nfind()\n")
    assert main(["check", "demo", "multi30k", "--debug"]) == 1
    assert "in find\n" in capsys.readouterr().err


METRIC = """
from wordorder.metrics.base import TextMetric, register


@register("own")
class Own(TextMetric):
    label = "Own"
    signature = "own|version:1"

    def statistics(self, hypotheses, references):
        import numpy as np

        return np.ones((len(hypotheses), 1))

    def score(self, sums):
        return {}["count"]
"""


@pytest.mark.parametrize("options", [(), ("--debug",)])
def test_the_line_of_an_extension_that_raises_is_named(
    options: tuple[str, ...],
    plugins: Path,
    state: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file, text = plugins / "metrics/own.py", tmp_path / "text"
    file.write_text(METRIC)
    text.write_text("a b\n")
    monkeypatch.setenv("WORDORDER_ERRORS", "json")
    command = ["stage", "score", "--config", json.dumps({"metrics": ["own"], "target_language": "de"})]
    command += ["--hypotheses", str(text), "--references", str(text), "--output", str(tmp_path / "out")]
    assert main([*command, *options]) == 1
    said = json.loads(capsys.readouterr().err.splitlines()[-1])
    line = METRIC.splitlines().index('        return {}["count"]') + 1
    assert (said["code"], said["path"], said["line"]) == ("unforeseen", str(file), line)
    assert str(file) in said["message"] and str(line) in said["message"]


def _without_memory() -> RuntimeError:
    with pytest.raises(RuntimeError) as raised:
        torch.empty(1 << 60)
    return raised.value


@pytest.mark.parametrize(
    ("error", "code", "facts"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "there"), "disk-full", ["there"]),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "disk-full", []),
        (PermissionError(errno.EACCES, "Permission denied", "there"), "unusable-file", ["there", "Permission denied"]),
        (MemoryError(), "no-memory", []),
        (_without_memory(), "no-memory", []),
        (torch.OutOfMemoryError("CUDA out of memory."), "no-memory", []),
    ],
)
def test_errors_of_the_machine_have_sentences_of_their_own(
    error: Exception,
    code: str,
    facts: list[str],
    state: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(module, "_run", fail_with(error))
    monkeypatch.setattr(module, "_forget_output", lambda: None)
    monkeypatch.setenv("WORDORDER_ERRORS", "json")
    assert main(["check"]) == 1
    said = json.loads(capfd.readouterr().err)
    assert said["code"] == code and all(fact in said["message"] for fact in facts)
    assert not state.exists()


def run(*words: str, output: str | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    command = f"{sys.executable} -m wordorder.cli {' '.join(words)}" + (f" >{output}" if output else "")
    environment = {**os.environ, **variables}
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, env=environment)


def test_output_to_a_full_device(state: Path) -> None:
    done = run("--help", output="/dev/full", WORDORDER_ERRORS="json")
    assert done.returncode == 1 and json.loads(done.stderr)["code"] == "disk-full"
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


def test_an_ascii_terminal(state: Path) -> None:
    done = run("check", "Mühle", PYTHONIOENCODING="ascii", LC_ALL="C.UTF-8")
    assert done.returncode == 1 and "Mühle" in done.stderr


def test_a_path_that_is_too_long(state: Path) -> None:
    done = run("explain", "/".join(["x" * 300] * 2) + ".yaml")
    assert done.returncode in (1, 2) and "Traceback" not in done.stderr
    assert not state.exists(), done.stderr


def test_closed_standard_streams(state: Path) -> None:
    words = [
        "translate",
        "--model",
        "none.pt",
        "--subword",
        "none",
        "--source-language",
        "en",
        "--target-language",
        "de",
    ]
    for closed in ("<&-", ">&-"):
        done = run(*words, closed, WORDORDER_ERRORS="json")
        assert done.returncode == 1 and json.loads(done.stderr)["code"] == "closed-stream", done.stderr
    assert run("check", "none.yaml", "<&-").returncode == 1
