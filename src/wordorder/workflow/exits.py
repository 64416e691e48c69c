"""Mistakes end a run of Snakemake with their message alone."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

from wordorder.errors import WordorderError


def exit_on_error(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function``, which ends the process with the message alone where it raises WordorderError."""

    @wraps(function)
    def wrapper(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except WordorderError as error:
            sys.exit(f"wordorder: error: {error}")

    # Snakemake asks for the signature once per job and parameter; this answers at once.
    wrapper.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return wrapper
