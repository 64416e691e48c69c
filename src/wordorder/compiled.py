"""Loops compiled to machine code by numba, for the two stages that Python would make slow: alignment and reordering.

Everything compiled goes through :func:`compiled`, so that one place decides how: the result is kept on disk beside the
modules (or in the user's cache, where that cannot be written), other threads run meanwhile, and arithmetic is IEEE,
so that the same input gives the same bits on every machine.

numba notices when the file of a function changes, but not when that of a function changes which it calls: the old code
of the latter would live on in it. So what is kept lies in a folder named after the content of all these files.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])

PACKAGES = ("alignment", "reordering")  # those with compiled functions
_PATIENCE = 1.5  # seconds before a first call is explained; a cached one takes less


def cache_folder(package: Path) -> Path:
    """Where the code of these very sources is kept: NUMBA_CACHE_DIR, beside them, or the user's cache."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for file in sorted(file for name in PACKAGES for file in (package / name).glob("*.py")):
        digest.update(file.name.encode() + file.read_bytes())
    name = f"compiled-{digest.hexdigest()[:16]}"
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen, name)
    beside = package / "__pycache__"
    if os.access(beside if beside.exists() else package, os.W_OK):
        return beside / name
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "wordorder" / name


numba.config.CACHE_DIR = str(cache_folder(Path(__file__).parent))  # type: ignore[attr-defined]


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
