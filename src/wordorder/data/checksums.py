"""Comparison of a file with its description in a dataset, by SHA-256 or other published checksums."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import IO

from wordorder.config.datasets import Download
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
    if entry.lines is not None and (lines := count_lines(path, name or path.name)) != entry.lines:
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


def count_lines(path: Path, name: str) -> int:
    """Count the lines of a text, which is decompressed as ``name`` implies."""
    with open_bytes(path, name=name) as file:
        return _count(file)


def _count(file: IO[bytes]) -> int:
    lines, last = 0, b"\n"
    while block := file.read(_BLOCK):
        lines += block.count(b"\n")
        last = block[-1:]
    return lines + (last != b"\n")
