"""Loops compiled to machine code by numba, for the two stages that Python would make slow: alignment and reordering.

Everything compiled goes through :func:`compiled`, so that one place decides how: the result is kept on disk beside the
module (or in the user's cache, where that cannot be written), other threads run meanwhile, and arithmetic is IEEE,
so that the same input gives the same bits on every machine.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])

_PATIENCE = 1.5  # seconds before a first call is explained; a cached one takes less


def compiled(function: F) -> F:
    """Compile ``function`` at its first call with arguments of new types. It may use no Python object."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


@contextmanager
def first_call(what: str) -> Iterator[None]:
    """Tell, if the block takes a while, that ``what`` is being compiled. The block should do next to no work itself."""
    timer = threading.Timer(_PATIENCE, _explain, [what])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _explain(what: str) -> None:
    print(f"wordorder: compiling {what} for this machine. This happens once.", file=sys.stderr, flush=True)
