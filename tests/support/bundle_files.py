"""Change the compressed files of a bundle."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from pathlib import Path

from wordorder.results.bundle import RECORDS


def change_records(bundle: Path, change: Callable[[list[str]], list[str]]) -> None:
    """Replace the lines of the training records of a bundle."""
    path = bundle / RECORDS
    lines = lzma.decompress(path.read_bytes()).decode().splitlines(keepends=True)
    path.write_bytes(lzma.compress("".join(change(lines)).encode()))
