"""Sentences for errors that nobody foresaw; their tracebacks go to a log file."""

from __future__ import annotations

import os
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from wordorder import __version__
from wordorder.errors import WordorderError
from wordorder.files import DISK_FULL

_FREE = "Free some space and run the same command again."


def as_sentence(error: Exception, *, log: bool) -> WordorderError:
    """Return the error to report for one that is not a WordorderError.

    Args:
        error: What the command raised.
        log: Whether to write the traceback to a file that the sentence names.
    """
    if isinstance(error, OSError) and error.errno in DISK_FULL:
        where = f" while writing {error.filename}" if error.filename else ""
        return _caused(WordorderError(f"The disk (or a quota) is full{where}. {_FREE}", code="disk-full"), error)
    if isinstance(error, OSError) and isinstance(error.filename, str | os.PathLike):
        return _caused(
            WordorderError(
                f"{error.filename} cannot be used: {error.strerror}.", code="unusable-file", path=str(error.filename)
            ),
            error,
        )
    if isinstance(error, FileNotFoundError) and "temporary directory" in str(error.strerror):
        return _caused(
            WordorderError(
                f"No temporary directory can be written: the disk is full, or TMPDIR names a wrong folder. {_FREE}",
                code="disk-full",
            ),
            error,
        )
    if isinstance(error, MemoryError):
        return _caused(
            WordorderError(
                "The memory of the machine, or of the job, is used up. Ask for more memory, or split the input.",
                code="no-memory",
            ),
            error,
        )
    text = " ".join(str(error).split())[:300]
    where = f" The traceback is in {_log(error)}." if log else ""
    return _caused(
        WordorderError(
            f"An error occurred that wordorder does not foresee ({type(error).__name__}{f': {text}' if text else ''}). "
            f"It may be a mistake in an input or a bug.{where} The option --debug shows it.",
            code="unforeseen",
        ),
        error,
    )


def _caused(sentence: WordorderError, error: Exception) -> WordorderError:
    sentence.__cause__ = error
    return sentence


def _log(error: Exception) -> Path | str:
    """Write the traceback of an error to a new file."""
    lines = [f"wordorder {__version__}\n", *traceback.format_exception(error)]
    name = f"wordorder-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    with suppress(OSError):
        for folder in _folders():
            with suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text("".join(lines), encoding="utf-8", errors="backslashreplace")
                return folder / name
    return "no file, because none could be written"


def _folders() -> Iterator[Path]:
    yield Path(os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state"), "wordorder", "errors")
    yield Path(tempfile.gettempdir())
