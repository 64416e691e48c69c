"""The interface of dataset formats: reading one side of a corpus sentence by sentence in constant memory.

A file of this package declares the keys of a format, as a subclass of :class:`TextFile` that fixes ``format``, and a
reader, which the decorator :func:`register` registers under that name.

A reader yields :class:`Sentence` objects. Their ``place`` identifies the sentence (the talk, the document and the
number of the segment), if the format provides it. The two sides of a pair must have the same place, so that a sentence
missing on one side cannot shift later ones. For the same reason, a format that holds both sides yields one sentence for
every unit, even an empty one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple, TypeVar

from wordorder.config.datasets import TextFile
from wordorder.config.extensions import name_of
from wordorder.data.text import one_line
from wordorder.registry import Registry


class Sentence(NamedTuple):
    """A sentence of one side, with its place if the format provides it."""

    text: str
    place: str | None = None


Reader = Callable[[IO[bytes], Any, str], Iterator[Sentence]]
Read = TypeVar("Read", bound=Reader)


class Format(NamedTuple):
    """The keys of a format, and its reader."""

    configuration: type[TextFile]
    read: Reader


REGISTRY: Registry[Format] = Registry("dataset_formats", "dataset format")


def register(configuration: type[TextFile]) -> Callable[[Read], Read]:
    """Register the decorated function as the reader of a format, whose name is the default of the key ``format``.

    The function is called with an open file, the :class:`TextFile` that describes it, and its name in errors.
    """

    def add(read: Read) -> Read:
        REGISTRY.add(name_of(configuration, "format"), Format(configuration, read), defined_by=configuration)
        return read

    return add


def read_sentences(file: IO[bytes], text: TextFile, name: str) -> Iterator[Sentence]:
    """Yield the sentences of an open file.

    Args:
        file: The file, decompressed.
        text: The format and its keys.
        name: The name of the file in errors.
    """
    sentences = REGISTRY.get(text.format).read(file, text, name)
    if not text.unescape:
        return sentences
    return (Sentence(unescape(sentence.text), sentence.place) for sentence in sentences)


# the entities of XML, and those of the Moses tokeniser
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));")


def unescape(line: str) -> str:
    """Convert XML's five named and all numbered entities to characters, once: ``&amp;lt;`` becomes ``&lt;``."""

    def character(found: re.Match[str]) -> str:
        if found[1]:
            return _ENTITIES[found[1]]
        code = int(found[2]) if found[2] else int(found[3], 16)
        # Control characters and surrogates are not text; a space separates the words.
        whole = 0x20 <= code < 0xD800 or 0xE000 <= code <= 0x10FFFF
        return one_line(chr(code)) if whole else " "

    return _ENTITY.sub(character, line)
