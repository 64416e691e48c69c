"""Smaller SVG files of figures, which show the same picture.

Matplotlib's SVG repeats styles, names every group, prints six decimals and embeds images with four bytes per pixel. The
small file has each style once, as a class, keeps two decimals (1/100 of a point) and embeds images with a palette,
which is lossless for images with at most 256 colours, such as heat maps. It has no exact values of marks.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Iterator
from itertools import count, product
from pathlib import Path
from string import ascii_lowercase
from xml.etree import ElementTree

import numpy as np
from PIL import Image

from wordorder.drawing.marks import IDENTIFIER as HINTS

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_HREF = f"{{{_XLINK}}}href"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_NUMBER = re.compile(r"-?\d+\.\d+")
_GEOMETRY = ("d", "x", "y", "width", "height", "cx", "cy", "r", "points", "transform")
_WIDTH = 1400  # pixels
_PNG = "data:image/png;base64,"


def small_svg(text: str) -> str:
    """Return the same picture in fewer bytes.

    Args:
        text: An SVG file that Matplotlib has written.
    """
    root = ElementTree.fromstring(text)
    root[:] = [child for child in root if child.get("id") != HINTS]
    names, ids = _short_names(), dict[str, str]()
    styles: dict[str, str] = {}
    for identifier in _referenced(root):
        ids.setdefault(identifier, next(names))
    for element in root.iter():
        _shrink(element, ids, lambda style: styles.setdefault(style, f"s{len(styles)}"))
    _flatten(root)
    rules = "".join(f".{name}{{{style}}}" for style, name in styles.items())
    general = next(element for element in root.iter(f"{{{_SVG}}}style"))
    general.text = (general.text or "") + rules
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _short_names() -> Iterator[str]:
    """Yield a, b, …, z, aa, ab, … without end."""
    for length in count(1):
        yield from map("".join, product(ascii_lowercase, repeat=length))


def _referenced(root: ElementTree.Element) -> Iterator[str]:
    for element in root.iter():
        for key, value in element.attrib.items():
            if key == _HREF and value.startswith("#"):
                yield value[1:]
            yield from _REFERENCE.findall(value)


def _shrink(element: ElementTree.Element, ids: dict[str, str], class_of: Callable[[str], str]) -> None:
    """Shorten the attributes of an element and drop the white space around it."""
    found, element.attrib = dict(element.attrib), {}
    for key, value in found.items():
        value = _REFERENCE.sub(lambda match: f"url(#{ids[match[1]]})", value)
        if key == "style":
            key, value = "class", class_of(re.sub(r"\s*([:;])\s*", r"\1", value))
        elif key == "id":
            if value not in ids:
                continue
            value = ids[value]
        elif key == _HREF:
            value = f"#{ids[value[1:]]}" if value.startswith("#") else _with_palette(value)
        elif key in _GEOMETRY:
            value = _rounded(value)
            if key == "transform" and re.fullmatch(r"rotate\(-?0 [^)]*\)", value):
                continue
        element.attrib[key] = value
    if not (element.text or "").strip():
        element.text = None
    if not (element.tail or "").strip():
        element.tail = None


def _rounded(value: str) -> str:
    """Return numbers with two decimals, and path commands without spaces around them."""
    value = _NUMBER.sub(lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), value)
    return re.sub(r"\s*([A-Za-z])\s+", r"\1", re.sub(r"\s+", " ", value)).strip().replace("-0 ", "0 ")


def _flatten(element: ElementTree.Element) -> None:
    """Remove metadata, and put the children of groups without attributes in the place of the group."""
    kept: list[ElementTree.Element] = []
    for child in element:
        _flatten(child)
        name = child.tag.removeprefix(f"{{{_SVG}}}")
        if name == "g" and not child.attrib:
            kept += child
        elif name != "metadata" and (len(child) or name not in ("g", "defs")):
            kept.append(child)
    element[:] = kept


def _with_palette(address: str) -> str:
    """Return the data address of a PNG image with a palette if that is lossless and smaller; else the same."""
    if not address.startswith(_PNG):
        return address
    with Image.open(io.BytesIO(base64.b64decode(address.removeprefix(_PNG)))) as image:
        pixels = np.ascontiguousarray(image.convert("RGBA")).view(np.uint32)[:, :, 0]
    colours, chosen = np.unique(pixels, return_inverse=True)
    if len(colours) > 256:
        return address
    channels = colours.view(np.uint8).reshape(-1, 4)
    new = Image.fromarray(chosen.reshape(pixels.shape).astype(np.uint8), "P")
    new.putpalette(channels[:, :3].tobytes())
    file = io.BytesIO()
    new.save(file, "PNG", optimize=True, transparency=channels[:, 3].tobytes())
    return min(_PNG + base64.b64encode(file.getvalue()).decode(), address, key=len)


def raster_svg(png: Path) -> str:
    """Return an SVG file that shows a PNG file, compressed and at most 1,400 pixels wide."""
    with Image.open(png) as image:
        width = min(image.width, _WIDTH)
        height = round(image.height * width / image.width)
        file = io.BytesIO()
        image.convert("RGB").resize((width, height), Image.Resampling.LANCZOS).save(file, "WEBP", quality=60)
    content = base64.b64encode(file.getvalue()).decode()
    return (
        f'<svg xmlns="{_SVG}" xmlns:xlink="{_XLINK}" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f'<image width="{width}" height="{height}" xlink:href="data:image/webp;base64,{content}"/></svg>\n'
    )
