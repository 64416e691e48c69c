r"""Lines of text. One rule applies everywhere: only ``\n`` ends a line.

Python's ``str.splitlines`` and text-mode files also split lines at U+2028, U+0085, ``\r`` and others. Real corpora
contain those inside sentences, and one stage that splits there shifts every later sentence of that side. So only this
module reads and writes text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import IO, TypeVar

from wordorder.errors import WordorderError, at_line
from wordorder.files import atomic, open_bytes

_BYTE_ORDER_MARK = "\ufeff"
# Bytes of a line, beyond any sentence. Without a limit, a file whose lines end otherwise would fill the memory.
LONGEST_LINE = 10_000_000
# Unicode categories Cc (control), Zl and Zp (line and paragraph separators).
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_CONTROL_BUT_TAB = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


def one_line(text: str) -> str:
    """Replace each control character and line separator in ``text`` by a space."""
    return _CONTROL.sub(" ", text)


def read_lines(path: str | Path) -> Iterator[str]:
    r"""Yield the lines of a UTF-8 file (``.gz`` is decompressed), without their ends, in constant memory.

    One ``\r`` before ``\n`` is dropped, and so are byte order marks at the start of a line: concatenated files have
    them there, too. Control characters and the other Unicode line separators become spaces. A byte that is not UTF-8
    and a line of more than LONGEST_LINE bytes are a :class:`WordorderError`, and so is text whose only line ends are
    ``\r``.
    """
    with open_bytes(path) as file:
        yield from decode_lines(file, path)


def decode_lines(
    file: IO[bytes],
    name: object,
    *,
    keep_tabs: bool = False,
    keep_marks: bool = False,
    encoding: str = "utf-8",
    control_as: str = " ",
) -> Iterator[str]:
    """Apply :func:`read_lines` to an open binary file; ``name`` is its name in error messages.

    Args:
        file: The file.
        name: See above.
        keep_tabs: Whether tabs stay as they are.
        keep_marks: Whether byte order marks at the start of a line stay, because they belong to a token.
        encoding: The encoding of the file.
        control_as: What replaces a control character.

    Yields:
        The lines.
    """
    control = _CONTROL_BUT_TAB if keep_tabs else _CONTROL
    offset = 0
    for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
        if len(line) > LONGEST_LINE:
            sentence = (
                f"the line has more than {LONGEST_LINE:,} bytes. A line holds one sentence and ends with a line feed; "
                "does the file have other line ends, or no text?"
            )
            raise at_line(str(name), number, sentence, code="too-long-line")
        try:
            text = line.decode(encoding).removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as error:
            sentence = (
                f"byte {error.start + 1} of the line (0x{line[error.start]:02x}, at offset {offset + error.start} of "
                "the text) is not valid UTF-8. Text must be UTF-8; convert the file (for example with iconv), and if "
                "it is compressed, let its name end in .gz."
            )
            raise at_line(str(name), number, sentence, code="not-utf-8") from error
        if number == 1 and not line.endswith(b"\n") and "\r" in text.rstrip("\r"):
            sentence = (
                "the text has carriage returns but no line feed, so that all of it is one line. A line ends with a "
                "line feed; convert the file (for example with tr '\\r' '\\n')."
            )
            raise at_line(str(name), number, sentence, code="wrong-line-ends")
        offset += len(line)
        yield control.sub(control_as, text if keep_marks else text.lstrip(_BYTE_ORDER_MARK))


T = TypeVar("T")


def strict_pairs(
    source: Iterable[T], target: Iterable[T], source_name: object, target_name: object, *, remedy: str = ""
) -> Iterator[tuple[T, T]]:
    """Yield pairs of lines; sides of different lengths raise a :class:`WordorderError` with both lengths.

    Args:
        source: The lines of one side.
        target: The lines of the other side.
        source_name: The name of one side in errors.
        target_name: The name of the other side in errors.
        remedy: A sentence for the end of an error, which says what to do.
    """
    sources, targets = iter(source), iter(target)
    for read, (source_line, target_line) in enumerate(zip_longest(sources, targets)):
        if source_line is None or target_line is None:
            longer = read + 1 + sum(1 for _ in (targets if source_line is None else sources))
            counts = (read, longer) if source_line is None else (longer, read)
            raise WordorderError(
                f"{source_name} has {counts[0]} lines but {target_name} has {counts[1]}. The two sides of a parallel "
                "text must have one line per sentence each; which lines belong together cannot be guessed."
                + (remedy and f" {remedy}"),
                code="unequal-lines",
                path=str(source_name),
                found=counts[0],
                expected=counts[1],
            )
        yield source_line, target_line


def read_pairs(source: str | Path, target: str | Path) -> Iterator[tuple[str, str]]:
    """Yield the sentence pairs of two files; see :func:`read_lines` and :func:`strict_pairs`."""
    return strict_pairs(read_lines(source), read_lines(target), source, target)


@contextmanager
def line_writer(path: str | Path) -> Iterator[Callable[[str], None]]:
    """Yield a function that appends one line to ``path``, which appears as a whole if the block succeeds.

    Raises:
        WordorderError: ``path`` has the name of a compressed file, which :func:`read_lines` would decompress.
    """
    if Path(path).suffix in (".gz", ".bz2"):
        raise WordorderError(
            f"{path} has the name of a compressed file, but text is written without compression and could then not be "
            f"read. Remove '{Path(path).suffix}' from the name.",
            code="compressed-output",
            path=path,
        )
    with atomic(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:

        def write(line: str) -> None:
            if _CONTROL.search(line):
                raise ValueError(f"a control character in a line for {path}: {line!r}")
            file.write(line + "\n")

        yield write


def write_lines(path: str | Path, lines: Iterable[str]) -> int:
    """Write ``lines``, without ends, as a UTF-8 file, and return their number."""
    count = 0
    with line_writer(path) as write:
        for line in lines:
            write(line)
            count += 1
    return count


def write_pairs(source: str | Path, target: str | Path, pairs: Iterable[tuple[str, str]]) -> int:
    """Write the two sides of ``pairs`` line by line, and return their number."""
    count = 0
    with ExitStack() as stack:
        write_source, write_target = (stack.enter_context(line_writer(path)) for path in (source, target))
        for source_line, target_line in pairs:
            write_source(source_line)
            write_target(target_line)
            count += 1
    return count
