"""Checksums of the files that wordorder writes: recorded when a file is written, compared when it is read.

A checksum is at one of two places:

* At the end of binary files that only wordorder reads (models, states, aligners, parsers, subword models), so that
  copies are verified, too. ZIP readers pass over it, and to readers of protocol buffers it is an unknown field. Such a
  file without a checksum is refused.
* Beside every other file, as ``.NAME.sha256``, which 'sha256sum --check' reads. A file without a checksum is accepted:
  a person put it there, or an earlier version wrote it.

Arrays of a folder (:mod:`wordorder.data.arrays`) have their checksums in its ``meta.json``.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from wordorder.errors import WordorderError

Checksum = Literal["inside", "beside", "none"]

_MARK = b"zS\nwordorder sha256 "  # of field 15, with 83 bytes
_TRAILER = re.compile(re.escape(_MARK) + rb"([0-9a-f]{64})\n")
_LENGTH = len(_MARK) + 65
_BLOCK = 1 << 16
# A rule has these files besides its declared outputs, so Snakemake does not make them by their names.
_RULES = dict.fromkeys((".hypotheses", ".nbest.jsonl", ".scores.json", ".translation.json"), "evaluate_model")


def digest(path: Path, size: int | None = None) -> str:
    """Compute the hexadecimal SHA-256 of a file, or of its first ``size`` bytes."""
    found, left = hashlib.sha256(), sys.maxsize if size is None else size
    with path.open("rb") as file:
        while block := file.read(min(_BLOCK, left)):
            found.update(block)
            left -= len(block)
    return found.hexdigest()


def note_of(path: Path) -> Path:
    """Return the file that holds the checksum of ``path``."""
    return path.with_name(f".{path.name}.sha256")


def is_note(path: Path) -> bool:
    """Return whether a file holds the checksum of another one."""
    return path.name.startswith(".") and path.suffix == ".sha256"


def record(path: Path, checksum: Checksum) -> None:
    """Record the checksum of a file, or of each file in a folder; those that have one keep it."""
    if path.is_dir():
        for file in [file for file in path.rglob("*") if checksum == "beside" and file.is_file()]:
            if not (is_note(file) or note_of(file).exists() or _is_inside(file)):
                _write_note(file)
    elif checksum == "beside":
        _write_note(path)
    elif checksum == "inside" and not _trailer(path):
        own = digest(path)
        with path.open("ab") as opened:
            opened.write(_MARK + own.encode() + b"\n")


def _is_inside(path: Path) -> bool:
    return path.suffix == ".npy" or _trailer(path) is not None


def _write_note(path: Path) -> None:
    with note_of(path).open("w", encoding="utf-8", newline="\n") as note:
        note.write(f"{digest(path)}  {path.name}\n")
        note.flush()
        os.fsync(note.fileno())


def remove_orphans(folder: Path) -> None:
    """Remove the checksums below a folder whose files are gone, such as temporary ones that Snakemake has removed."""
    for note in folder.rglob(".*.sha256"):
        if not note.with_name(note.name[1 : -len(".sha256")]).exists():
            note.unlink(missing_ok=True)


def check_beside(path: Path) -> None:
    """Compare a file with its checksum file, if there is one.

    Raises:
        WordorderError: The file does not have its checksum.
    """
    note, before = note_of(path), None
    while (now := _read(note)) is not None and not now.startswith(f"{digest(path)}  ".encode()):
        if now == before:
            raise WordorderError(
                f"{path} is damaged: it does not have the checksum that was recorded when it was written. "
                f"{_remake(path)} If you changed it on purpose, delete {note}.",
                code="damaged-file",
                path=path,
            )
        before = now  # Read it again, because another process may have replaced both files.


def _read(note: Path) -> bytes | None:
    try:
        return note.read_bytes()
    except OSError:
        return None


def _remake(path: Path) -> str:
    rule = next((rule for ending, rule in _RULES.items() if path.name.endswith(ending)), None)
    return f"Remake it: 'snakemake STUDY --forcerun {rule}'." if rule else f"Remake it: 'snakemake --force {path}'."


def check_inside(path: Path, remedy: str) -> int:
    """Compare a file with the checksum at its end.

    Args:
        path: The file.
        remedy: A sentence for the error that names the command to make the file again.

    Returns:
        The number of bytes before the checksum.

    Raises:
        WordorderError: The file does not have its checksum, or no checksum is at its end.
    """
    recorded = _trailer(path)
    size = path.stat().st_size - _LENGTH
    if recorded is None:
        raise WordorderError(
            f"{path} is damaged or was written by an earlier version of wordorder: it does not end with a checksum. "
            f"{remedy} If you know that the file is undamaged, 'wordorder stage seal {path}' adds the checksum.",
            code="damaged-file",
            path=path,
        )
    if digest(path, size) != recorded:
        raise WordorderError(
            f"{path} is damaged: it does not have the checksum at its end. {remedy}", code="damaged-file", path=path
        )
    return size


def seal(files: Sequence[Path], /) -> None:
    """Add the checksum that this version expects to files of earlier versions.

    Nothing can detect damage in such a file, so use this command only on files that you trust.

    Args:
        files: Models, saved states, aligners, parsers or subword models.

    Example:
        wordorder stage seal results/models/*/*/*/*/*/model.pt
    """
    for file in files:
        record(file, "inside")


def _trailer(path: Path) -> str | None:
    """Return the checksum at the end of a file, if there is one."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _LENGTH))
        found = _TRAILER.fullmatch(file.read())
    return found[1].decode() if found else None
