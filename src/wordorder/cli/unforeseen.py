"""Convert unexpected exceptions into readable errors, with the traceback in a log file."""

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
from wordorder.registry import own_line

_FREE = "Free disk space and run the same command again."


def as_sentence(error: Exception, *, log: bool) -> WordorderError:
    """Convert an exception into the error to report.

    Args:
        error: The exception, which is not a WordorderError.
        log: Whether to write the traceback of an unexpected exception to a file, which the message names.

    Returns:
        An error whose cause is the exception.
    """
    if isinstance(error, OSError) and error.errno in DISK_FULL:
        where = f" while writing {error.filename}" if error.filename else ""
        return _caused(WordorderError(f"The disk (or a quota) is full{where}. {_FREE}", code="disk-full"), error)
    if isinstance(error, OSError) and isinstance(error.filename, str | os.PathLike):
        return _caused(
            WordorderError(
                f"{error.filename} cannot be used: {error.strerror}. Check the path and its permissions.",
                code="unusable-file",
                path=str(error.filename),
            ),
            error,
        )
    if isinstance(error, FileNotFoundError) and "temporary directory" in str(error.strerror):
        return _caused(
            WordorderError(
                f"No temporary directory is writable: the disk is full, or TMPDIR does not name a folder. {_FREE}",
                code="disk-full",
            ),
            error,
        )
    if isinstance(error, MemoryError) or _is_out_of_memory(error):
        return _caused(
            WordorderError(
                "The machine or the job has no free memory. Request more memory or split the input.",
                code="no-memory",
            ),
            error,
        )
    text = " ".join(str(error).split())[:300]
    where = f" The traceback is in {_log(error)}." if log else ""
    file, line = own_line(error) or (None, None)
    cause = "may be a mistake in an input or a bug" if file is None else f"is probably in line {line} of {file}"
    return _caused(
        WordorderError(
            f"An unexpected error occurred ({type(error).__name__}{f': {text}' if text else ''}). The cause "
            f"{cause}.{where} Use the option --debug to print the traceback.",
            code="unforeseen",
            path=file,
            line=line,
        ),
        error,
    )


def _is_out_of_memory(error: Exception) -> bool:
    """Return whether PyTorch could not allocate memory; on a CPU, this is a plain RuntimeError."""
    return isinstance(error, RuntimeError) and (
        type(error).__name__ == "OutOfMemoryError" or "DefaultCPUAllocator" in str(error)
    )


def _caused(sentence: WordorderError, error: Exception) -> WordorderError:
    sentence.__cause__ = error
    return sentence


def _log(error: Exception) -> Path | str:
    """Write the traceback of an exception to a new file and return its path."""
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
