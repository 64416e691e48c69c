"""Files inside the page: what a browser would fetch stands there as a data: address."""

from __future__ import annotations

import base64
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from wordorder.errors import WordorderError
from wordorder.files import read_bytes

_SVG = re.compile(rb'<svg\b[^>]*?\bwidth="([\d.]+)pt"[^>]*?\bheight="([\d.]+)pt"')
_PNG = b"\x89PNG\r\n\x1a\n"
_PIXELS_A_POINT = 96 / 72


@dataclass(frozen=True)
class File:
    """A file to save: its name, and its content as an address."""

    name: str
    address: str


@dataclass(frozen=True)
class Image:
    """``width`` and ``height`` are pixels of the page, so that the place is kept while the image is decoded."""

    address: str
    width: int
    height: int


def csv_file(name: str, text: str) -> File:
    # Numbers and commas stay as they are, which base64 would lengthen.
    return File(name, f"data:text/csv;charset=utf-8,{quote(text, safe=_UNQUOTED)}")


# What may stand in an address as it is, apart from letters and digits.
_UNQUOTED = "-_.~!*'(),;:@&=+$/?"


def read_image(prefix: Path) -> Image:
    """``prefix`` + .svg, or + .png where that is smaller.

    Raises WordorderError where one of the two is missing or is no such image.
    """
    drawing, pixels = (_read(prefix.with_name(f"{prefix.name}.{suffix}")) for suffix in ("svg", "png"))
    size = _SVG.search(drawing)
    if size is None:
        raise _broken(f"{prefix}.svg", "an SVG drawing with width and height in points")
    if not pixels.startswith(_PNG) or len(pixels) < 24:
        raise _broken(f"{prefix}.png", "a PNG image")
    # The pixels are drawn for paper; on the page the image is as large as the drawing.
    width, height = (round(float(points) * _PIXELS_A_POINT) for points in size.groups())
    if len(drawing) > len(pixels):
        wide, high = struct.unpack(">II", pixels[16:24])
        return Image(_base64("image/png", pixels), width, round(width * high / wide))
    # Text of a drawing is text. Where its font is not installed, Verdana has the same widths.
    drawing = drawing.replace(b"font-family: 'DejaVu Sans'", b"font-family: 'DejaVu Sans', Verdana, sans-serif")
    return Image(_base64("image/svg+xml", drawing), width, height)


def _base64(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def read_csv_file(path: Path) -> File:
    """A CSV file as it is. Raises WordorderError where it is missing or empty."""
    try:
        text = _read(path).decode()
    except UnicodeDecodeError as error:
        raise _broken(path, "a CSV file in UTF-8") from error
    if not text.strip():
        raise _broken(path, "a CSV file, but it is empty")
    return csv_file(path.name, text)


def _read(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except WordorderError as error:
        if path.exists():
            raise
        raise WordorderError(
            f"{path} does not exist. The page shows it: run the study, or draw it with 'wordorder stage figure', "
            "'wordorder stage analyse' or 'wordorder stage draw-reordering'.",
            code="missing-file",
            path=path,
        ) from error


def _broken(path: str | Path, wanted: str) -> WordorderError:
    return WordorderError(
        f"{path} should be {wanted}. Delete it and run the study again.", code="damaged-file", path=path
    )
