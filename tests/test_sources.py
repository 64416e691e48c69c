"""Digests of code change with what the code does, and with nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from wordorder.sources import code_digest

CODE = '''"""What the file does."""

class Wave:
    """A wave."""

    period: float = 16  # positions

    def at(self, position):
        """Return a value."""
        return f"{position:.1f} of {self.period}"
'''


def digest(folder: Path, text: str) -> str:
    file = folder / "code.py"
    file.write_text(text, encoding="utf-8")
    return code_digest(file)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# positions", "# of a wave, in positions"),
        ('"""Return a value."""', '"""Return a text."""'),
        ('        """Return a value."""\n', ""),
        ('"""What the file does."""\n', '"""What it does.\n\nMore of it.\n"""\n'),
        ("    def at(self, position):", "\n\n    def at(\n        self,\n        position,\n    ):"),
        ("class Wave:", "# A class\nclass Wave:"),
    ],
)
def test_comments_docstrings_and_layout_do_not_count(old: str, new: str, tmp_path: Path) -> None:
    assert old in CODE
    assert digest(tmp_path, CODE.replace(old, new)) == digest(tmp_path, CODE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("16", "8"),
        ("16", "16.0"),
        ("period: float", "period: int"),
        ("self.period}", "self.period!r}"),
        (":.1f", ":.2f"),
        ("def at(self, position)", "def at(self, position=0)"),
        ("    def at", "    @staticmethod\n    def at"),
        ("class Wave:", "import math\n\nclass Wave:"),
        ("\n        return f", "\n        'not a docstring'\n        return f"),
    ],
)
def test_what_the_code_does_counts(old: str, new: str, tmp_path: Path) -> None:
    assert old in CODE
    assert digest(tmp_path, CODE.replace(old, new)) != digest(tmp_path, CODE)


def test_the_digest_of_a_known_file_never_changes(tmp_path: Path) -> None:
    """Whoever changes it makes everybody train the models of their own encodings again."""
    assert digest(tmp_path, CODE) == "00b8756d5f"


def test_of_a_compiled_file_all_bytes_count(tmp_path: Path) -> None:
    file, digests = tmp_path / "code.so", set()
    for content in (b"\x7fELF\0\1", b"\x7fELF\0\2"):
        file.write_bytes(content)
        digests.add(code_digest(file))
    assert len(digests) == 2
