"""Marks of a drawing with their exact values, as invisible circles at the end of an SVG file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape, unescape

IDENTIFIER = "hints"
_RADIUS = 4  # points
_GROUP = re.compile(rf'<g id="{IDENTIFIER}".*?</g>\s*', re.DOTALL)
_CIRCLE = re.compile(r'<circle cx="([\d.]+)" cy="([\d.]+)"[^>]*><title>(.*?)</title>', re.DOTALL)


@dataclass(frozen=True)
class Hint:
    """A mark of a drawing.

    Attributes:
        x: The place in points from the left edge of the drawing.
        y: The place in points from its upper edge.
        text: The exact values.
    """

    x: float
    y: float
    text: str


def with_hints(svg: str, marks: Iterable[Hint]) -> str:
    """Add a group of invisible circles to an SVG drawing; a browser shows their titles under the pointer."""
    circles = "".join(
        f'<circle cx="{mark.x:g}" cy="{mark.y:g}" r="{_RADIUS}">'
        f"<title>{escape(mark.text, quote=False)}</title></circle>\n"
        for mark in marks
    )
    if not circles:
        return svg
    head, _, tail = svg.rpartition("</svg>")
    return f'{head}<g id="{IDENTIFIER}" fill-opacity="0">\n{circles}</g>\n</svg>{tail}'


def without_hints(svg: str) -> tuple[str, list[Hint]]:
    """Split an SVG file into the drawing and its marks, the reverse of :func:`with_hints`."""
    marks = [
        Hint(float(x), float(y), unescape(text))
        for group in _GROUP.findall(svg)
        for x, y, text in _CIRCLE.findall(group)
    ]
    return _GROUP.sub("", svg), marks
