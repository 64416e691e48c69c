"""The code blocks of the pages in docs/, so that tests execute what a reader copies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
_FENCED = re.compile(r"^## (?P<heading>[^\n]+)$|^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A code block.

    Attributes:
        section: The heading above it.
        language: The language of its fence.
        text: The whole block.
        file: The path that its first line gives as a comment, if it is a file.
    """

    section: str
    language: str
    text: str
    file: str | None


def blocks(page: str) -> list[Block]:
    """Return the code blocks of a page, such as 'extending.md', in order."""
    section, found = "", []
    for match in _FENCED.finditer((DOCS / page).read_text(encoding="utf-8")):
        if match["heading"]:
            section = match["heading"]
        else:
            named = re.match(r"# (\S+/\S+\.\w+|pyproject\.toml)\n", match["text"])
            found.append(Block(section, match["language"], match["text"], named and named[1]))
    return found


def block(page: str, language: str, section: str | None = None) -> str:
    """Return the first block of a language, of a page or of one of its sections."""
    return next(each.text for each in blocks(page) if each.language == language and section in (None, each.section))


def plugin(kind: str) -> str:
    """Return the example of a kind, such as 'encodings', from extending.md."""
    (found,) = (each.text for each in blocks("extending.md") if (each.file or "").startswith(f"my_plugins/{kind}/"))
    return found


def write_plugins(folder: Path) -> dict[str, Path]:
    """Write the examples of extending.md into a plug-in folder and return its files by kind."""
    files = {}
    for each in blocks("extending.md"):
        if each.file and each.file.startswith("my_plugins/"):
            path = folder.joinpath(*Path(each.file).parts[1:])
            path.parent.mkdir(parents=True)  # one file per kind
            path.write_text(each.text, encoding="utf-8")
            files[path.parent.name] = path
    return files
