"""Loops compiled to machine code by numba, for the two stages that Python would make slow: alignment and reordering.

All compiled functions use :func:`compiled`, which sets the same options everywhere. The result is stored on disk with
the modules (or in the user's cache, if that is not writable), other threads can run meanwhile, and arithmetic follows
IEEE. So the same input gives the same bits on every machine whose ``exp`` and ``log`` give the same bits; those of the
C library may differ between processors in the last bit.

numba notices a changed file of a function, but not a changed file of a function that it calls; the old code would stay
in use. Therefore the folder of stored code is named after the content of all these files.
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

from wordorder.files import user_cache

F = TypeVar("F", bound=Callable[..., object])

PACKAGES = ("alignment", "reordering")  # packages with compiled functions
_PATIENCE = 1.5  # seconds before a first call is explained; a cached one takes less


def cache_folder(package: Path) -> Path:
    """Return the folder for the compiled code of these sources: NUMBA_CACHE_DIR, next to them, or the user's cache."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for file in sorted(file for name in PACKAGES for file in (package / name).glob("*.py")):
        digest.update(file.name.encode() + file.read_bytes())
    name = f"compiled-{digest.hexdigest()[:16]}"
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen, name)
    beside = package / "__pycache__"
    if os.access(beside if beside.exists() else package, os.W_OK):
        return beside / name
    return user_cache() / name


numba.config.CACHE_DIR = str(cache_folder(Path(__file__).parent))  # type: ignore[attr-defined]


def compiled(function: F) -> F:
    """Compile ``function`` at its first call with arguments of new types. It must not use Python objects."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


@contextmanager
def first_call(what: str) -> Iterator[None]:
    """Report, if the block takes some time, that ``what`` is being compiled. The block should do little else."""
    timer = threading.Timer(_PATIENCE, _explain, [what])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _explain(what: str) -> None:
    print(f"wordorder: compiling {what} for this machine. This happens once.", file=sys.stderr, flush=True)
