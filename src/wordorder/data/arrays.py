"""Arrays in files.

Large flat arrays are folders of ``.npy`` files that grow while they are written, and are checked and memory-mapped when
they are read. ``meta.json`` in the folder holds a format number, counts and the SHA-256 of the data of each array.
Writing streams in constant memory. Reading maps the files, so that unused parts of large arrays occupy no memory.

Small arrays are one ``.npz`` file of named arrays.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from wordorder.errors import WordorderError
from wordorder.files import atomic, read_json, reading
from wordorder.integrity import check_inside

BLOCK = 1 << 18  # values buffered before writing, and the block size for copying and checking files

Integers = NDArray[Any]


@contextmanager
def open_npz(path: str | Path, remedy: str) -> Iterator[np.lib.npyio.NpzFile]:
    """Open the named arrays of an ``.npz`` file written by :func:`write_npz`.

    Args:
        path: The file.
        remedy: A sentence for errors that names the command which recreates the file.

    Yields:
        The arrays.

    Raises:
        ValueError: The file holds no arrays.
        WordorderError: The file is damaged, has no checksum or cannot be read.
    """
    with reading(path), open(path, "rb") as file:
        # NumPy's own message would suggest loading it unsafely.
        if not zipfile.is_zipfile(file):
            raise ValueError("it holds no arrays")
        check_inside(Path(path), remedy)
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            yield arrays


def write_npz(path: str | Path, **arrays: Any) -> None:
    """Write named arrays as one uncompressed ``.npz`` file with a checksum at its end."""
    with atomic(path, checksum="inside") as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)


class ArrayFile:
    """A one-dimensional ``.npy`` file that grows; its hash covers the data, not the header."""

    def __init__(self, file: IO[bytes], dtype: np.dtype[Any], length: int = 0) -> None:
        self.file, self.dtype, self.length, self.hash = file, dtype, length, hashlib.sha256()
        self._header()

    def _header(self) -> None:
        # NumPy pads the header so that it keeps its size while the first axis grows.
        description = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.length,)}
        np.lib.format.write_array_header_1_0(self.file, description)

    def append(self, values: Integers) -> None:
        """Append values."""
        data = np.ascontiguousarray(values, dtype=self.dtype).tobytes()
        self.file.write(data)
        self.hash.update(data)
        self.length += len(values)

    def finish(self) -> None:
        """Write the buffered values and the header."""
        self.file.seek(0)
        self._header()


@dataclass(frozen=True)
class ArrayFolder:
    """A folder to read; ``holds`` is the name of its content in error messages, without an article."""

    path: Path
    holds: str

    def damaged(self, why: str) -> WordorderError:
        """Create an error about the folder."""
        return WordorderError(
            f"{self.path} is not a complete {self.holds}: {why}. Delete it and run its stage again.",
            code="damaged-file",
            path=self.path,
        )

    def meta(self, *, format: int, counts: Collection[str], arrays: Collection[str]) -> dict[str, Any]:
        """Read ``meta.json``, which must have this format, these counts and a checksum for each array."""
        if not self.path.is_dir():
            raise WordorderError(
                f"{self.path} does not exist or is not a directory. It should hold a {self.holds}.",
                code="missing-folder",
                path=self.path,
            )
        if not (self.path / "meta.json").exists():
            raise self.damaged("meta.json is missing")
        meta = read_json(self.path / "meta.json")
        if not isinstance(meta, dict) or meta.get("format") != format:
            raise self.damaged(f'meta.json does not say "format": {format}')
        if not all(type(meta.get(key)) is int and meta[key] >= 0 for key in counts):
            raise self.damaged(f"meta.json lacks one of the counts {', '.join(counts)}")
        if not isinstance(meta.get("sha256"), dict) or set(meta["sha256"]) != set(arrays):
            raise self.damaged("meta.json lacks the checksums of the arrays")
        return meta

    def map(self, name: str, dtype: np.dtype[Any], length: int, *, sha256: str) -> Integers:
        """Map the array ``name``.npy after checking its type, length and checksum."""
        path = self.path / f"{name}.npy"
        header = io.BytesIO()
        ArrayFile(header, dtype, length)
        size = header.tell()
        with reading(path), path.open("rb") as file:
            # NumPy would accept any header, and ignore data after the end.
            if file.read(size) != header.getvalue() or path.stat().st_size != size + length * dtype.itemsize:
                raise self.damaged(f"{path.name} should hold {length} values of type {dtype}")
            array: Integers = np.zeros(0, dtype)  # an empty array cannot be mapped
            if length:
                array = np.memmap(file, dtype, mode="r", offset=size, shape=(length,)).view(np.ndarray)
        digest = hashlib.sha256()
        for start in range(0, length, BLOCK):
            digest.update(array[start : start + BLOCK].data)
        if digest.hexdigest() != sha256:
            raise self.damaged(f"the data of {path.name} does not have the checksum in meta.json")
        return array
