"""The benchmark of the page in a short form."""

from __future__ import annotations

import re
from pathlib import Path

import pytest


def test_the_page_of_a_generated_study_is_timed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import study_page

    arguments = ["--systems", "3", "--seeds", "2", "--sentences", "12", "--folder", str(tmp_path)]
    study_page.main(arguments)
    first = (tmp_path / "results" / "significance" / "pair.tiny.test.json").stat()
    study_page.main(arguments)
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 2
    assert all(re.fullmatch(r"6 cells, 12 sentences: [\d.]+ s, [\d.]+ CPU s, 0\.\d MB", line) for line in said)
    assert (tmp_path / "results" / "significance" / "pair.tiny.test.json").stat().st_mtime_ns == first.st_mtime_ns
