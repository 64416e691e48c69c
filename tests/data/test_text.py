"""Test that only \\n ends a line, whatever the text contains."""

from __future__ import annotations

import gzip
import re
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from full_disk import no_file_larger_than
from raises import raises
from wordorder.data.text import LONGEST_LINE, decode_lines, read_lines, read_pairs, write_lines, write_pairs
from wordorder.errors import WordorderError

SEPARATORS = ["\u2028", "\u2029", "\x85", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x00", "\t", "\x7f"]


def lines_of(tmp_path: Path, content: bytes, name: str = "text") -> list[str]:
    (tmp_path / name).write_bytes(content)
    return list(read_lines(tmp_path / name))


@pytest.mark.parametrize("separator", SEPARATORS, ids=lambda text: f"U+{ord(text):04X}")
def test_a_separator_inside_a_sentence_is_a_space(tmp_path: Path, separator: str) -> None:
    content = f"one{separator}two\nthree\n".encode()
    assert lines_of(tmp_path, content) == ["one two", "three"]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"a\n\n", ["a", ""]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\r\nb\r", ["a ", "b"]),
        (b"\r\n\r\n", ["", ""]),
        (b" a \n", [" a "]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\xef\xbb\xbf\n", ["a", "b\ufeff"]),
        (b"\xef\xbb\xbf", [""]),
        ("Bär\u00a0Ω\u200b\n".encode(), ["Bär\u00a0Ω\u200b"]),
    ],
)
def test_lines(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    assert lines_of(tmp_path, content) == lines
    assert lines_of(tmp_path, gzip.compress(content), "text.gz") == lines


@pytest.mark.parametrize(
    ("content", "line", "byte", "offset"),
    [
        (b"good\nna\xefve\n", 2, 3, 7),
        (b"\xef\xbb\xbfab\xe4\n", 1, 6, 5),
        (b"a\r\nb\x85\xe2\x80\n", 2, 2, 4),
        (b"a\n\xed\xa0\x80\n", 2, 1, 2),  # a surrogate
        (b"a\nb\nc\xe2\x82", 3, 2, 5),  # cut at the end of the file
    ],
)
def test_invalid_utf8_names_file_line_and_byte(
    tmp_path: Path, content: bytes, line: int, byte: int, offset: int
) -> None:
    with raises("not-utf-8"):
        lines_of(tmp_path, content)


def test_lines_before_an_invalid_byte_are_read(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"good\n\xff\n")
    lines = read_lines(tmp_path / "text")
    assert next(lines) == "good"
    with raises("not-utf-8", line=2):
        next(lines)


def test_a_line_of_a_hundred_megabytes_is_said_in_constant_memory(tmp_path: Path) -> None:
    path = tmp_path / "text"
    with path.open("wb") as file:
        file.write(b"a sentence\n")
        for _ in range(100):
            file.write(b"x" * 1_000_000)
    tracemalloc.start()
    with raises("too-long-line", line=2):
        list(read_lines(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40_000_000
    assert lines_of(tmp_path, b"x" * (LONGEST_LINE - 1) + b"\n") == ["x" * (LONGEST_LINE - 1)]


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with raises("unreadable-file"):
        list(read_lines(tmp_path / "nothing.txt"))
    with raises("unreadable-file"):
        list(read_lines(tmp_path))


def test_a_cut_gz_is_said(tmp_path: Path) -> None:
    content = gzip.compress(b"".join(b"line %d\n" % number for number in range(10_000)))
    with raises("damaged-file"):
        lines_of(tmp_path, content[: len(content) // 2], "text.gz")


@pytest.mark.parametrize(("source", "target"), [(3, 5), (5, 3), (0, 2), (1, 0)])
def test_sides_of_different_length_are_refused_with_both_counts(tmp_path: Path, source: int, target: int) -> None:
    (tmp_path / "a").write_text("x\n" * source)
    (tmp_path / "b").write_text("y\n" * target)
    with raises("unequal-lines"):
        list(read_pairs(tmp_path / "a", tmp_path / "b"))


def test_a_separator_does_not_shift_one_side(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("one\u2028two\nthree\n".encode())
    (tmp_path / "b").write_bytes(b"eins zwei\ndrei\n")
    assert list(read_pairs(tmp_path / "a", tmp_path / "b")) == [("one two", "eins zwei"), ("three", "drei")]


@given(st.lists(st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")))))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = tmp_path_factory.mktemp("text") / "lines"
    assert write_lines(path, lines) == len(lines)
    assert list(read_lines(path)) == [line.lstrip("\ufeff") for line in lines]


@pytest.mark.parametrize("content", [b"a\rb\r", b"a\rb", b"\xef\xbb\xbf\ra"])
def test_text_without_a_line_feed_is_refused(tmp_path: Path, content: bytes) -> None:
    with raises("wrong-line-ends", line=1):
        lines_of(tmp_path, content)
    assert lines_of(tmp_path, content + b"\n") == [content.decode("utf-8-sig").replace("\r", " ").removesuffix(" ")]


@given(st.binary())
def test_any_bytes_are_lines_or_an_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("text") / "bytes"
    path.write_bytes(content)
    try:
        lines = list(read_lines(path))
    except WordorderError as error:
        if error.code == "wrong-line-ends":
            assert b"\r" in content and b"\n" not in content
            return
        with pytest.raises(UnicodeDecodeError):
            content.decode()
        return
    assert len(lines) == content.count(b"\n") + (not content.endswith(b"\n") and content != b"")
    assert all(len((line + "x").splitlines()) == 1 for line in lines)


@pytest.mark.parametrize("line", ["a\nb", "a\u2028b", "a\rb", "\x00"])
def test_a_line_that_would_not_come_back_is_not_written(tmp_path: Path, line: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(line))):
        write_lines(tmp_path / "text", ["good", line])
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_no_half_of_a_pair(tmp_path: Path) -> None:
    pairs = [("short", "long " * 100)] * 100
    with raises("disk-full"), no_file_larger_than(10_000):
        write_pairs(tmp_path / "a", tmp_path / "b", pairs)
    assert list(tmp_path.iterdir()) == []


def test_reading_takes_constant_memory() -> None:
    class Endless:
        """Stands for a large file."""

        lines = (b"the sentence number %d of a large file\n" % number for number in range(200_000))

        def readline(self, _: int) -> bytes:
            return next(self.lines, b"")

    tracemalloc.start()
    total = sum(len(line) for line in decode_lines(Endless(), "large"))  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total > 7_000_000
    assert peak < 100_000


@pytest.mark.parametrize("name", ["text.gz", "text.bz2"])
def test_text_is_not_written_under_the_name_of_a_compressed_file(tmp_path: Path, name: str) -> None:
    with raises("compressed-output", tmp_path / name):
        write_lines(tmp_path / name, ["a"])
    assert not list(tmp_path.iterdir())
