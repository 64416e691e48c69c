"""Checksums of the files that wordorder writes: recorded when a file is written, compared when it is read.

A checksum is at one of two places:

* At the end of binary files that only wordorder reads (models, states, aligners, parsers, subword models), so that
  copies are verified, too. ZIP readers pass over it, and to readers of protocol buffers it is an unknown field. Such a
  file without a checksum is refused.
* Beside every other file, as ``.NAME.sha256``, which 'sha256sum --check' reads. In a folder that only wordorder fills
  (:func:`demand_below`), a file without a checksum is refused. Elsewhere it is accepted: a person put it there.

Arrays of a folder (:mod:`wordorder.data.arrays`) have their checksums in its ``meta.json``.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from wordorder.errors import WordorderError

Checksum = Literal["inside", "beside", "none"]

_MARK = b"zS\nwordorder sha256 "  # of field 15, with 83 bytes
_TRAILER = re.compile(re.escape(_MARK) + rb"([0-9a-f]{64})\n")
_LENGTH = len(_MARK) + 65
_BLOCK = 1 << 16
PARTIAL = ".partial"  # the end of the names of folders in which files are written
_DEMAND = ".checksums"  # a file in a folder below which each file must have a checksum
_ENDINGS = (".pt", ".npz", ".model")  # of files with their checksums inside
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


def record(path: Path, checksum: Checksum, final: Path) -> None:
    """Record the checksum of a file, or of each file in a folder; those that have one keep it.

    Args:
        path: The file or folder.
        checksum: Where to record it.
        final: The path that it will have. Its name is recorded, and the rest if a folder above demands checksums.
    """
    if path.is_dir():
        for file in [file for file in path.rglob("*") if checksum == "beside" and file.is_file()]:
            if not (is_note(file) or note_of(file).exists() or _is_inside(file)):
                _write(note_of(file), _line(file, file.name) + _place_line(final / file.relative_to(path)))
    elif checksum == "beside":
        _write(note_of(path), _line(path, final.name) + _place_line(final))
    elif checksum == "inside" and not _trailer(path):
        own = digest(path)
        with path.open("ab") as opened:
            opened.write(_MARK + own.encode() + b"\n")


def _is_inside(path: Path) -> bool:
    return path.suffix == ".npy" or _trailer(path) is not None


def _line(path: Path, name: str) -> bytes:
    return f"{digest(path)}  ".encode() + os.fsencode(name) + b"\n"


def _place_line(path: Path) -> bytes:
    """Return the path below the folder that demands checksums, as a comment for 'sha256sum'."""
    names: list[str] = []
    for folder in (place := Path(os.path.abspath(path))).parents:
        names.insert(0, place.name)
        if (folder / _DEMAND).exists():
            inside = "/".join(names)
            return b"" if f"{PARTIAL}/" in inside else b"# " + inside.encode("unicode_escape") + b"\n"
        place = folder
    return b""


def _write(note: Path, lines: bytes) -> None:
    with note.open("wb") as file:
        file.write(lines)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def replacing(path: Path, temporary: Path) -> Iterator[None]:
    """Put the checksum of ``temporary``, if it has one, at the place of that of ``path`` while the block replaces it.

    While the file is replaced, both checksums are there, so that a process that is killed leaves no file without one.
    """
    old, new = note_of(path), note_of(temporary)
    if not new.exists():
        old.unlink(missing_ok=True)
        yield
        return
    before = _read(old)
    if before is None and path.exists():  # It has no checksum in the meantime, as it had none before.
        yield
    else:
        both = new.with_name(f"{new.name}.both")
        _write(both, new.read_bytes() + (before or b""))
        os.replace(both, old)
        yield
    os.replace(new, old)


def remove_orphans(folder: Path) -> None:
    """Remove the checksums below a folder whose files are gone, such as temporary ones that Snakemake has removed."""
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.endswith(PARTIAL)]  # another run writes there
        for note in (Path(place, name) for name in files):
            if is_note(note) and not note.with_name(note.name[1 : -len(".sha256")]).exists():
                note.unlink(missing_ok=True)


def demand_below(folder: Path) -> None:
    """Demand a checksum of each file below a folder from now on, unless it holds files of an earlier version."""
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.iterdir()):
        _demand(folder)


def _demand(folder: Path) -> None:
    text = "Files below this folder must have checksums. 'wordorder stage seal FILE' adds one to a file of yours.\n"
    _write(folder / _DEMAND, text.encode())


def _is_demanded(path: Path) -> bool:
    return path.name != _DEMAND and not is_note(path) and bool(_place_line(path))


def check_beside(path: Path) -> None:
    """Compare a file with its checksum file, if there is one.

    Raises:
        WordorderError: The file does not have its checksum, or has none although its folder demands one.
    """
    note = note_of(path)
    before: bytes | None = b""
    while (now := _read(note)) is None or not _lists(now, digest(path)):
        if now is None and not (path.is_file() and not _is_inside(path) and _is_demanded(path)):
            return
        if now == before:
            if now is None:
                raise _damaged(path, f"it has no checksum, {note}, but wordorder wrote one for each file there", "put")
            raise _damaged(path, f"it does not have the checksum in {note}, recorded when it was written", "changed")
        before = now  # Read it again, because another process may have replaced both files.
    places = [line for line in now.splitlines() if line.startswith(b"# ")]
    if places and (place := _place_line(path)) and place.rstrip() not in places:
        moved = ", ".join(line[2:].decode("ascii", "replace") for line in places)
        raise _damaged(path, f"it was written as {moved} and moved or exchanged afterwards", "moved")


def _damaged(path: Path, what: str, done: str) -> WordorderError:
    return WordorderError(
        f"{path} is damaged: {what}. {_remake(path)} If you {done} it on purpose, run 'wordorder stage seal {path}'.",
        code="damaged-file",
        path=path,
    )


def _lists(note: bytes, checksum: str) -> bool:
    return any(line.startswith(f"{checksum}  ".encode()) for line in note.splitlines())


def _read(note: Path) -> bytes | None:
    try:
        return note.read_bytes()
    except OSError:
        return None


def _remake(path: Path) -> str:
    if path.parent.name == "slices" or path.name in ("cell.json", "models.json"):
        return "Delete it and start the workflow again."
    if path.parent.name == "state":
        return f"Delete {path.parent} and run the same command again, which trains from the beginning."
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
    """Add checksums to files of earlier versions, and to results that you changed or placed on purpose.

    Nothing can detect earlier damage in such a file, so use this command only on files that you trust.

    Args:
        files: Files of results. A folder means all files in it that have no checksum; from then on, each file below
            it must have one.

    Example:
        wordorder stage seal results/models/*/*/*/*/*/model.pt
    """
    for path in files:
        if path.is_dir():
            _demand(path)
            for file in path.rglob("*"):
                if file.is_file() and not is_note(file) and file.name != _DEMAND and file.suffix != ".npy":
                    _seal(file, keep=True)
        else:
            _seal(path, keep=False)


def _seal(path: Path, *, keep: bool) -> None:
    known = _read(note_of(path)) if keep else None
    if not keep and (old := _trailer(path)) and digest(path, size := path.stat().st_size - _LENGTH) != old:
        os.truncate(path, size)
    if known is None or _lists(known, digest(path)):  # A damaged file stays damaged.
        record(path, "inside" if path.name.endswith(_ENDINGS) else "beside", path)


def _trailer(path: Path) -> str | None:
    """Return the checksum at the end of a file, if there is one."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _LENGTH))
        found = _TRAILER.fullmatch(file.read())
    return found[1].decode() if found else None
