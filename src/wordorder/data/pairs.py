"""How many pairs a prepared dataset has, beside how many others report of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from wordorder.files import read_json


def count_pairs(published: dict[str, int], reports: Iterable[str | Path]) -> dict[str, dict[str, int]]:
    """By split: the pairs that are ``published``, that were imported and that cleaning kept; and the ``difference``.

    Publications count before or after cleaning without saying so: the difference is that of the nearer of the two.
    ``reports`` are the cleaning reports of the splits of ``published``, in their order.
    """
    table = {}
    for (split, number), path in zip(published.items(), reports, strict=True):
        report: dict[str, Any] = read_json(path)
        differences = [report["read"] - number, report["kept"] - number]
        table[split] = {
            "published": number,
            "imported": report["read"],
            "kept": report["kept"],
            "difference": min(differences, key=abs),
        }
    return table


def describe_pairs(dataset: str, table: dict[str, dict[str, int]]) -> str:
    """A line for each split."""
    lines = []
    for split, counts in table.items():
        difference = counts["difference"]
        told = f"{difference:+,} ({difference / counts['published']:+.2%})" if difference else "as published"
        lines.append(
            f"{dataset}, {split}: {counts['published']:,} pairs published, {counts['imported']:,} imported, "
            f"{counts['kept']:,} kept: {told}"
        )
    return "\n".join(lines)
