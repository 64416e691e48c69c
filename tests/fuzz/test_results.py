"""Whatever is in the JSON files of results, a page is either built or refused with a sentence."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fuzzing import cases, changed, damaged
from page_sample import write_sample
from wordorder.cli.main import main
from wordorder.errors import WordorderError
from wordorder.files import read_json, write_json
from wordorder.integrity import is_note, note_of, seal
from wordorder.report.page import build_page


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path, Path]:
    return write_sample(tmp_path_factory.mktemp("sample"))


def test_another_value_is_shown_or_a_sentence(
    sample: tuple[Any, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files of another version, or of another program: their checksums are right."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    page, results, data = sample
    words = ["stage", "page", "--config", page.model_dump_json(), "--results", str(results), "--data", str(data)]
    files = sorted(path for path in results.rglob("*.json"))
    for name, generator in cases(40):
        path = generator.choice(files)
        before = read_json(path)
        write_json(path, changed(read_json(path), generator))
        status, said = main([*words, "--output", str(tmp_path / "index.html")]), capsys.readouterr().err
        assert status in (0, 1) and "Traceback" not in said, f"case {name}: {path}: {said}"
        assert (status == 1) is ("wordorder: error: " in said), f"case {name}: {path}: {said}"
        write_json(path, before)


def test_damage_never_changes_the_page(sample: tuple[Any, Path, Path], tmp_path: Path) -> None:
    page, results, data = sample
    seal([results, data])
    whole = build_page(page, results, data)
    files = sorted(path for folder in (results, data) for path in folder.rglob("*") if path.is_file())
    files = [path for path in files if path.name != ".checksums"]
    contents = {path: path.read_bytes() for path in files}
    for name, generator in cases(60):
        path, other = generator.choice(files), generator.choice(files)
        kind = generator.choice(("damage", "damage without checksum", "exchange", "exchange with checksums"))
        if kind.startswith("damage"):
            path.write_bytes(damaged(contents[path], generator)[1])
        else:
            _exchange(path, other)
        if kind == "damage without checksum":
            note_of(path).unlink(missing_ok=True)
        elif kind == "exchange with checksums" and not (is_note(path) or is_note(other)):
            _exchange(note_of(path), note_of(other))
        with suppress(WordorderError):
            assert build_page(page, results, data) == whole, f"case {name}: {kind} of {path} ({other})"
        for file, content in contents.items():
            file.write_bytes(content)


def _exchange(first: Path, second: Path) -> None:
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
