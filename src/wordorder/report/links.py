"""Embed files in the page as ``data:`` URLs, so that the browser fetches nothing."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from wordorder.drawing.marks import Hint, without_hints
from wordorder.errors import WordorderError
from wordorder.files import read_bytes

_SVG = re.compile(rb'<svg\b[^>]*?\bwidth="([\d.]+)pt"[^>]*?\bheight="([\d.]+)pt"')
_SVG_PIXELS = re.compile(rb'<svg\b[^>]*?\bwidth="([\d.]+)"[^>]*?\bheight="([\d.]+)"')
_LARGE = 400_000  # bytes
_PNG = b"\x89PNG\r\n\x1a\n"
_PIXELS_PER_POINT = 96 / 72


@dataclass(frozen=True)
class File:
    """A file that readers can save from the page.

    Attributes:
        name: The file name that the browser proposes.
        address: The content as a ``data:`` URL.
    """

    name: str
    address: str


@dataclass(frozen=True)
class Image:
    """An embedded image.

    Attributes:
        address: The content as a ``data:`` URL.
        width: The width in CSS pixels; with ``height`` it reserves the space while the image is decoded.
        height: The height in CSS pixels.
        points: The width and height of the drawing in points, the unit of ``hints``.
        hints: The exact values of its marks.
    """

    address: str
    width: int
    height: int
    points: tuple[float, float] = (0.0, 0.0)
    hints: Sequence[Hint] = ()


def csv_file(name: str, text: str) -> File:
    """Embed the text of a CSV file under a file name."""
    # Percent-encoding leaves digits and commas unchanged; base64 would lengthen them by a third.
    return File(name, f"data:text/csv;charset=utf-8,{quote(text, safe=_UNQUOTED)}")


# Characters besides letters and digits that a URL may contain unquoted.
_UNQUOTED = "-_.~!*'(),;:@&=+$/?"


def read_image(prefix: Path) -> Image:
    """Embed a drawing as SVG, or as PNG if the drawing is large and that file is smaller.

    Args:
        prefix: The path of both files without ``.svg`` and ``.png``.

    Returns:
        The image, as large as the SVG drawing.

    Raises:
        WordorderError: One of the files is missing, or is not an image of its format.
    """
    drawing, pixels = (_read(prefix.with_name(f"{prefix.name}.{suffix}")) for suffix in ("svg", "png"))
    size = _SVG.search(drawing)
    if size is None:
        raise _broken(f"{prefix}.svg", "an SVG drawing with width and height in points")
    if not pixels.startswith(_PNG) or len(pixels) < 24:
        raise _broken(f"{prefix}.png", "a PNG image")
    # The PNG has the resolution of print: its own size would be too large for the page.
    points = float(size[1]), float(size[2])
    width, height = (round(length * _PIXELS_PER_POINT) for length in points)
    text, hints = without_hints(drawing.decode(errors="replace"))
    drawing = text.encode()
    if len(drawing) > max(_LARGE, len(pixels)):
        wide, high = struct.unpack(">II", pixels[16:24])
        return Image(_base64("image/png", pixels), width, round(width * high / wide), points, hints)
    # The drawing keeps its text as text. Verdana has the widths of DejaVu Sans, which few machines have installed.
    drawing = drawing.replace(b"font-family: 'DejaVu Sans'", b"font-family: 'DejaVu Sans', Verdana, sans-serif")
    return Image(_base64("image/svg+xml", drawing), width, height, points, hints)


def read_drawing(prefix: Path) -> Image:
    """Embed an SVG drawing of a bundle, whose size is in points, or in pixels if it holds an image.

    Args:
        prefix: The path of the file without ``.svg``.

    Raises:
        WordorderError: The file is missing, or is not such a drawing.
    """
    drawing = _read(path := prefix.with_name(f"{prefix.name}.svg"))
    points, pixels = _SVG.search(drawing), _SVG_PIXELS.search(drawing)
    if size := points or pixels:
        wide, high = (float(each) * (_PIXELS_PER_POINT if points else 1) for each in size.groups())
        text, hints = without_hints(drawing.decode(errors="replace"))
        of_hints = wide / _PIXELS_PER_POINT, high / _PIXELS_PER_POINT
        return Image(_base64("image/svg+xml", text.encode()), round(wide), round(high), of_hints, hints)
    raise _broken(path, "an SVG drawing with width and height")


def _base64(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def read_csv_file(path: Path) -> File:
    """Embed a CSV file.

    Args:
        path: The file, UTF-8.

    Returns:
        The file with its text unchanged.

    Raises:
        WordorderError: The file is missing, empty or not UTF-8.
    """
    try:
        text = _read(path).decode()
    except UnicodeDecodeError as error:
        raise _broken(path, "a CSV file in UTF-8") from error
    if not text.strip():
        raise _broken(path, "a CSV file: it is empty")
    return csv_file(path.name, text)


def _read(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except WordorderError as error:
        if path.exists():
            raise
        raise WordorderError(
            f"{path} does not exist, but the page needs it. Run the study, or make the file with 'wordorder stage "
            "figure', 'wordorder stage analyse' or 'wordorder stage draw-reordering'.",
            code="missing-file",
            path=path,
        ) from error


def _broken(path: str | Path, wanted: str) -> WordorderError:
    return WordorderError(f"{path} is not {wanted}. Delete it and run the study again.", code="damaged-file", path=path)
