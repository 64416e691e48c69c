"""Ends a run of Snakemake with only the message of an error."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

from wordorder.errors import WordorderError
from wordorder.registry import own_line


def exit_on_error(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that an error of a user ends the process with only the error message and status 1.

    Such errors are each WordorderError and each exception that passes through the file of an extension. Other
    exceptions are raised with their traceback, because they are mistakes in wordorder.

    Args:
        function: The function.

    Returns:
        The wrapped function, with the signature of ``function``.
    """

    @wraps(function)
    def wrapper(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except WordorderError as error:
            sys.exit(f"wordorder: error: {error}")
        except Exception as error:
            if (place := own_line(error)) is None:
                raise
            kind, text = type(error).__name__, " ".join(str(error).split())
            sys.exit(
                f"wordorder: error: Line {place[1]} of {place[0]} raised an unexpected exception "
                f"({kind}{f': {text}' if text else ''}). Correct the file and run the same command again."
            )

    # Snakemake inspects the signature once per job and parameter; this attribute makes that fast.
    wrapper.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return wrapper
