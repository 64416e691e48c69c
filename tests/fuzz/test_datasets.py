"""Damaged archives and texts are read or refused with a sentence."""

from __future__ import annotations

import bz2
import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzzing import cases, damaged
from wordorder.config.datasets import Part
from wordorder.data.archive import open_member
from wordorder.data.importing import import_parts
from wordorder.errors import WordorderError

TEXT = "".join(f"Eine Zeile mit der Nummer {i}: äöü\n" for i in range(50)).encode()
TMX = """<?xml version="1.0" encoding="UTF-8"?><tmx version="1.4"><header/><body>{}</body></tmx>""".format(
    "".join(
        f'<tu><tuv xml:lang="en"><seg>line {i}</seg></tuv><tuv xml:lang="ro"><seg>rând {i}</seg></tuv></tu>'
        for i in range(20)
    )
).encode()


def _zip(method: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("a/text", TEXT)
        archive.writestr("a/other", TEXT[:100])
    return file.getvalue()


def _tar(mode: str) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:
        for name in ("a/other", "a/text"):
            entry = tarfile.TarInfo(name)
            entry.size = len(TEXT)
            archive.addfile(entry, io.BytesIO(TEXT))
    return file.getvalue()


ARCHIVES: dict[str, tuple[bytes, str | None]] = {
    "stored.zip": (_zip(zipfile.ZIP_STORED), "a/text"),
    "deflated.zip": (_zip(zipfile.ZIP_DEFLATED), "a/text"),
    "bzip2.zip": (_zip(zipfile.ZIP_BZIP2), "a/text"),
    "lzma.zip": (_zip(zipfile.ZIP_LZMA), "a/text"),
    "plain.tar": (_tar("w"), "a/text"),
    "a.tar.gz": (_tar("w:gz"), "a/text"),
    "a.tar.bz2": (_tar("w:bz2"), "a/text"),
    "a.tar.xz": (_tar("w:xz"), "a/text"),
    "text.gz": (gzip.compress(TEXT), None),
    "text.bz2": (bz2.compress(TEXT), None),
}


def check(read: Callable[[], object], path: Path, name: str, what: str) -> None:
    try:
        read()
    except WordorderError as error:
        assert path.name in str(error), f"case {name}: {what}: {error}"
    except BaseException as error:
        error.add_note(f"case {name}: {what}")
        raise


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_damaged_archive(name: str, tmp_path: Path) -> None:
    content, member = ARCHIVES[name]
    path = tmp_path / name

    def read() -> bytes:
        with open_member(path, member) as file:
            return file.read()

    path.write_bytes(content)
    assert read() == TEXT
    for case, generator in cases(150):
        what, changed = damaged(content, generator)
        path.write_bytes(changed)
        check(read, path, case, what)


@pytest.mark.parametrize("kind", ["text", "tmx", "tsv", "sgm", "ted"])
def test_a_damaged_text(kind: str, tmp_path: Path) -> None:
    content = {
        "text": TEXT,
        "tmx": TMX,
        "tsv": b"".join(b"line %d\trand %d\n" % (i, i) for i in range(30)),
        "sgm": b"<srcset>" + b"".join(b'<seg id="%d"> line %d </seg>\n' % (i, i) for i in range(1, 30)) + b"</srcset>",
        "ted": b"<url>x</url>\n" + b"".join(b"line %d\n" % i for i in range(30)),
    }[kind]
    more = {"tmx": ({"language": "en"}, {"language": "ro"}), "tsv": ({"column": 1}, {"column": 2})}
    path = tmp_path / "file"
    sides = [{"file": "file", "format": kind, **own} for own in more.get(kind, ({}, {}))]
    part = Part.model_validate({"source": sides[0], "target": sides[1]})
    path.write_bytes(content)
    assert import_parts([part], tmp_path, tmp_path / "s", tmp_path / "t") > 10
    for case, generator in cases(60):
        what, changed = damaged(content, generator)
        path.write_bytes(changed)
        check(lambda: import_parts([part], tmp_path, tmp_path / "s", tmp_path / "t"), path, case, what)


@pytest.mark.parametrize("encoding", ["EUC-JP", "UTF-7", "idna", "hex", "none", "utf-16"])
def test_an_encoding_that_the_parser_lacks(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(TMX.replace(b"UTF-8", encoding.encode()))
    sides = [{"file": "file", "format": "tmx", "language": language} for language in ("en", "ro")]
    part = Part.model_validate({"source": sides[0], "target": sides[1]})
    with pytest.raises(WordorderError) as caught:
        import_parts([part], tmp_path, tmp_path / "s", tmp_path / "t")
    assert str(caught.value.path).endswith("file") or "file" in str(caught.value)
