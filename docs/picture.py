"""Draws docs/imports.svg: which folder of the package imports which. 'python docs/picture.py' writes it again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "imports.svg"
_PACKAGE = ROOT / "src" / "wordorder"
_STEP, _MARGIN = 20, 120


def order() -> list[str]:
    """Return the folders and modules in the order in which data flows, which docs/architecture.md states."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    (line,) = re.findall(r"^    (errors.* → .*)$", text, re.MULTILINE)
    return [name.strip(" ()") for group in line.split("→") for name in group.split(",")]


def imports() -> set[tuple[str, str]]:
    """Return every pair of a folder and another that it imports, also inside functions."""
    return {
        (part, imported)
        for path in _PACKAGE.rglob("*.py")
        for part in [path.relative_to(_PACKAGE).with_suffix("").parts[0]]
        for imported in _imported(ast.parse(path.read_text("utf-8")))
        if imported != part
    }


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("wordorder."):
            yield str(node.module).split(".")[1]


def svg() -> str:
    """Return the picture: a row per folder, with a dot below each folder that it imports."""
    names, pairs = order(), imports()
    size = _MARGIN + _STEP * len(names) + 8
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" width="{size}" height="{size}" '
        'font-family="sans-serif" font-size="12">',
        "<title>Which folder of wordorder (row) imports which (column)</title>",
        f'<rect width="{size}" height="{size}" fill="#ffffff"/>',
    ]
    for index, name in enumerate(names):
        middle = _MARGIN + _STEP * index + _STEP // 2
        if index % 2 == 0:
            place = f'y="{middle - _STEP // 2}" width="{size}" height="{_STEP}"'
            lines.append(f'<rect x="0" {place} fill="#f2f5f8"/>')
        lines.append(f'<text x="{_MARGIN - 8}" y="{middle + 4}" text-anchor="end">{name}</text>')
        lines.append(f'<text transform="translate({middle + 4} {_MARGIN - 8}) rotate(-90)">{name}</text>')
        for column, other in enumerate(names):
            across = _MARGIN + _STEP * column + _STEP // 2
            if name == other:
                corner = f'x="{across - 5}" y="{middle - 5}"'
                lines.append(f'<rect {corner} width="10" height="10" fill="#c9d3dd"/>')
            elif (name, other) in pairs:
                lines.append(f'<circle cx="{across}" cy="{middle}" r="5" fill="#0072b2"/>')
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(svg(), encoding="utf-8")
