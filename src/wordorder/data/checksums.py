"""Comparison of a file with its description in a dataset, by SHA-256 or other published checksums."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from wordorder.config.datasets import Download
from wordorder.data.archive import open_zip
from wordorder.errors import WordorderError
from wordorder.files import open_bytes, reading

_BLOCK = 1 << 20


def expected(entry: Download) -> dict[str, str]:
    """Return the published checksums by kind, the strongest first."""
    kinds = {"SHA-256": entry.sha256, "MD5": entry.md5, "git blob number": entry.git_blob}
    return {kind: value for kind, value in kinds.items() if value is not None}


def fault(entry: Download, path: Path, *, name: str | None = None) -> str | None:
    """Describe how a file differs from its description.

    Args:
        entry: The description.
        path: The file.
        name: The name that determines the compression, if that of ``path`` does not.

    Returns:
        The end of a sentence, or None if the file is correct.
    """
    found = _digests(path, expected(entry))
    for kind, value in expected(entry).items():
        if found[kind] != value:
            return f"has {kind} {found[kind]} instead of {value}"
    if entry.text_sha256 is not None and not found and (why := _fault_of_text(entry, path, name or path.name)):
        return why
    if entry.bytes is not None and (size := path.stat().st_size) != entry.bytes:
        return f"has {size} bytes instead of {entry.bytes}"
    if entry.lines is not None and (lines := _count_lines(entry, path, name or path.name)) != entry.lines:
        return f"has {lines} lines instead of {entry.lines}"
    return None


def _digests(path: Path, kinds: dict[str, str]) -> dict[str, str]:
    """Compute the file's checksums of these kinds in one pass."""
    header = b"blob %d\0" % path.stat().st_size  # git hashes this header and the content
    digests = {
        "SHA-256": hashlib.sha256(),
        "MD5": hashlib.md5(usedforsecurity=False),
        "git blob number": hashlib.sha1(header, usedforsecurity=False),
    }
    wanted = {kind: digests[kind] for kind in kinds}
    with reading(path), open(path, "rb") as file:
        while wanted and (block := file.read(_BLOCK)):
            for digest in wanted.values():
                digest.update(block)
    return {kind: digest.hexdigest() for kind, digest in wanted.items()}


def _fault_of_text(entry: Download, path: Path, name: str) -> str | None:
    digest = hashlib.sha256()
    try:
        with open_text(path, name, entry.text_member) as text:
            while block := text.read(_BLOCK):
                digest.update(block)
    except WordorderError:  # an absent member, a password
        return "is damaged, or is not compressed as its name says"
    return text_fault(entry, digest.hexdigest())


def text_fault(entry: Download, found: str) -> str | None:
    """Describe how the SHA-256 of a text differs from that of the description, like :func:`fault`."""
    return None if found == entry.text_sha256 else f"has text with SHA-256 {found} instead of {entry.text_sha256}"


def text_member(name: str, member: str | None) -> str:
    """Return the member of a .zip archive that holds the text: that of its name if the description names none."""
    return member or Path(name).stem


@contextmanager
def open_text(path: Path, name: str, member: str | None) -> Iterator[IO[bytes]]:
    """Open the text of a download, decompressed as ``name`` implies; a .zip archive has it in one member."""
    if not name.endswith(".zip"):
        with open_bytes(path, name=name) as file:
            yield file
        return
    try:
        with reading(path), open_zip(path, text_member(name, member)) as text:
            yield text
    except zipfile.BadZipFile as error:
        raise WordorderError(
            f"{path} is not a .zip archive or is damaged: {error}.", code="damaged-file", path=path
        ) from error


def _count_lines(entry: Download, path: Path, name: str) -> int:
    with open_text(path, name, entry.text_member) as file:
        return _count(file)


def _count(file: IO[bytes]) -> int:
    lines, last = 0, b"\n"
    while block := file.read(_BLOCK):
        lines += block.count(b"\n")
        last = block[-1:]
    return lines + (last != b"\n")
