"""From downloads to the raw text of a split: its parts, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from wordorder.config.models import Part, TextFile
from wordorder.data.archive import open_member
from wordorder.data.text import decode_lines, strict_pairs, write_pairs
from wordorder.errors import WordorderError


def import_parts(
    parts: Iterable[Part],
    downloads: str | Path,
    source: str | Path,
    target: str | Path,
    *,
    by_hand: str | None = None,
) -> int:
    """Write the pairs of ``parts``, found in the folder ``downloads``, as two text files; return how many.

    Each part must have as many source as target lines, so that a fault in one cannot shift the next. ``by_hand`` is
    said when a file is not there.
    """

    def pairs() -> Iterator[tuple[str, str]]:
        for part in parts:
            yield from strict_pairs(
                _lines(part.source, Path(downloads), by_hand),
                _lines(part.target, Path(downloads), by_hand),
                _name(part.source, Path(downloads)),
                _name(part.target, Path(downloads)),
            )

    return write_pairs(source, target, pairs())


def _name(text: TextFile, downloads: Path) -> str:
    return f"'{text.member}' of {downloads / text.file}" if text.member else str(downloads / text.file)


def _lines(text: TextFile, downloads: Path, by_hand: str | None) -> Iterator[str]:
    path = downloads / text.file
    if not path.exists():
        advice = by_hand or "Download it first."
        raise WordorderError(f"{path} does not exist. {advice}")
    with open_member(path, text.member) as file:
        yield from decode_lines(file, _name(text, downloads))
