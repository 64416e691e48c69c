"""Members of archives as streams. Nothing is unpacked to disk, and no path in an archive is followed."""

from __future__ import annotations

import difflib
import io
import lzma
import stat
import struct
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeVar, cast

from wordorder.errors import WordorderError
from wordorder.files import decompressed, open_bytes, reading

_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, struct.error, NotImplementedError, OverflowError)
Member = TypeVar("Member", tarfile.TarInfo, zipfile.ZipInfo)
# Other errors of a damaged table of contents; a name may not be UTF-8.
_NO_CONTENTS = (ValueError, ArithmeticError, LookupError)


@contextmanager
def open_member(archive: str | Path, member: str | None) -> Iterator[IO[bytes]]:
    """Open a member of an archive, or a single file, for reading.

    A name that ends in ``.gz`` or ``.bz2`` is decompressed, inside an archive, too.

    Args:
        archive: A ``.zip`` or (compressed) tar archive, or a file.
        member: The member, or ``None`` for the file itself.

    Yields:
        The open file.

    Raises:
        WordorderError: The archive is damaged, or the member is missing or not an ordinary file.
    """
    if member is None:
        with open_bytes(archive) as file:
            yield file
        return
    opener = open_zip if str(archive).endswith(".zip") else _open_tar
    try:
        with reading(archive), opener(archive, member) as file, decompressed(file, member) as text:
            yield text
    except _DAMAGE as error:
        raise WordorderError(
            f"{archive} is not an archive or is damaged: {error}. Delete it and download it again.",
            code="damaged-file",
            path=archive,
        ) from error


@contextmanager
def _contents(damaged: type[Exception]) -> Iterator[None]:
    """Raise ``damaged`` for what a damaged table of contents leads to."""
    try:
        yield
    except _NO_CONTENTS as error:
        raise damaged(str(error)) from error


def _plain(name: str) -> str:
    return name.removeprefix("./")


@contextmanager
def _open_tar(archive: str | Path, member: str) -> Iterator[IO[bytes]]:
    with _contents(tarfile.ReadError):
        opened = tarfile.TarFile.open(archive)
    with opened as tar:
        # 'tar -r' adds a second member of a name, but only to an archive that is not compressed. There, the search for
        # another one skips the contents.
        is_compressed = not isinstance(tar.fileobj, io.BufferedReader)
        names: list[str] = []
        found: list[tarfile.TarInfo] = []
        while not (found and is_compressed):
            with _contents(tarfile.ReadError):
                info = tar.next()
            if info is None:
                break
            names.append(_plain(info.name))
            if names[-1] == _plain(member):
                found.append(info)
        info = _only(found, archive, member, names)
        file = tar.extractfile(info) if info.isfile() else None
        if file is None:
            raise _not_a_file(archive, member)
        with file:
            yield file


@contextmanager
def open_zip(archive: str | Path, member: str) -> Iterator[IO[bytes]]:
    """Open a member of a .zip archive, which may hold only one of this name."""
    with _contents(zipfile.BadZipFile):
        opened = zipfile.ZipFile(archive)
    with opened as zipped:
        found = [info for info in zipped.infolist() if _plain(info.filename) == _plain(member)]
        info = _only(found, archive, member, [_plain(info.filename) for info in zipped.infolist()])
        mode = info.external_attr >> 16
        if info.is_dir() or stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            raise _not_a_file(archive, member)
        try:
            with _contents(zipfile.BadZipFile):  # The member has a header of its own.
                file = zipped.open(info)
        except (RuntimeError, NotImplementedError) as error:  # a password or an unknown compression
            raise WordorderError(
                f"'{member}' of {archive} cannot be read: {error}.", code="unreadable-file", path=archive, key=member
            ) from error
        with io.BufferedReader(cast(io.RawIOBase, file)) as buffered:  # whose lines have no price of their own
            yield buffered


def _only(found: list[Member], archive: str | Path, member: str, names: list[str]) -> Member:
    """Return the only member with a name; ``names`` are those of all members."""
    if not found:
        raise _missing(archive, member, names)
    if len(found) > 1:
        raise WordorderError(
            f"{archive} has {len(found)} members '{member}', so it is unknown which of them is meant. Remove the "
            "others from the archive.",
            code="ambiguous-member",
            path=archive,
            key=member,
        )
    return found[0]


def _not_a_file(archive: str | Path, member: str) -> WordorderError:
    return WordorderError(
        f"'{member}' of {archive} is a folder or a link. Name an ordinary file.",
        code="not-a-file",
        path=archive,
        key=member,
    )


def _missing(archive: str | Path, member: str, names: list[str]) -> WordorderError:
    near = difflib.get_close_matches(member, names, n=5, cutoff=0.3) or names[:5]
    listed = f"The nearest of its {len(names)} members: {', '.join(near)}." if near else "It is empty."
    return WordorderError(
        f"{archive} has no member '{member}'. {listed}",
        code="unknown-name",
        path=archive,
        key=member,
        found=member,
        expected=names,
        suggestion=near[0] if near else None,
    )
