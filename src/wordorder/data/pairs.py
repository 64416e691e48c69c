"""Comparison of the number of pairs of a prepared dataset with published numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from wordorder.config.datasets import PublishedPairs
from wordorder.errors import WordorderError
from wordorder.files import read_object


def count_pairs(*, config: PublishedPairs, dataset: str, reports: Sequence[Path]) -> dict[str, dict[str, Any]]:
    r"""Compare the numbers of pairs in cleaning reports with the published ones.

    Example:
        wordorder stage count-pairs --config SLICE --dataset multi30k --reports train.report.json valid.report.json \
            --output pairs.json

    Args:
        config: The published numbers.
        dataset: The name of the dataset, for the log.
        reports: The cleaning reports, in the order of the slice.
    """
    table = compare_pairs(config.root, reports)
    print(describe_pairs(dataset, table))
    return table


def compare_pairs(
    published: Mapping[str, int | Mapping[str, int]], reports: Iterable[str | Path]
) -> dict[str, dict[str, Any]]:
    """Compare the published numbers of pairs with the imported and the kept ones.

    Publications count before or after cleaning without saying so, so the smaller difference counts.

    Args:
        published: The published number of each split, or several numbers by their source.
        reports: The cleaning reports of these splits, in their order.

    Returns:
        For each split the published, imported and kept numbers and the ``difference``. If several sources publish a
        number, 'published' holds ``pairs`` and ``difference`` of each.
    """
    table: dict[str, dict[str, Any]] = {}
    reports = list(reports)
    if len(reports) != len(published):
        raise WordorderError(
            f"There are {len(reports)} cleaning reports for the published numbers of {len(published)} splits "
            f"({', '.join(published)}). Give one for each split, in this order.",
            code="wrong-count",
            found=len(reports),
            expected=len(published),
        )
    for (split, said), path in zip(published.items(), reports, strict=True):
        report = read_object(path, "read", "kept")
        own = {"imported": report["read"], "kept": report["kept"]}
        if isinstance(said, int):
            table[split] = {"published": said, **own, "difference": _nearest(said, own)}
        else:
            claims = {name: {"pairs": number, "difference": _nearest(number, own)} for name, number in said.items()}
            table[split] = {"published": claims, **own}
    return table


def _nearest(number: int, own: Mapping[str, int]) -> int:
    return min((count - number for count in own.values()), key=abs)


def describe_pairs(dataset: str, table: dict[str, dict[str, Any]]) -> str:
    """Format one line per split, or per source of a published number."""
    lines = []
    for split, counts in table.items():
        said = counts["published"]
        claims = said if isinstance(said, dict) else {"": {"pairs": said, "difference": counts["difference"]}}
        for name, claim in claims.items():
            difference, by = claim["difference"], f" by {name}" if name else ""
            told = f"{difference:+,} ({difference / claim['pairs']:+.2%})" if difference else "as published"
            lines.append(
                f"{dataset}, {split}: {claim['pairs']:,} pairs published{by}, {counts['imported']:,} imported, "
                f"{counts['kept']:,} kept: {told}"
            )
    return "\n".join(lines)
