"""Numbers and lists in sentences."""

from __future__ import annotations

from collections.abc import Iterable


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, such as "1 seed" or "3 seeds"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(names: Iterable[str]) -> str:
    """Return names as a list in a sentence, such as "a, b and c"; empty without names."""
    *most, last = list(names) or [""]
    return f"{', '.join(most)} and {last}" if most else last
