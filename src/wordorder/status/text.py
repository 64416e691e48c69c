"""Text functions that ``plan`` and ``status`` share."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tabulate import tabulate

from wordorder.config.models import Study


def sections(studies: Sequence[Study], texts: Sequence[str], together: str) -> str:
    """Join the texts of a study and of its companions under headings.

    Args:
        studies: The study and its companions.
        texts: The text of each.
        together: The text about all of them.
    """
    headings = [f"{study.name}: {study.title}" for study in studies] + [f"{studies[0].name} and its companions"]
    underlined = (f"{heading}\n{'=' * len(heading)}" for heading in headings)
    return "\n\n".join(part for pair in zip(underlined, [*texts, together], strict=True) for part in pair)


def text_table(rows: Sequence[Mapping[str, Any]], right: Collection[str] = ()) -> str:
    """Format rows as a text table.

    Args:
        rows: The rows, at least one, by column name; empty columns are omitted.
        right: The names of the right-aligned columns.
    """
    used = [name for name in rows[0] if any(row[name] not in ("", None) for row in rows)]
    text: str = tabulate(
        [[row[name] for name in used] for row in rows],
        headers=used,
        tablefmt="simple",
        disable_numparse=True,
        missingval="–",
        colalign=["right" if name in right else "left" for name in used],
    )
    return text


def all_of(studies: Sequence[Study]) -> str:
    """Return the start of a sentence about all of these studies."""
    return f"All {len(studies)} studies"


def disk_size(number: int) -> str:
    """Format a number of bytes in GB, or in MB if it is small."""
    return f"{number / 1e9:,.1f} GB" if number >= 1e8 else f"{number / 1e6:,.1f} MB"


def duration(hours: float) -> str:
    """Format a duration in hours, or in minutes, rounded up, if it is shorter than one hour."""
    return f"{hours:,.1f} hours" if hours >= 1 else f"{max(1, math.ceil(60 * hours))} min"
