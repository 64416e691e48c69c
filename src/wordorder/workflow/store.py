"""Slices kept as files, so that a job does not depend on the studies that requested it.

The path of a model, a translation or a measure contains a digest of its slice. The main process finds the slice in the
studies and writes it to a file when the workflow starts. The processes of jobs, on a cluster perhaps hours later, read
this file, because a user may have edited or removed the study in the meantime.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wordorder.config.canonical import canonical_json, digest
from wordorder.errors import WordorderError
from wordorder.files import read_bytes, read_json, write_text


class SliceStore:
    """The slices that this run needs.

    Args:
        is_main: Whether this is the main process of Snakemake rather than the process of a job.
    """

    def __init__(self, *, is_main: bool) -> None:
        self.is_main = is_main
        self._asked: dict[Path, str] = {}

    def get(self, path: str | Path, expected: str, find: Callable[[], Any]) -> Any:
        """Return a slice as plain data.

        Args:
            path: The file of the slice.
            expected: The digest of the slice, which is part of the paths that depend on it.
            find: Returns the slice from the studies, and raises WordorderError if no study needs it.

        Raises:
            WordorderError: No study needs the slice and its file does not exist, or the file was changed manually.
        """
        path = Path(path)
        if path in self._asked:
            return json.loads(self._asked[path])
        if not self.is_main and path.is_file():
            return self._checked(path, expected)
        try:
            content = find()
        except WordorderError:
            if not path.is_file():
                raise
            return self._checked(path, expected)
        self._asked[path] = canonical_json(content)
        return content

    def asked(self, path: str) -> Any:
        """Return a slice that this run has already requested; None otherwise."""
        text = self._asked.get(Path(path))
        return None if text is None else json.loads(text)

    def _checked(self, path: Path, expected: str) -> Any:
        content = read_json(path)
        if digest(content) != expected:
            raise WordorderError(
                f"{path} does not match its digest, {expected}: it was changed manually or is damaged. Delete it and "
                "start the workflow again.",
                code="changed-slice",
                path=path,
                expected=expected,
            )
        return content

    def write(self) -> None:
        """Write the requested slices whose files are missing or damaged; call this method when a workflow starts."""
        for path, text in self._asked.items():
            if not _holds(path, text):
                write_text(path, text)


def _holds(path: Path, text: str) -> bool:
    """Return whether a file has this text and its checksum."""
    try:
        return read_bytes(path) == text.encode()
    except WordorderError:
        return False
