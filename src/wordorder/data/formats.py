"""One side of a corpus, sentence by sentence, out of the formats in which corpora come. All of it in constant memory.

A reader yields :class:`Sentence` objects. ``place`` tells where the sentence stands (the talk, the document and the
number of the segment) where the format says it: the two sides of a pair must agree on it, so that a sentence which one
side lacks cannot shift those behind it. Formats that hold both sides yield one sentence for every unit, also an empty
one, for the same reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import IO, NamedTuple

from wordorder.config.datasets import TextFile, TextFormat
from wordorder.data.text import decode_lines, one_line
from wordorder.data.tmx import read_tmx
from wordorder.errors import WordorderError


class Sentence(NamedTuple):
    text: str
    place: str | None = None


def read_sentences(file: IO[bytes], text: TextFile, name: str) -> Iterator[Sentence]:
    """The sentences of an open file; ``name`` is what error messages call it."""
    sentences = _READERS[text.format](file, text, name)
    if not text.unescape:
        return sentences
    return (Sentence(unescape(sentence.text), sentence.place) for sentence in sentences)


def _read_text(file: IO[bytes], text: TextFile, name: str) -> Iterator[Sentence]:
    return map(Sentence, decode_lines(file, name))


def _read_tmx(file: IO[bytes], text: TextFile, name: str) -> Iterator[Sentence]:
    return map(Sentence, read_tmx(file, text.language or "", name))


def _read_tsv(file: IO[bytes], text: TextFile, name: str) -> Iterator[Sentence]:
    """One column. An empty line is a pair of empty sentences, which many such files end with."""
    separator, column = text.separator or "\t", text.column or 1
    # decode_lines() turns tabs into spaces, as it does with all control characters, so the line is cut before.
    for number, line in enumerate(decode_lines(file, name, keep_tabs=separator == "\t"), start=1):
        cells = line.split(separator) if line.strip() else [""] * column
        if len(cells) < column:
            mark = "a tab" if separator == "\t" else f"'{separator}'"
            raise WordorderError(
                f"{name}, line {number}: there are {len(cells)} columns, parted by {mark}, but column {column} is "
                "wanted. Correct 'column' or 'separator' of the dataset."
            )
        yield Sentence(cells[column - 1])


_SEGMENT = re.compile(r"<seg\b([^>]*)>(.*?)</seg\s*>", re.IGNORECASE)
_OPEN_SEGMENT = re.compile(r"<seg\b", re.IGNORECASE)
_DOCUMENT = re.compile(r"<doc\b([^>]*)>", re.IGNORECASE)
_LONGEST_SEGMENT = 1 << 20


def _read_sgm(file: IO[bytes], text: TextFile, name: str) -> Iterator[Sentence]:
    """The <seg> elements of NIST's format, which is SGML or XML but often neither well-formed."""
    document, pending, opened, number, found_any = "", "", 0, 0, False
    for number, line in enumerate(decode_lines(file, name), start=1):
        pending = f"{pending} {line}" if pending else line
        opened = opened or number
        if found := _DOCUMENT.search(pending):
            document = _attribute(found[1], "docid")
        end = 0
        for found in _SEGMENT.finditer(pending):
            end, found_any = found.end(), True
            yield Sentence(unescape(found[2]).strip(), f"document '{document}', segment {_attribute(found[1], 'id')}")
        rest = pending[end:]
        pending = rest if _OPEN_SEGMENT.search(rest) else ""
        if not pending:
            opened = 0
        elif len(pending) > _LONGEST_SEGMENT:
            break
    if pending:
        raise WordorderError(f"{name}, line {opened}: a <seg> begins there that has no </seg>. Is the file whole?")
    if not found_any:
        what = f"has no <seg> element in its {number} lines; is its 'format' sgm?" if number else "is empty."
        raise WordorderError(f"{name} {what} It should hold <seg> elements.")


def _attribute(attributes: str, name: str) -> str:
    found = re.search(rf"""\b{name}\s*=\s*["']?([^"'\s>]*)""", attributes, re.IGNORECASE)
    return found[1] if found else "?"


_TAG = re.compile(r"\s*<(\w+)\b[^>]*>(.*?)(?:</\1>)?\s*$")


def _read_ted(file: IO[bytes], text: TextFile, name: str) -> Iterator[Sentence]:
    """IWSLT's train.tags files: plain lines, and before each talk a head of lines that begin with a tag."""
    talk = 0
    for line in decode_lines(file, name):
        if not line.lstrip().startswith("<"):
            yield Sentence(line.strip(), f"talk {talk}")
            continue
        found = _TAG.match(line)
        tag = found[1].lower() if found else ""
        talk += tag == "url"  # each talk has one; other tags, such as <reviewer>, may stand on one side only
        if found and tag in text.keep_tags:
            yield Sentence(found[2].strip(), f"talk {talk}")


_READERS: dict[TextFormat, Callable[[IO[bytes], TextFile, str], Iterator[Sentence]]] = {
    "text": _read_text,
    "tsv": _read_tsv,
    "tmx": _read_tmx,
    "sgm": _read_sgm,
    "ted": _read_ted,
}

# XML's own entities, and those of the Moses tokeniser.
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));")


def unescape(line: str) -> str:
    """XML's five named and all numbered entities become characters, once: ``&amp;lt;`` is ``&lt;``."""

    def character(found: re.Match[str]) -> str:
        if found[1]:
            return _ENTITIES[found[1]]
        code = int(found[2]) if found[2] else int(found[3], 16)
        # A control character or half a character is no text; a space keeps the words apart.
        whole = 0x20 <= code < 0xD800 or 0xE000 <= code <= 0x10FFFF
        return one_line(chr(code)) if whole else " "

    return _ENTITY.sub(character, line)
