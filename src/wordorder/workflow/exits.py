"""Ends a run of Snakemake with only the message of an error."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

from wordorder.errors import WordorderError


def exit_on_error(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that a WordorderError ends the process with only the error message and status 1.

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

    # Snakemake inspects the signature once per job and parameter; this attribute makes that fast.
    wrapper.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return wrapper
