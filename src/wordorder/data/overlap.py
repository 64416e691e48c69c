"""Sentences that are the same but for case, spaces and punctuation; by them training and test sets are kept apart."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from wordorder.data.text import read_pairs


def letters(line: str) -> str:
    """The letters and digits of a line, in one form and case: 'Isn’t it ?' and 'isn't it' have the same."""
    folded = unicodedata.normalize("NFKC", line).casefold()
    return "".join(character for character in folded if character.isalnum())


def bucket(line: str, buckets: int) -> int:
    """0 to ``buckets`` - 1, by a hash of the letters of a line: the same on every machine, today and tomorrow."""
    return int.from_bytes(hashlib.sha256(letters(line).encode()).digest()[:8]) % buckets


class HeldOut:
    """The sentences of validation and test sets, each side by itself."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._sources: set[str] = set()
        self._targets: set[str] = set()
        for source, target in pairs:
            self._sources.add(letters(source))
            self._targets.add(letters(target))
        # A line without letters ('...') is no sentence that could be learnt by heart.
        self._sources.discard("")
        self._targets.discard("")

    @classmethod
    def read(cls, files: Iterable[tuple[str | Path, str | Path]]) -> HeldOut:
        """From pairs of files."""
        return cls(pair for source, target in files for pair in read_pairs(source, target))

    def has(self, source: str, target: str) -> bool:
        """Whether a side of this pair is, letter by letter, that side of a held-out pair."""
        return letters(source) in self._sources or letters(target) in self._targets
