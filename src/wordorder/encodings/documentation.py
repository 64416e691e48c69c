"""What the file of an encoding says about it, for pages and for the terminal."""

from __future__ import annotations

import re

from wordorder.encodings.base import REGISTRY

HEADINGS = ("Source", "Start", "Promises", "Departures")


def sections(encoding: str) -> dict[str, str]:
    """Split the docstring of an encoding's file.

    Args:
        encoding: The type of the encoding.

    Returns:
        "Title", and the text after each of the headings "Source:", "Start values:", "Promises:" and "Departures:".
    """
    parts = re.split(rf"\n\n|^({'|'.join(HEADINGS)})(?: values)?: ", _docstring(encoding), flags=re.MULTILINE)
    found = {"Title": parts[0].strip().rstrip(".")}
    # A split keeps what its group matched between the texts, and None at an empty line.
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        if heading is not None:
            found[heading] = " ".join(body.split()).replace("``", "`")
    return found


def body(encoding: str) -> str:
    """Return the docstring of an encoding's file between its title and its first heading: formulas and notation."""
    _, _, text = _docstring(encoding).partition("\n\n")
    return re.split(rf"^(?:{'|'.join(HEADINGS)})(?: values)?: ", text, maxsplit=1, flags=re.MULTILINE)[0].strip("\n")


def _docstring(encoding: str) -> str:
    return (REGISTRY.module(encoding).__doc__ or "").strip()
