"""NIST's format, used by WMT's .sgm and IWSLT's .xml files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, Literal

from wordorder.config.datasets import TextFile
from wordorder.data.formats.base import Sentence, register, unescape
from wordorder.data.text import decode_lines
from wordorder.errors import WordorderError, at_line


class SGMFile(TextFile):
    """Keys of a file with ``format: sgm``."""

    format: Literal["sgm"] = "sgm"


_ELEMENT = re.compile(
    r"<doc\b(?P<document>[^>]*)>|<seg\b(?P<segment>[^>]*?)(?:/>|(?<!/)>(?P<text>.*?)</seg\s*>)", re.IGNORECASE
)
_SEGMENT = re.compile(r"<seg\b", re.IGNORECASE)
_BEGUN = re.compile(r"<(seg)\b|<(doc)\b[^>]*$", re.IGNORECASE)
_LONGEST_SEGMENT = 1 << 20


@register(SGMFile)
def read(file: IO[bytes], text: SGMFile, name: str) -> Iterator[Sentence]:
    """Yield the <seg> elements. Files are SGML or XML, but often not well-formed."""
    document, pending, opened, number, found_any = "", "", 0, 0, False
    for number, line in enumerate(decode_lines(file, name), start=1):
        pending = f"{pending} {line}" if pending else line
        opened = opened or number
        end = 0
        for found in _ELEMENT.finditer(pending):
            if found["document"] is not None and _SEGMENT.search(pending, end, found.start()):
                break  # that segment has not ended
            end = found.end()
            if found["document"] is not None:
                document = _attribute(found["document"], "docid")
                continue
            found_any = True
            place = f"document '{document}', segment {_attribute(found['segment'], 'id')}"
            yield Sentence(unescape(found["text"] or "").strip(), place)
        rest = pending[end:]
        pending = rest if _BEGUN.search(rest) else ""
        if not pending:
            opened = 0
        elif len(pending) > _LONGEST_SEGMENT:
            break
    if begun := _BEGUN.search(pending):
        what = "<seg> begins there that has no </seg>" if begun[1] else "<doc> begins there that has no '>'"
        raise at_line(name, opened, f"a {what}. Is the file complete?", code="incomplete-file")
    if not found_any:
        what = f"has no <seg> element in its {number} lines; is its 'format' sgm?" if number else "is empty."
        raise WordorderError(
            f"{name} {what} It should hold <seg> elements.", code="wrong-format" if number else "empty-file", path=name
        )


def _attribute(attributes: str, name: str) -> str:
    found = re.search(rf"""\b{name}\s*=\s*["']?([^"'\s>]*)""", attributes, re.IGNORECASE)
    return found[1] if found else "?"
