"""The benchmark of short commands in a short form."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest


def test_short_commands_are_timed_beside_the_import_of_pytorch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import starting

    starting.main(["--rounds", "1", "--only", "wordorder --help", "--output", str(tmp_path / "record.json")])
    assert re.search(r"^\| `wordorder --help` +\|( +\d+\.\d\d \|){3}$", capsys.readouterr().out, re.MULTILINE)
    reference, help_ = json.loads((tmp_path / "record.json").read_text())["results"]
    assert reference["ratio"] == 1 and help_["ratio"] == help_["cpu_seconds"][0] / reference["cpu_seconds"][0]


def test_a_command_that_fails_ends_the_benchmark() -> None:
    import starting

    with pytest.raises(SystemExit, match=r"'python -c 1/0' ended with status 1"):
        starting.clocked(["python", "-c", "1/0"], "")
