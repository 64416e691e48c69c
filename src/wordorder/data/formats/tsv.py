"""One column of a table with a separator, such as a tab."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Annotated, Literal

from pydantic import Field

from wordorder.config.base import Positive
from wordorder.config.datasets import TextFile
from wordorder.data.formats.base import Sentence, register
from wordorder.data.text import decode_lines, one_line
from wordorder.errors import at_line


class TSVFile(TextFile):
    """Keys of a file with ``format: tsv``."""

    format: Literal["tsv"] = "tsv"
    column: Positive = Field(description="Number of the column, from 1.")
    separator: Annotated[str, Field(min_length=1, description="Text between two columns.")] = "\t"


@register(TSVFile)
def read(file: IO[bytes], text: TSVFile, name: str) -> Iterator[Sentence]:
    """Yield one column. An empty line, with which many such files end, is a pair of empty sentences."""
    # decode_lines() replaces tabs and all control characters by spaces, so the line is split before.
    for number, line in enumerate(decode_lines(file, name, keep_tabs="\t" in text.separator), start=1):
        cells = line.split(text.separator) if line.strip() else [""] * text.column
        if len(cells) < text.column:
            mark = "a tab" if text.separator == "\t" else f"'{text.separator}'"
            sentence = (
                f"there are {len(cells)} columns, separated by {mark}, but column {text.column} was requested. Correct "
                "'column' or 'separator' of the dataset."
            )
            known = {"key": "column", "found": len(cells), "expected": text.column}
            raise at_line(name, number, sentence, code="missing-column", **known)
        yield Sentence(one_line(cells[text.column - 1]))
