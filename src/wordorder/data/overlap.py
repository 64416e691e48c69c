"""Comparison of sentences without case, spaces and punctuation, to keep training and test sets separate."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path

from wordorder.data.text import read_pairs


def letters(line: str) -> str:
    """Return the letters and digits of a line in one form and case: 'Isn’t it ?' and 'isn't it' give the same text.

    The marks of scripts without case, such as the vowels of Hindi and Thai, count as letters. The points of Hebrew and
    Arabic do not: most texts leave them out.
    """
    kept = []
    may_have_marks = False
    for character in unicodedata.normalize("NFKC", line).casefold():
        category = unicodedata.category(character)
        if character.isalnum():
            kept.append(character)
            may_have_marks = category == "Lo"
        elif category not in ("Mn", "Mc"):
            may_have_marks = False
        elif may_have_marks and not _is_optional(character):
            kept.append(character)
    return "".join(kept)


def _is_optional(mark: str) -> bool:
    """Return whether texts leave this mark out: a point of Hebrew, Arabic or Syriac, or a selector of a glyph."""
    return 10 <= unicodedata.combining(mark) <= 36 or "VARIATION SELECTOR" in unicodedata.name(mark, "")


def bucket(line: str, buckets: int) -> int:
    """Return 0 to ``buckets`` - 1 from a hash of the letters of a line, which is the same on every machine."""
    return int.from_bytes(hashlib.sha256(letters(line).encode()).digest()[:8]) % buckets


class HeldOut:
    """The sentences of validation and test sets, each side separately.

    Args:
        pairs: The raw pairs.
        replace: For the source and the target, characters with the replacements that preprocessing makes.
    """

    def __init__(
        self, pairs: Iterable[tuple[str, str]], replace: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
    ) -> None:
        self._replacements = tuple(str.maketrans(dict(characters)) for characters in replace)
        self._sources: set[str] = set()
        self._targets: set[str] = set()
        for pair in pairs:
            source, target = self._letters(*pair)
            self._sources.add(source)
            self._targets.add(target)
        # A line without letters ('...') cannot be memorised.
        self._sources.discard("")
        self._targets.discard("")

    @classmethod
    def read(
        cls,
        files: Iterable[tuple[str | Path, str | Path]],
        replace: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {}),
    ) -> HeldOut:
        """Read held-out sentences from pairs of files."""
        return cls((pair for source, target in files for pair in read_pairs(source, target)), replace)

    def has(self, source: str, target: str) -> bool:
        """Return whether a side of this pair equals that side of a held-out pair, letter by letter."""
        source, target = self._letters(source, target)
        return source in self._sources or target in self._targets

    def _letters(self, *pair: str) -> tuple[str, str]:
        """Return the letters of both sides, after the replacements that :func:`wordorder.data.normalise` makes."""
        source, target = (
            letters(unicodedata.normalize("NFC", line).translate(table))
            for line, table in zip(pair, self._replacements, strict=True)
        )
        return source, target
