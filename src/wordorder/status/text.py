"""What the texts of ``plan`` and ``status`` have in common."""

from __future__ import annotations

from collections.abc import Sequence

from wordorder.config.models import Study


def sections(studies: Sequence[Study], texts: Sequence[str], together: str) -> str:
    """The text of a study and of each of its companions, and what is to be said of all of them, under headings."""
    headings = [f"{study.name}: {study.title}" for study in studies] + [f"{studies[0].name} and its companions"]
    underlined = (f"{heading}\n{'=' * len(heading)}" for heading in headings)
    return "\n\n".join(part for pair in zip(underlined, [*texts, together], strict=True) for part in pair)


def all_of(studies: Sequence[Study]) -> str:
    """How a sentence about all of them begins."""
    return f"All {len(studies)} studies"


def disk_size(number: int) -> str:
    return f"{number / 1e9:,.1f} GB" if number >= 1e8 else f"{number / 1e6:,.1f} MB"
