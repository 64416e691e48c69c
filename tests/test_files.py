"""Tests of atomic writing and guarded reading."""

from __future__ import annotations

import errno
import fcntl
import gzip
import hashlib
import os
import shutil
import threading
from pathlib import Path
from typing import IO

import pytest

from full_disk import no_file_larger_than
from raises import raises
from wordorder.files import atomic, check_writable, open_bytes, read_json, read_text, sha256, write_json, write_text
from wordorder.integrity import is_note


def names(folder: Path) -> list[str]:
    """Return the files of a folder except checksums."""
    return sorted(path.name for path in folder.iterdir() if not is_note(path))


def test_nothing_is_at_the_place_until_the_block_has_ended(tmp_path: Path) -> None:
    output = tmp_path / "new" / "out.txt"
    with atomic(output) as temporary:
        temporary.write_text("whole")
        assert not output.exists()
        assert temporary.parent.parent == output.parent, "a rename must not cross file systems"
    assert output.read_text() == "whole"
    assert names(output.parent) == ["out.txt"]


@pytest.mark.parametrize("error", [RuntimeError("bug"), KeyboardInterrupt(), OSError(errno.EIO, "Input/output error")])
def test_a_failed_block_leaves_the_old_content_and_nothing_else(tmp_path: Path, error: BaseException) -> None:
    output = tmp_path / "out.txt"
    output.write_text("old")
    with pytest.raises(type(error)), atomic(output) as temporary:
        temporary.write_text("half")
        raise error
    assert output.read_text() == "old"
    assert names(tmp_path) == ["out.txt"]


def test_a_directory_replaces_a_directory_as_a_whole(tmp_path: Path) -> None:
    output = tmp_path / "corpus"
    for name in ("old", "new"):
        with atomic(output) as temporary:
            temporary.mkdir()
            (temporary / name).write_text(name)
    assert names(output) == ["new"]
    assert names(tmp_path) == ["corpus"]


def test_a_failed_directory_leaves_the_old_one(tmp_path: Path) -> None:
    output = tmp_path / "corpus"
    output.mkdir()
    (output / "old").write_text("old")
    with pytest.raises(ValueError), atomic(output) as temporary:
        temporary.mkdir()
        (temporary / "new").write_text("half")
        raise ValueError
    assert names(output) == ["old"]
    assert names(tmp_path) == ["corpus"]


def test_a_directory_that_cannot_be_put_in_place_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "corpus"
    output.mkdir()
    (output / "old").write_text("old")
    replace, calls = os.replace, []

    def fail_the_second_time(*paths: Path) -> None:
        calls.append(paths)
        if len(calls) == 2:
            raise OSError(errno.EIO, "Input/output error")
        replace(*paths)

    monkeypatch.setattr(os, "replace", fail_the_second_time)
    with pytest.raises(OSError, match="Input/output error"), atomic(output) as temporary:
        temporary.mkdir()
    assert names(output) == ["old"]
    assert names(tmp_path) == ["corpus"]


def test_a_file_does_not_replace_a_directory(tmp_path: Path) -> None:
    output = tmp_path / "out"
    (output / "inside").mkdir(parents=True)
    with raises("unwritable-file", output, says="Is a directory"):
        write_text(output, "text")
    assert names(output) == ["inside"]
    assert names(tmp_path) == ["out"]


def test_a_device_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with raises("not-a-file", pipe):
        write_text(pipe, "text")
    assert pipe.is_fifo()


def test_a_link_to_a_device_is_neither_read_nor_replaced(tmp_path: Path) -> None:
    for name, read in (("zero", read_text), ("full", read_text), ("zero", sha256)):
        link = tmp_path / name
        link.unlink(missing_ok=True)
        link.symlink_to(f"/dev/{name}")
        with raises("not-a-file"):
            read(link)
        with raises("not-a-file"):
            write_text(link, "text")
        assert link.is_symlink()


def test_a_name_that_is_too_long_for_the_file_system_is_said(tmp_path: Path) -> None:
    with raises("unwritable-file"):
        write_text(tmp_path / ("x" * 300), "text")
    with raises("unreadable-file"):
        read_text(tmp_path / ("x" * 300))
    deep = tmp_path.joinpath(*["y" * 100] * 3, "text")
    write_text(deep, "text")
    assert read_text(deep) == "text"


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    output = tmp_path / "out.txt"
    with raises("disk-full", output), atomic(output) as temporary:
        temporary.symlink_to("/dev/full")  # the kernel answers ENOSPC to every write
        temporary.write_text("text")
    assert names(tmp_path) == []


def test_a_quota_is_said(tmp_path: Path) -> None:
    output = tmp_path / "out.txt"
    output.write_text("old")
    with raises("disk-full", output), no_file_larger_than(1000):
        write_text(output, "x" * 5000)
    assert output.read_text() == "old"
    assert names(tmp_path) == ["out.txt"]


def test_a_place_below_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with raises("unwritable-file", tmp_path / "file" / "out.txt"):
        write_text(tmp_path / "file" / "out.txt", "text")


def test_a_missing_input_is_not_blamed_on_the_output(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic(tmp_path / "out.txt"):
        (tmp_path / "input.txt").read_text()


def test_two_writers_of_one_file_do_not_mix(tmp_path: Path) -> None:
    output = tmp_path / "out.txt"
    both_inside = threading.Barrier(2)

    written = []

    def write(text: str) -> None:
        with atomic(output) as temporary:
            temporary.write_text(text)
            both_inside.wait(timeout=10)
        written.append(text)

    threads = [threading.Thread(target=write, args=(letter * 10,)) for letter in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert output.read_text() in written
    assert sorted(written) == ["a" * 10, "b" * 10]
    assert names(tmp_path) == ["out.txt"]


def test_a_folder_that_is_not_locked_yet_is_not_taken_from_its_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "out.txt"
    flock, rmtree = fcntl.flock, shutil.rmtree
    about_to_lock, taken, writing, removed = (threading.Event() for _ in range(4))

    def lock(file: IO[str], operation: int) -> None:
        if operation == fcntl.LOCK_EX and not about_to_lock.is_set():
            about_to_lock.set()
            assert taken.wait(10)
        flock(file, operation)

    def remove(folder: Path, **options: bool) -> None:
        if not taken.is_set():  # The second writer found the folder of the first one, and nobody held its lock.
            taken.set()
            assert writing.wait(10)
        rmtree(folder, **options)
        removed.set()

    def write() -> None:
        with atomic(output) as temporary:
            temporary.write_text("first")
            writing.set()
            assert removed.wait(10)
        finished.append("first")

    finished: list[str] = []
    monkeypatch.setattr(fcntl, "flock", lock)
    monkeypatch.setattr(shutil, "rmtree", remove)
    first = threading.Thread(target=write)
    first.start()
    assert about_to_lock.wait(10)
    write_text(output, "second")
    first.join()
    assert finished == ["first"]
    assert read_text(output) in ("first", "second")
    assert names(tmp_path) == ["out.txt"]


def test_two_writers_leave_the_checksum_of_the_bytes_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "out.txt"
    flock, replace = fcntl.flock, os.replace
    replaced, overtaken = threading.Event(), threading.Event()

    def move(source: Path, target: Path) -> None:
        replace(source, target)
        if target == output and not replaced.is_set():  # The first writer has not put its checksum there yet.
            replaced.set()
            assert overtaken.wait(10)

    def lock(file: IO[str] | int, operation: int) -> None:
        if isinstance(file, int) and replaced.is_set():  # The second writer waits for the first one.
            overtaken.set()
        flock(file, operation)

    monkeypatch.setattr(os, "replace", move)
    monkeypatch.setattr(fcntl, "flock", lock)
    first = threading.Thread(target=write_text, args=(output, "first"))
    first.start()
    assert replaced.wait(10)
    write_text(output, "second")
    overtaken.set()
    first.join()
    assert read_text(output) == "second"


def test_json_round_trip(tmp_path: Path) -> None:
    value = {"ä": [1, 2.5, None, {"x": "\u2028"}]}
    write_json(tmp_path / "a.json", value)
    assert read_json(tmp_path / "a.json") == value


@pytest.mark.parametrize("content", [b"{", b"", b"\xff", b"[" * 100_000])
def test_bad_json_is_said(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with raises("invalid-json", path):
        read_json(path)


def test_json_that_is_not_there_is_said(tmp_path: Path) -> None:
    with raises("missing-file", tmp_path / "a.json"):
        read_json(tmp_path / "a.json")
    with raises("unreadable-file", tmp_path, says="Is a directory"):
        read_json(tmp_path)


def test_sha256_is_that_of_the_bytes(tmp_path: Path) -> None:
    content = os.urandom(3_000_000)
    (tmp_path / "a").write_bytes(content)
    assert sha256(tmp_path / "a") == hashlib.sha256(content).hexdigest()
    with raises("unreadable-file", tmp_path / "b", says="No such file"):
        sha256(tmp_path / "b")


def test_gz_is_decompressed_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"text"))
    with open_bytes(path) as file:
        assert file.read() == b"text"


@pytest.mark.parametrize("cut", [5, 30, -5])
def test_damaged_gz_is_said(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(os.urandom(1000))[:cut])
    with raises("damaged-file", path), open_bytes(path) as file:
        file.read()


def test_text_that_calls_itself_gz_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(b"plain text")
    with raises("damaged-file", path), open_bytes(path) as file:
        file.read()


def test_a_place_that_can_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("content")
    check_writable(tmp_path / "old")
    check_writable(tmp_path / "new" / "file")
    assert (tmp_path / "old").read_text() == "content"
    assert names(tmp_path) == ["new", "old"] and not names(tmp_path / "new")


def test_a_place_that_cannot_be_written_is_said_before_it_is(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with raises("unwritable-file", tmp_path / "file" / "below", says="File exists"):
        check_writable(tmp_path / "file" / "below")
    with raises("not-a-file", tmp_path):
        check_writable(tmp_path)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="reading address 0 fails as a broken disk does")
def test_a_broken_disk_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "text").symlink_to("/proc/self/mem")
    with raises("unreadable-file", path=tmp_path / "text"), open_bytes(tmp_path / "text") as file:
        file.read(10)


def test_bytes_are_on_the_disk_before_the_file_is_at_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a power failure could leave an empty file there."""
    done: list[str] = []
    sync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        done.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        sync(descriptor)

    def replaced(old: Path, new: Path) -> None:
        done.append(f"to {Path(new).name}")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    write_text(tmp_path / "file", "text")
    assert "file" in done and done.index("file") < done.index("to file")
    with atomic(tmp_path / "folder", checksum="none") as temporary:
        temporary.mkdir()
        (temporary / "inside").write_text("text")
    assert "inside" in done
