"""Tests of members of archives, sound and hostile."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from raises import raises
from wordorder.data.archive import open_member

TEXT = b"one\ntwo\n" * 5000
NOISE = os.urandom(200_000)


def make_tar(path: Path, members: dict[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def make_zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in members.items():
            zipped.writestr(name, content)
    return path


MAKERS: list[tuple[str, Callable[[Path, dict[str, bytes]], Path]]] = [
    ("a.tar", make_tar),
    ("a.tgz", lambda path, members: make_tar(path, members, "w:gz")),
    ("a.tar.bz2", lambda path, members: make_tar(path, members, "w:bz2")),
    ("a.tar.xz", lambda path, members: make_tar(path, members, "w:xz")),
    ("a.zip", make_zip),
]
each_archive = pytest.mark.parametrize(("name", "make"), MAKERS, ids=[name for name, _ in MAKERS])


def content(archive: Path, member: str | None) -> bytes:
    with open_member(archive, member) as file:
        return file.read()


@each_archive
def test_a_member_is_read(tmp_path: Path, name: str, make: Callable[..., Path]) -> None:
    members = {"training/x.de": b"de", "./training/x.en": TEXT, "training/y.en.gz": gzip.compress(b"packed")}
    archive = make(tmp_path / name, members)
    assert content(archive, "training/x.de") == b"de"
    assert content(archive, "training/x.en") == TEXT
    assert content(archive, "./training/x.en") == TEXT
    assert content(archive, "training/y.en.gz") == b"packed"


def test_without_a_member_the_file_itself_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"text")
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"packed"))
    assert content(tmp_path / "a.txt", None) == b"text"
    assert content(tmp_path / "a.gz", None) == b"packed"


@each_archive
def test_a_missing_member_is_said_with_the_nearest(tmp_path: Path, name: str, make: Callable[..., Path]) -> None:
    archive = make(tmp_path / name, {"training/europarl.de": b"", "readme": b"", "training/europarl.en": b""})
    with raises("unknown-name", key="europarl.de", suggestion="training/europarl.de"):
        content(archive, "europarl.de")
    with raises("unknown-name", key="x"):
        content(make(tmp_path / name, {}), "x")


@each_archive
def test_names_that_lead_outside_are_only_names(tmp_path: Path, name: str, make: Callable[..., Path]) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    members = {"../../outside": b"inside the archive", "/etc/hostname": b"inside the archive"}
    archive = make(folder / name, members)
    for member in members:
        assert content(archive, member) == b"inside the archive"
    assert [path.name for path in folder.iterdir()] == [name]
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_a_tar_member_that_is_no_file_is_refused(tmp_path: Path, kind: bytes) -> None:
    (tmp_path / "secret").write_text("secret")
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        info = tarfile.TarInfo("secret")
        info.type, info.linkname = kind, str(tmp_path / "secret")
        tar.addfile(info)
    with raises("not-a-file", key="secret"):
        content(tmp_path / "a.tar", "secret")


@pytest.mark.parametrize(("member", "mode"), [("secret", 0o120777), ("folder/", 0o040755)])
def test_a_zip_member_that_is_no_file_is_refused(tmp_path: Path, member: str, mode: int) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as zipped:
        info = zipfile.ZipInfo(member)
        info.external_attr = mode << 16
        zipped.writestr(info, "/etc/hostname")
    with raises("not-a-file"):
        content(tmp_path / "a.zip", member)


@each_archive
@pytest.mark.parametrize("keep", [0, 10, 600, 0.5, 0.9])
def test_a_cut_archive_is_said(tmp_path: Path, name: str, make: Callable[..., Path], keep: float) -> None:
    archive = make(tmp_path / name, {"a": NOISE, "b": NOISE})
    data = archive.read_bytes()
    archive.write_bytes(data[: int(keep if keep >= 1 else keep * len(data))])
    with raises("damaged-file"):
        content(archive, "b")


@pytest.mark.parametrize(("name", "make"), [maker for maker in MAKERS if maker[0] in ("a.tar.bz2", "a.zip")])
def test_changed_bytes_are_said_where_the_format_tells(tmp_path: Path, name: str, make: Callable[..., Path]) -> None:
    archive = make(tmp_path / name, {"a": NOISE})
    data = bytearray(archive.read_bytes())
    data[len(data) // 2] ^= 0xFF
    archive.write_bytes(data)
    with raises("damaged-file"):
        content(archive, "a")


@pytest.mark.parametrize("name", ["a.tar", "a.tgz", "a.zip"])
def test_what_is_no_archive_is_said(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"<html>404</html>" * 1000)
    with raises("damaged-file"):
        content(tmp_path / name, "x")
    with raises("unreadable-file"):
        content(tmp_path / f"missing {name}", "x")


@pytest.mark.parametrize("place", [0, 1])
def test_a_damaged_header_of_a_tar_is_said(tmp_path: Path, place: int) -> None:
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        for number in range(2):
            info = tarfile.TarInfo(f"member {number}")
            info.pax_headers = {"GNU.sparse.map": "1,x"} if number == place else {}
            tar.addfile(info)
    with raises("damaged-file"):
        content(tmp_path / "a.tar", "member 2")


def test_a_name_in_a_zip_that_is_not_utf8_is_said(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "a.zip", {"ä": b"text"})
    archive.write_bytes(archive.read_bytes().replace("ä".encode(), b"\xff\xff"))
    with raises("damaged-file"):
        content(archive, "ä")


def test_a_name_in_the_header_of_a_zip_member_that_is_not_utf8_is_said(tmp_path: Path) -> None:
    """The header in front of a member repeats its name and says that the name is UTF-8."""
    archive = make_zip(tmp_path / "a.zip", {"ä": b"text"})
    whole = archive.read_bytes()
    archive.write_bytes(whole.replace("ä".encode(), b"\xea\x20", 1))
    with raises("damaged-file"):
        content(archive, "ä")


def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(tmp_path / "a.zip", "w") as zipped:
        zipped.writestr("a", b"first")
        zipped.writestr("a", b"second")
        zipped.writestr("b", b"first")
        zipped.writestr("./b", b"second")
    for member in ("a", "b"):
        with raises("ambiguous-member", key=member):
            content(tmp_path / "a.zip", member)


def test_what_was_appended_to_a_tar_under_the_same_name_is_refused(tmp_path: Path) -> None:
    archive = make_tar(tmp_path / "a.tar", {"a": TEXT, "b": b"only"})
    with tarfile.open(archive, "a") as tar:
        tar.addfile(tarfile.TarInfo("./a"), io.BytesIO(b""))
    with raises("ambiguous-member", key="a"):
        content(archive, "a")
    assert content(archive, "b") == b"only"


def test_a_zip_with_a_password_is_said(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "a.zip", {"a": b"text"})
    data = bytearray(archive.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1  # the flag of encryption
    archive.write_bytes(data)
    with raises("unreadable-file", key="a"):
        content(archive, "a")


@each_archive
def test_a_large_member_streams(tmp_path: Path, name: str, make: Callable[..., Path]) -> None:
    size = 30_000_000
    archive = make(tmp_path / name, {"zeros": bytes(size)})
    tracemalloc.start()
    with open_member(archive, "zeros") as file:
        read = sum(len(block) for block in iter(lambda: file.read(1 << 16), b""))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert read == size
    assert peak < size / 3
