"""Whatever words follow 'wordorder', it ends with a status and a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import commands, options
from fuzzing import cases
from wordorder.cli.main import main

VALUES = [
    "",
    "x",
    "-1",
    "1e400",
    "{}",
    "[]",
    "null",
    '{"type": 1}',
    "@none.yaml",
    "/dev/zero",
    "/",
    "ä\u2028",
    "y" * 300,
]
COMMANDS = [(words, sorted(options(command))) for words, command in commands()]


def test_a_strange_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("WORDORDER_ERRORS", "json")
    for name, generator in cases(60):
        words, known = generator.choice(COMMANDS)
        line = list(words)
        for _ in range(generator.randrange(6)):
            line += [generator.choice(known)] if known and generator.random() < 0.8 else []
            line += [generator.choice(VALUES)] if generator.random() < 0.8 else []
        if "--help" in line or "check-downloads" in line:
            continue  # the second asks the network
        try:
            status = main(line)
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else 1
        except BaseException as error:
            error.add_note(f"case {name}: wordorder {line}")
            raise
        said = capfd.readouterr().err
        assert status in (0, 1, 2), f"case {name}: wordorder {line}"
        assert "Traceback" not in said and '"unforeseen"' not in said, f"case {name}: wordorder {line}: {said}"
