"""Plain text, one sentence per line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Literal

from wordorder.config.datasets import TextFile
from wordorder.data.formats.base import Sentence, register
from wordorder.data.text import decode_lines


class PlainFile(TextFile):
    """Keys of a file with ``format: text``."""

    format: Literal["text"] = "text"


@register(PlainFile)
def read(file: IO[bytes], text: PlainFile, name: str) -> Iterator[Sentence]:
    """Yield every line."""
    return map(Sentence, decode_lines(file, name))
