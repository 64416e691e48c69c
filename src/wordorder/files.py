"""File operations of all stages: atomic writing, guarded reading, checksums, JSON."""

from __future__ import annotations

import bz2
import errno
import fcntl
import glob
import gzip
import json
import os
import secrets
import shutil
import stat
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from wordorder import integrity
from wordorder.errors import WordorderError
from wordorder.integrity import PARTIAL, Checksum

# Error codes for a full disk or an exceeded limit.
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FAILING = (errno.EIO, errno.ESTALE, errno.ETIMEDOUT)  # a broken disk, or a server that does not answer
# The lock that shows whether the owner of a folder in which files are written is alive.
_LOCK = ".lock"
_ASIDE = ".old"  # the end of the name of a folder that is being replaced
_YOUNG, _OLD = 60.0, 86_400.0  # seconds
# the devices /dev/zero, /dev/full, /dev/random and /dev/urandom
_ENDLESS = {os.makedev(1, minor) for minor in (5, 7, 8, 9)}


def user_cache() -> Path:
    """Return the folder of the user's cache of this program, which may not exist."""
    # Unlike Path.expanduser, this does not fail for a user without a home, as in some containers.
    return Path(os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")) / "wordorder"


@contextmanager
def atomic(path: str | Path, *, checksum: Checksum = "beside") -> Iterator[Path]:
    """Yield a temporary path; move what is there to ``path`` when the block ends well, else remove it.

    The block may make a file or a directory there. Readers see the old content or the whole new content, never a
    part. A full disk or a place that cannot be written becomes a :class:`WordorderError` that names the file. What
    killed processes have left of the same output is removed.

    Args:
        path: The output.
        checksum: Where its checksum is recorded, see :mod:`wordorder.integrity`; with "none", nowhere.
    """
    path = Path(path)
    try:
        _refuse_special(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with _workplace(path) as folder:
            yield folder / path.name
            move_into_place(folder / path.name, path, checksum)
    except OSError as error:
        if error.errno in DISK_FULL:
            raise WordorderError(
                f"The disk (or a quota) is full while writing {path}. Nothing half-written was left there; "
                "free some space and run the same command again.",
                code="disk-full",
                path=path,
            ) from error
        if _concerns(error, path):
            raise WordorderError(
                f"{path} cannot be written: {error.strerror}. Check its folder.", code="unwritable-file", path=path
            ) from error
        raise


@contextmanager
def _workplace(path: Path) -> Iterator[Path]:
    """Make a folder next to ``path`` for files that are being written. Its lock shows that its owner is alive."""
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*{PARTIAL}"):
        if _claim(leftover):
            _discard(leftover)
    while True:
        # Random, because two machines that share a disk may have processes of one number.
        folder = path.with_name(f".{path.name}.{secrets.token_hex(6)}{PARTIAL}")
        folder.mkdir()
        try:
            with (folder / _LOCK).open("w") as lock:
                with suppress(OSError):  # The file system does not support locks.
                    fcntl.flock(lock, fcntl.LOCK_EX)
                if not (folder / _LOCK).exists():
                    continue  # Another process claimed the folder before it was locked.
                yield folder
                return
        finally:
            _remove(folder)


def _claim(leftover: Path) -> bool:
    """Return whether ``leftover`` may be removed: its owner has ended or, if this is unknown, a day has passed.

    The lock is removed while it is held, so that an owner that has not locked it yet takes another folder.
    """
    try:
        age = time.time() - leftover.stat().st_mtime
        if not (leftover / _LOCK).exists():
            return age > _YOUNG or leftover.is_file()
        with (leftover / _LOCK).open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (leftover / _LOCK).unlink()
        return True
    except BlockingIOError:
        return False
    except FileNotFoundError:
        return False  # Its owner has just removed it.
    except OSError:
        return age > _OLD


def check_writable(path: str | Path) -> None:
    """Raise what :func:`atomic` would raise of a file that cannot be written, before any work is done for it."""
    if Path(path).is_dir():
        raise WordorderError(
            f"{path} is a directory, but a file is to be written there. Name a file.", code="not-a-file", path=path
        )
    with suppress(_Tried), atomic(path) as temporary:
        temporary.touch()
        raise _Tried


class _Tried(Exception):
    """Raised to discard a file that could be created."""


def _refuse_special(path: Path) -> None:
    # A rename would put an ordinary file in the place of /dev/null.
    if path.exists() and not path.is_file() and not path.is_dir():
        raise WordorderError(
            f"{path} is neither a file nor a directory. Outputs are replaced as a whole: name a file.",
            code="not-a-file",
            path=path,
        )


def _concerns(error: OSError, path: Path) -> bool:
    """Return whether ``error`` is about the location of ``path`` and not about another file that the block opened."""
    named = Path(error.filename) if isinstance(error.filename, str | os.PathLike) else None
    inside = named is not None and any(place.name.endswith(PARTIAL) for place in (named, *named.parents))
    return inside or any(_names(error, place) for place in (path, *path.parents))


def _names(error: OSError, path: Path) -> bool:
    return isinstance(error.filename, str | os.PathLike) and Path(error.filename) == path


def _sync(path: Path) -> None:
    """Force the bytes to disk before the rename, so that a power failure cannot leave an empty file."""
    for file in [path, *path.rglob("*")] if path.is_dir() else [path]:
        descriptor = os.open(file, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def move_into_place(temporary: Path, path: Path, checksum: Checksum = "beside") -> None:
    """Rename a finished file or directory to ``path``, after its bytes and its checksum have reached the disk."""
    integrity.record(temporary, checksum, path)
    _sync(temporary)
    with _locked(path.parent), integrity.replacing(path, temporary):
        if path.is_dir() and temporary.is_dir():
            _replace_directory(temporary, path)
        else:
            os.replace(temporary, path)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, so that no file gets the bytes of one writer and the checksum of another."""
    with ExitStack() as stack:
        with suppress(OSError):  # The file system does not support locks of folders.
            descriptor = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def refuse_to_replace(folder: Path, what: str, marker: str) -> None:
    """Refuse to write a folder over one that holds other files, which would be removed.

    Args:
        folder: The folder to write.
        what: What the folder may hold already, such as "a bundle".
        marker: A file that shows that it does.

    Raises:
        WordorderError: The folder holds files, but not this one.
    """
    if folder.is_dir() and any(folder.iterdir()) and not (folder / marker).exists():
        raise WordorderError(
            f"{folder} is not {what} (it has no {marker}), and its files would be removed. Name a new folder.",
            code="not-empty",
            path=folder,
        )


def _replace_directory(temporary: Path, path: Path) -> None:
    # A directory cannot replace a non-empty one, so the old one is moved first.
    aside = temporary.with_name(f"{temporary.name}{_ASIDE}")
    os.replace(path, aside)
    try:
        os.replace(temporary, path)
    except OSError:
        os.replace(aside, path)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def remove(path: Path) -> None:
    """Remove a file and its checksum, if they exist."""
    path.unlink(missing_ok=True)
    integrity.note_of(path).unlink(missing_ok=True)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _discard(leftover: Path) -> None:
    """Remove what a killed process left of :func:`atomic`; a folder that it was about to replace returns first."""
    for aside in leftover.glob(f"*{_ASIDE}"):
        place = leftover.with_name(aside.name.removesuffix(_ASIDE))
        if aside.is_dir() and leftover.name.startswith(f".{place.name}.") and not place.exists():
            os.replace(aside, place)
    _remove(leftover)


def remove_leftovers(directory: Path) -> None:
    """Remove what killed processes left of :func:`atomic` in ``directory``, where no living process may be writing."""
    for leftover in directory.glob(f".*{PARTIAL}"):
        _discard(leftover)


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Turn what can go wrong while ``path`` is read, also a damaged gzip stream, into a :class:`WordorderError`.

    If a checksum file exists, the file must match it.
    """
    try:
        _refuse_endless(path)
        integrity.check_beside(Path(path))
        yield
    except (OSError, EOFError, zlib.error) as error:
        # gzip and bz2 raise an OSError without a number; zipfile seeks to places that do not exist.
        if not isinstance(error, OSError) or (error.filename is None and error.errno in (None, errno.EINVAL)):
            raise WordorderError(
                f"{path} is damaged: {error}. Delete it and fetch or make it again.", code="damaged-file", path=path
            ) from error
        if _names(error, Path(path)) or error.errno in _FAILING:
            raise WordorderError(
                f"{path} cannot be read: {error.strerror}.", code="unreadable-file", path=path
            ) from error
        raise


def _refuse_endless(path: str | Path) -> None:
    kind = os.stat(path)
    if stat.S_ISBLK(kind.st_mode) or (stat.S_ISCHR(kind.st_mode) and kind.st_rdev in _ENDLESS):
        raise WordorderError(
            f"{path} is a device that never ends. Name an ordinary file.", code="not-a-file", path=path
        )


def decompressed(file: IO[bytes], name: str | Path) -> IO[bytes]:
    """Return ``file``, decompressed on the fly if its name ends in ``.gz`` or ``.bz2``."""
    if str(name).endswith(".gz"):
        return cast(IO[bytes], gzip.open(file))
    if str(name).endswith(".bz2"):
        return cast(IO[bytes], bz2.open(file))
    return file


@contextmanager
def open_bytes(path: str | Path, *, name: str | Path | None = None) -> Iterator[IO[bytes]]:
    """Open ``path`` for reading, decompressed on the fly if its name, or ``name`` if given, ends in .gz or .bz2."""
    with reading(path), open(path, "rb") as file, decompressed(file, name or path) as text:
        yield text


def write_text(path: str | Path, text: str, *, checksum: Checksum = "beside") -> None:
    """Write a text file atomically."""
    with atomic(path, checksum=checksum) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def read_bytes(path: str | Path) -> bytes:
    """Read a file after checking its checksum."""
    with reading(path):
        return Path(path).read_bytes()


def read_text(path: str | Path) -> str:
    """Read a small UTF-8 text file without changing its line ends."""
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise WordorderError(
            f"{path} is not UTF-8 text: {error}. Delete it and run its stage again.", code="not-utf-8", path=path
        ) from error


def write_json(path: str | Path, value: Any, *, checksum: Checksum = "beside") -> None:
    """Write a JSON file atomically."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n", checksum=checksum)


def read_json(path: str | Path) -> Any:
    """Read a JSON file after checking its checksum."""
    if not Path(path).exists():
        raise WordorderError(
            f"{path} does not exist. It should hold JSON written by an earlier stage.", code="missing-file", path=path
        )
    try:
        return json.loads(read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise WordorderError(
            f"{path} is not valid JSON: {error}. Delete it and run its stage again.", code="invalid-json", path=path
        ) from error


def read_object(path: str | Path, *keys: str) -> dict[str, Any]:
    """Read the JSON object in ``path``, which must have ``keys``; 'a.b' is the key 'b' of the object 'a'."""
    content: dict[str, Any] = read_json(path)
    demand(path, content, *keys)
    return content


def demand(path: str | Path, content: Any, *keys: str) -> None:
    """Raise WordorderError unless ``content``, which was read from ``path``, is an object with ``keys``."""
    if (key := first_missing(content, keys)) is not None:
        raise WordorderError(
            f"{path} has no '{key}', so it was not written by this version of wordorder. "
            "Delete it and run its stage again.",
            code="missing-key",
            path=path,
            key=key,
        )


def first_missing(content: Any, keys: Iterable[str]) -> str | None:
    """Return the first of ``keys``, as in :func:`read_object`, that ``content`` lacks, or None."""
    for key in keys:
        place = content
        for part in key.split("."):
            if not isinstance(place, dict) or part not in place:
                return key
            place = place[part]
    return None


def sha256(path: str | Path) -> str:
    """Compute the hexadecimal SHA-256 of the bytes of a file."""
    with reading(path):
        return integrity.digest(Path(path))
