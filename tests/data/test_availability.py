"""Tests of ``wordorder data check``: its report on each file, with a server that answers and without a network."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_server import Handler, serving
from wordorder.cli.main import main

TEXT = b"ein Satz\n" * 100
SHA256 = hashlib.sha256(TEXT).hexdigest()

DATASET = """
name: pair
title: A pair
source_language: en
target_language: de
licence: free
downloads:
{downloads}
train: [{{source: {{file: here}}, target: {{file: here, format: tsv, column: 2}}}}]
valid: [{{source: {{file: here}}, target: {{file: here, format: tsv, column: 3}}}}]
tests: {{test: [{{source: {{file: here}}, target: {{file: here, format: tsv, column: 4}}}}]}}
"""


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    """Knows /right, /short and /silent; notes the methods it was asked with."""
    asked: list[str] = []

    class Answers(Handler):
        def do_HEAD(self) -> None:
            asked.append(f"HEAD {self.path}")
            if self.path == "/missing":
                self.send_error(404)
                return
            self.send_response(200)
            if self.path != "/silent":
                self.send_header("Content-Length", str(len(TEXT) - (self.path == "/short")))
            self.end_headers()

    with serving(Answers) as url:
        yield url, asked


def check(root: Path, downloads: dict[str, str], capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str], str]:
    """The exit status, the printed lines and the error."""
    (root / "datasets").mkdir(parents=True, exist_ok=True)
    entries = "\n".join(
        f"  {file}: {{sha256: {SHA256}, bytes: {len(TEXT)}, {keys}}}" for file, keys in downloads.items()
    )
    (root / "datasets/pair.yaml").write_text(DATASET.format(downloads=entries))
    status = main(["data", "check", "--root", str(root), "--timeout", "5"])
    said = capsys.readouterr()
    return status, said.out.splitlines(), said.err


def test_every_file_gets_a_line(
    server: tuple[str, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, asked = server
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    (mirror / "same").write_bytes(TEXT)
    (mirror / "packed.gz").write_bytes(gzip.compress(TEXT))
    (mirror / "other").write_bytes(TEXT[1:])
    monkeypatch.setenv("WORDORDER_MIRROR", str(mirror))
    files = {
        "here": f"url: {url}/right, mirror: same",
        "packed": f"url: {url}/silent, mirror: packed",
        "lost": f"url: {url}/missing, mirror: nowhere",
        "wrong": f"url: {url}/right, mirror: other",
        "short": f"url: {url}/short",
    }
    status, lines, error = check(tmp_path, files, capsys)
    assert status == 1 and "3 of 5 files" in error
    assert lines[0] == "ok  pair/here: mirror: right; address: reached, size right"
    assert lines[1] == "ok  pair/packed: mirror: right, compressed otherwise; address: reached, unknown size"
    assert lines[2] == f"BAD pair/lost: mirror: no copy at {mirror}/nowhere; address: answers 404 Not Found"
    assert lines[3].startswith(f"BAD pair/wrong: mirror: {mirror}/other has SHA-256 ") and "size right" in lines[3]
    assert lines[4] == "BAD pair/short: mirror: no copy; address: serves 899 bytes instead of 900"
    assert " ".join(lines[6].split()) == "folder files in the mirror at the address wrong unavailable"
    assert lines[7].split() == ["pair", "5", "2", "3", "3", "2"]
    assert sorted(asked) == sorted(f"HEAD /{path}" for path in ("right", "silent", "missing", "right", "short"))
    assert "Copying" not in error


def test_without_a_network_the_mirror_is_enough(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "same").write_bytes(TEXT)
    monkeypatch.setenv("WORDORDER_MIRROR", str(tmp_path))
    files = {"here": "url: 'http://127.0.0.1:1/x', mirror: same"}
    status, lines, error = check(tmp_path / "config", files, capsys)
    assert status == 0 and error == ""
    assert lines[0] == "ok  pair/here: mirror: right; address: not reached ([Errno 111] Connection refused)"
    (tmp_path / "config/datasets/back.yaml").write_text("name: back\ntitle: Back\nreverse_of: pair\n")
    assert check(tmp_path / "config", files, capsys)[1] == lines  # a file that two datasets share stands there once
    monkeypatch.delenv("WORDORDER_MIRROR")
    status, lines, error = check(tmp_path / "config", files, capsys)
    assert status == 1 and lines[0].startswith(
        "BAD pair/here: mirror: WORDORDER_MIRROR is not set; address: not reached"
    )


def test_a_folder_without_datasets_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "check", "--root", str(tmp_path)]) == 1
    assert str(tmp_path / "datasets") in capsys.readouterr().err


def test_files_to_get_by_hand_say_how(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORDORDER_MIRROR", str(tmp_path))
    status, lines, _ = check(tmp_path / "config", {"here": "by_hand: Ask us., mirror: same"}, capsys)
    place = "resources/downloads/pair/by_hand/here"
    assert status == 1 and all(
        fact in lines[0] for fact in ("BAD pair/here: ", f" {tmp_path}/same; ", place, "Ask us.")
    )


def test_files_that_were_put_there_by_hand_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WORDORDER_MIRROR", raising=False)
    place = Path("resources/downloads/pair/by_hand/here")
    place.parent.mkdir(parents=True)
    place.write_bytes(TEXT)
    status, lines, _ = check(tmp_path / "config", {"here": "by_hand: Ask us."}, capsys)
    assert status == 0 and lines[0].startswith(f"ok  pair/here: mirror: {place} is right; address: none")
    place.write_bytes(TEXT[1:])
    status, lines, _ = check(tmp_path / "config", {"here": "by_hand: Ask us."}, capsys)
    assert status == 1 and lines[0].startswith(f"BAD pair/here: mirror: {place} has SHA-256 ")


def test_gold_alignments_are_looked_for_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORDORDER_MIRROR", str(tmp_path))
    (tmp_path / "here").mkdir()  # no file
    (tmp_path / "gold").write_bytes(TEXT)
    root = tmp_path / "config"
    root.mkdir()
    (root / "gold_alignments.yaml").write_text(
        "set: {title: T, source_language: de, target_language: en, licence: free, "
        "downloads: {a.tgz: {by_hand: Ask us., mirror: gold}}, text: {archive: a.tgz, joint: t, links: l, first: 1}}\n"
    )
    status, lines, _ = check(root, {"here": "by_hand: Ask us., mirror: here"}, capsys)
    assert status == 1 and f"mirror: {tmp_path}/here cannot be read: Is a directory; address" in lines[0]
    there = "mirror: there; no checksum is known; address: none; "
    assert lines[1].startswith(f"ok  gold_alignments/set/a.tgz: {there}") and lines[1].endswith("Ask us.")
    for names, expected in ((["set"], lines[1:2]), (["pair"], lines[:1])):
        main(["data", "check", "--root", str(root), *names])
        assert capsys.readouterr().out.splitlines()[:1] == expected
