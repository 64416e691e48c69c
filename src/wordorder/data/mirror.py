"""Copies of downloads: placed manually, or in the mirror, the folder in WORDORDER_MIRROR."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from wordorder.config.datasets import Download
from wordorder.data.checksums import expected, fault, open_text, text_fault, text_member
from wordorder.errors import WordorderError
from wordorder.files import open_bytes, reading, sha256
from wordorder.progress import Progress

_BLOCK = 1 << 18


class Unusable(Exception):
    """A place that does not provide the file; the message is the end of a sentence about it."""


class Copy(NamedTuple):
    """A possible place of a copy: as published, or compressed, with .gz appended to its name."""

    path: Path
    compressed: bool


def by_hand(output: str | Path) -> Path:
    """Return the path at which users place the download ``output`` manually. It is verified like any other copy."""
    return Path(output).parent / "by_hand" / Path(output).name


def demand_unchanged(entry: Download, output: str | Path, mirror: str | Path | None) -> None:
    """Check that the file of which ``output`` is a copy was not changed, if no checksum of it is known.

    Args:
        entry: The description of the file.
        output: The copy.
        mirror: The mirror, if there is one.

    Raises:
        WordorderError: The file was changed after it was copied.
    """
    output = Path(output)
    place, compressed = next((each for each in candidates(entry, output, mirror) if each.path.is_file()), (None, False))
    if expected(entry) or entry.text_sha256 or place is None or not output.is_file():
        return
    old, new = output.stat(), place.stat()
    if compressed or old.st_size == new.st_size:
        # A file that another one has replaced may have an older modification time, but not an older change time.
        if max(new.st_mtime_ns, new.st_ctime_ns) <= old.st_mtime_ns:
            return
        with open_bytes(place) if compressed else place.open("rb") as file:
            if hashlib.file_digest(cast(Any, file), "sha256").hexdigest() == sha256(output):
                return
    raise WordorderError(
        f"{place} was changed after it was copied to {output}, which the results use. To use the changed file, "
        f"delete {output}, run 'snakemake {output} --cores 1', and run this command again. Otherwise, put the earlier "
        "version back.",
        code="changed-file",
        path=place,
    )


def candidates(entry: Download, output: str | Path, mirror: str | Path | None) -> Iterator[Copy]:
    """Yield the manual place and the places in the mirror, whether or not they exist."""
    places = [by_hand(output)] + ([Path(mirror, entry.mirror)] if mirror and entry.mirror else [])
    for place in places:
        for copy in (Copy(place, False), Copy(place.with_name(f"{place.name}.gz"), True)):
            if place != places[0] or copy.path.exists():
                yield copy


def copy(candidate: Copy, entry: Download, output: Path, *, name: str, quiet: bool = False) -> bool:
    """Write the described file to ``output`` from a copy.

    A copy with the right text but another compression is recompressed.

    Args:
        candidate: The copy.
        entry: The description of the file.
        output: The file to write.
        name: The name that determines the compression.
        quiet: Whether to print nothing.

    Returns:
        Whether the text was recompressed.

    Raises:
        Unusable: The copy cannot be used.
    """
    place, compressed = candidate
    if not place.is_file():
        raise Unusable("does not exist")
    try:
        size = entry.bytes if compressed else place.stat().st_size
        with _opened(place, decompress=compressed) as file, output.open("wb") as copy:
            if quiet:
                shutil.copyfileobj(file, copy, _BLOCK)
            else:
                _pour(file, copy, name, size)
        why = fault(entry, output, name=name)
        recompressed = why is not None and entry.text_sha256 is not None
        if recompressed:
            why = _recompress(place, entry, output, name)
    except WordorderError as error:  # from reading(): damaged or not permitted
        raise Unusable(f"cannot be used ({error})") from error
    if why is not None:
        raise Unusable(why)
    return recompressed


@contextmanager
def _opened(candidate: Path, *, decompress: bool) -> Iterator[IO[bytes]]:
    with reading(candidate), gzip.open(candidate) if decompress else candidate.open("rb") as file:
        yield cast(IO[bytes], file)


def _recompress(candidate: Path, entry: Download, output: Path, name: str) -> str | None:
    """Recompress the text of the copy, and describe what is wrong with the text, if anything is."""
    digest = hashlib.sha256()
    with (
        open_text(candidate, candidate.name, entry.text_member) as text,
        _compressed(output, name, entry.text_member) as file,
    ):
        while block := text.read(_BLOCK):
            digest.update(block)
            file.write(block)
    return text_fault(entry, digest.hexdigest())


@contextmanager
def _compressed(output: Path, name: str, member: str | None) -> Iterator[IO[bytes]]:
    """Open a compressed file for writing text; the same text gives the same bytes."""
    with output.open("wb") as raw:
        if name.endswith(".zip"):
            with zipfile.ZipFile(raw, "w") as archive:
                info = zipfile.ZipInfo(text_member(name, member))
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
