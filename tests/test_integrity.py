"""Tests of checksums: recorded when a file is written, compared when it is read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from raises import raises
from wordorder.files import atomic, read_bytes, read_json, sha256, write_json, write_text
from wordorder.integrity import check_inside, note_of, record


def write_inside(path: Path, content: bytes) -> None:
    with atomic(path, checksum="inside") as temporary:
        temporary.write_bytes(content)


def test_sha256sum_reads_the_checksum_file(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "text\n")
    assert note_of(tmp_path / "a.txt").name == ".a.txt.sha256"
    subprocess.run(["sha256sum", "--check", "--quiet", ".a.txt.sha256"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("damaged", [b"taxt\n", b"text\n\0", b"text", b"", bytes(5)])
def test_a_damaged_file_is_refused_and_named(tmp_path: Path, damaged: bytes) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "text\n")
    path.write_bytes(damaged)
    for read in (read_bytes, sha256):
        with raises("damaged-file", path=path, says=f"snakemake --force {path}"):
            read(path)


@pytest.mark.parametrize("damaged", [b"", b"0" * 64 + b"  a.json\n", b"\0" * 72])
def test_a_damaged_checksum_is_refused(tmp_path: Path, damaged: bytes) -> None:
    write_json(tmp_path / "a.json", {})
    note_of(tmp_path / "a.json").write_bytes(damaged)
    with raises("damaged-file", path=tmp_path / "a.json", says=".a.json.sha256"):
        read_json(tmp_path / "a.json")


def test_the_remedy_for_translations_names_the_rule_that_makes_them(tmp_path: Path) -> None:
    write_text(tmp_path / "test.hypotheses", "a\n")
    (tmp_path / "test.hypotheses").write_text("b\n")
    with raises("damaged-file", says="--forcerun evaluate_model"):
        read_bytes(tmp_path / "test.hypotheses")
    rules = Path(__file__).parents[1] / "workflow" / "rules" / "evaluate.smk"
    assert "rule evaluate_model:" in rules.read_text(encoding="utf-8")


def test_a_file_without_a_checksum_file_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "by_hand.txt").write_bytes(b"text")
    assert read_bytes(tmp_path / "by_hand.txt") == b"text"


def test_a_rewritten_file_has_the_new_checksum_only(tmp_path: Path) -> None:
    for text in ("one", "two"):
        write_text(tmp_path / "a", text)
        assert read_bytes(tmp_path / "a") == text.encode()
    with atomic(tmp_path / "a", checksum="none") as temporary:
        temporary.write_bytes(b"three")
    assert read_bytes(tmp_path / "a") == b"three"
    assert not note_of(tmp_path / "a").exists()


def test_a_writer_that_replaces_both_files_disturbs_no_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checksum that was read first belongs to the previous content."""
    write_text(tmp_path / "a", "one")
    read, first = Path.read_bytes, []

    def read_late(path: Path) -> bytes:
        content = read(path)
        if path == note_of(tmp_path / "a") and not first:
            first.append(content)
            write_text(tmp_path / "a", "two")
        return content

    monkeypatch.setattr(Path, "read_bytes", read_late)
    assert read_bytes(tmp_path / "a") == b"two"
    assert first


def test_each_file_of_a_folder_has_a_checksum(tmp_path: Path) -> None:
    with atomic(tmp_path / "folder") as temporary:
        (temporary / "below").mkdir(parents=True)
        (temporary / "below" / "plain").write_bytes(b"plain")
        write_text(temporary / "written", "written")
    for name in ("below/plain", "written"):
        (tmp_path / "folder" / name).write_bytes(b"other")
        with raises("damaged-file", path=tmp_path / "folder" / name):
            read_bytes(tmp_path / "folder" / name)


def test_a_checksum_inside_covers_every_byte_and_every_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    write_inside(path, bytes(range(40)))
    whole = path.read_bytes()
    assert check_inside(path, "") == 40
    damages = [whole[:n] for n in range(len(whole))] + [whole + b"\0", whole + whole]
    for place in range(len(whole)):
        for bit in range(8):
            damages.append(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
    for damaged in damages:
        path.write_bytes(damaged)
        with raises("damaged-file", path=path, says="REMEDY."):
            check_inside(path, "REMEDY.")


def test_equal_contents_have_equal_bytes_and_a_second_seal_changes_nothing(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_inside(tmp_path / name, b"content")
    before = (tmp_path / "a").read_bytes()
    record(tmp_path / "a", "inside")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == before


def test_a_file_of_an_earlier_version_can_be_sealed(tmp_path: Path) -> None:
    from wordorder.cli.main import main

    (tmp_path / "old").write_bytes(b"old")
    with raises("damaged-file", says="wordorder stage seal"):
        check_inside(tmp_path / "old", "")
    assert main(["stage", "seal", str(tmp_path / "old")]) == 0
    assert check_inside(tmp_path / "old", "") == 3


KILLED = """
import os, signal, sys; from pathlib import Path
from wordorder.files import atomic
with atomic(Path(sys.argv[1])) as temporary:
    if sys.argv[2] == "folder": temporary.mkdir()
    else: temporary.write_text("half")
    print("ready", flush=True)
    if sys.argv[2] == "lives": sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def leftovers(folder: Path) -> list[Path]:
    return list(folder.glob(".*.partial"))


@pytest.mark.parametrize("what", ["file", "folder"])
def test_the_next_writer_removes_what_a_killed_one_left(tmp_path: Path, what: str) -> None:
    output = tmp_path / "out [1]"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(output), what], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL and len(leftovers(tmp_path)) == 1
    write_text(tmp_path / "other", "text")
    assert len(leftovers(tmp_path)) == 1, "another output's"
    write_text(output, "text")
    assert not leftovers(tmp_path)


def test_files_of_a_living_process_are_kept(tmp_path: Path) -> None:
    output = tmp_path / "out"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(output), "lives"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        write_text(output, "text")
        assert len(leftovers(tmp_path)) == 1
        process.kill()
    write_text(output, "text")
    assert not leftovers(tmp_path)


def test_leftovers_of_an_earlier_version_are_removed(tmp_path: Path) -> None:
    (tmp_path / ".out.0123456789ab.partial").write_text("half")
    folder = tmp_path / ".out.ba9876543210.partial"
    folder.mkdir()
    os.utime(folder, (0, 0))
    write_text(tmp_path / "out", "text")
    assert not leftovers(tmp_path)
