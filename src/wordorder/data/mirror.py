"""Copies of downloads in the local mirror, the folder that the variable WORDORDER_MIRROR names."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from wordorder.config.datasets import Download
from wordorder.data.checksums import fault
from wordorder.errors import WordorderError
from wordorder.files import open_bytes, reading
from wordorder.progress import Progress

_BLOCK = 1 << 18


class Unusable(Exception):
    """A place does not give the file; the message is the end of a sentence about it."""


def candidates(entry: Download, mirror: str | Path | None) -> Iterator[Path]:
    """Paths in the mirror at which a copy may lie: as it was published, or with .gz behind its name, compressed."""
    if mirror is not None and entry.mirror is not None:
        yield Path(mirror, entry.mirror)
        yield Path(mirror, f"{entry.mirror}.gz")


def copy(candidate: Path, entry: Download, output: Path, *, name: str, quiet: bool = False) -> None:
    """Write the file that ``entry`` describes to ``output``, out of a copy in the mirror; ``name`` is its own name.

    A copy with the right text that is compressed otherwise is compressed as ``name`` says. Raises :class:`Unusable`.
    """
    if not candidate.is_file():
        raise Unusable("does not exist")
    try:
        added = candidate.name != Path(entry.mirror or "").name  # the .gz
        size = entry.bytes if added else candidate.stat().st_size
        with _opened(candidate, decompress=added) as file, output.open("wb") as copy:
            if quiet:
                shutil.copyfileobj(file, copy, _BLOCK)
            else:
                _pour(file, copy, name, size)
        why = fault(entry, output, name=name)
        if why is not None and entry.text_sha256 is not None:
            why = _recompress(candidate, entry, output, name)
    except WordorderError as error:  # from reading(): damaged or not allowed
        raise Unusable(f"is of no use ({error})") from error
    if why is not None:
        raise Unusable(why)


@contextmanager
def _opened(candidate: Path, *, decompress: bool) -> Iterator[IO[bytes]]:
    with reading(candidate), gzip.open(candidate) if decompress else candidate.open("rb") as file:
        yield cast(IO[bytes], file)


def _recompress(candidate: Path, entry: Download, output: Path, name: str) -> str | None:
    """What is wrong with the text of the copy, if not its compression."""
    digest = hashlib.sha256()
    with open_bytes(candidate) as text, _compressed(output, name, entry.text_member) as file:
        while block := text.read(_BLOCK):
            digest.update(block)
            file.write(block)
    if digest.hexdigest() != entry.text_sha256:
        return f"has text with SHA-256 {digest.hexdigest()} instead of {entry.text_sha256}"
    return None


@contextmanager
def _compressed(output: Path, name: str, member: str | None) -> Iterator[IO[bytes]]:
    """A file to write text into; the same text gives the same bytes."""
    with output.open("wb") as raw:
        if name.endswith(".zip"):
            with zipfile.ZipFile(raw, "w") as archive:
                info = zipfile.ZipInfo(member or Path(name).stem)
                info.compress_type = zipfile.ZIP_DEFLATED
                with archive.open(info, "w", force_zip64=True) as file:
                    yield file
        elif name.endswith(".gz"):
            with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
                yield cast(IO[bytes], file)
        elif name.endswith(".bz2"):
            with bz2.open(raw, "wb") as file:
                yield cast(IO[bytes], file)
        else:
            yield raw


def _pour(file: IO[bytes], copy: IO[bytes], name: str, size: int | None) -> None:
    with Progress(f"Copying {name}", total=size, unit="B") as progress:
        while block := file.read(_BLOCK):
            copy.write(block)
            progress.advance(len(block))
