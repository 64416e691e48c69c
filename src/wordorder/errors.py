"""The errors that a user is meant to read."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

# Exit status of a job that was asked to stop, saved its state and can be started again (EX_TEMPFAIL).
EXIT_RETRY = 75
# Exit status of a command that was stopped by Ctrl-C, as in a shell.
EXIT_INTERRUPTED = 130


class WordorderError(Exception):
    """A mistake that the user can correct.

    The command line prints the message without a traceback and exits with status 1. Programs and tests read the
    attributes, so that the wording can improve freely.

    Args:
        message: One or more full sentences: what is wrong, where, what was expected, and what to do.
        code: A short name of the kind of mistake in kebab case, such as "unknown-key".
        path: The file or folder that is wrong.
        line: The line of the file, from 1.
        key: The configuration key or command-line option that is wrong.
        found: The value that was found.
        expected: What was expected instead.
        suggestion: The known name that the user most likely meant.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        path: str | Path | None = None,
        line: int | None = None,
        key: str | None = None,
        found: Any = None,
        expected: Any = None,
        suggestion: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.path = None if path is None else Path(path)
        self.line = line
        self.key = key
        self.found = found
        self.expected = expected
        self.suggestion = suggestion

    @property
    def parts(self) -> list[WordorderError]:
        """The single mistakes of which the error reports several; otherwise the error itself."""
        return [self]


def at_line(
    path: str | Path, line: int, sentence: str, *, code: str = "malformed-line", **attributes: Any
) -> WordorderError:
    """Create an error in a line, from 1, of a file; ``sentence`` follows the location, and may be several sentences."""
    return WordorderError(f"{path}, line {line}: {sentence}", code=code, path=path, line=line, **attributes)


def unknown_name(
    start: str,
    name: str,
    known: Iterable[str],
    plural: str,
    *,
    end: str = "",
    code: str = "unknown-name",
    **attributes: Any,
) -> WordorderError:
    """Return the error that a name is none of those that are known.

    Args:
        start: What the sentence says before the name, such as "There is no figure".
        name: The name.
        known: The known names.
        plural: What the known names are called.
        end: What the message says after the known names.
        code: A short name of the kind of mistake.
        attributes: Further attributes of the error.
    """
    names = sorted(known)
    sentence, near = f"{start} '{name}'{nearest(name, names, plural)}{end}", closest(name, names)
    return WordorderError(sentence, code=code, found=name, expected=names, suggestion=near, **attributes)


def nearest(name: str, known: Iterable[str], plural: str) -> str:
    """Return the end of a sentence about the unknown ``name``: the nearest of ``known``, and all of them."""
    names = sorted(known)
    close = closest(name, names)
    question = f"; did you mean '{close}'?" if close else "."
    return f"{question} The {plural} are {', '.join(names)}." if names else f"{question} There are no {plural}."


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the most similar known name, if one is similar."""
    return next(iter(difflib.get_close_matches(name, sorted(known), n=1)), None)


class SeveralErrors(WordorderError):
    """Several mistakes, each of which is reported once.

    Args:
        errors: The mistakes.
        code: A short name of what they have in common.
    """

    def __init__(self, errors: Iterable[WordorderError], *, code: str) -> None:
        self._parts = list({str(error): error for error in errors}.values())
        super().__init__("\n".join(map(str, self._parts)), code=code)

    @property
    def parts(self) -> list[WordorderError]:
        """The single mistakes."""
        return [part for error in self._parts for part in error.parts]


def as_json(error: WordorderError) -> str:
    """Write an error for programs: one JSON object per line and mistake, with its message and attributes."""
    names = ("code", "path", "line", "key", "found", "expected", "suggestion")
    return "\n".join(
        json.dumps(
            {"message": str(part), **{name: getattr(part, name) for name in names}}, default=str, ensure_ascii=False
        )
        for part in error.parts
    )


class Interrupted(Exception):
    """The process was asked to stop (SIGTERM, SIGUSR1, SIGINT) and has saved what it needs to resume later."""


def say_on_interrupt(sentence: str) -> None:
    """Let Ctrl-C end this process with a sentence instead of a traceback, wherever nothing else handles it.

    Args:
        sentence: What Ctrl-C stopped.
    """
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            print(sentence, file=sys.stderr)
        else:
            before(kind, error, trace)

    sys.excepthook = hook
