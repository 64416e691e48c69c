"""IWSLT's train.tags files of TED talks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, Literal

from pydantic import Field

from wordorder.config.datasets import TextFile
from wordorder.data.formats.base import Sentence, register
from wordorder.data.text import decode_lines


class TEDFile(TextFile):
    """Keys of a file with ``format: ted``."""

    format: Literal["ted"] = "ted"
    keep_tags: list[str] = Field(default=[], description="Tags whose text is also a sentence, such as 'title'.")


_TAG = re.compile(r"\s*<(\w+)\b[^>]*>((?:(?!</\1>).)*)(</\1>)?\s*$")
_OTHER_TAGS = ("</", "<?", "<!")
# Other names without a closing tag, such as "<applause> Thank you.", begin a sentence.
_UNCLOSED = {"doc", "url", "keywords", "talkid", "title", "description", "speaker", "reviewer", "translator"}


@register(TEDFile)
def read(file: IO[bytes], text: TEDFile, name: str) -> Iterator[Sentence]:
    """Yield the plain lines, which may begin with '<'. Each talk begins with lines that are one element of XML."""
    talk = 0
    for line in decode_lines(file, name):
        found = _TAG.match(line)
        if found and not found[3] and found[1].lower() not in _UNCLOSED:
            found = None
        if found is None and not line.lstrip().startswith(_OTHER_TAGS):
            yield Sentence(line.strip(), f"talk {talk}")
            continue
        tag = found[1].lower() if found else ""
        talk += tag == "url"  # Each talk has one; other tags, such as <reviewer>, may occur on one side only.
        if found and tag in text.keep_tags:
            yield Sentence(found[2].strip(), f"talk {talk}")
