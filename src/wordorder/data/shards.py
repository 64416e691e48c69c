"""Scatter a text into contiguous blocks for parallel jobs, and gather what they made, in order.

The gathered result is the same for any number of shards.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from wordorder.data.text import read_lines, read_pairs, write_lines, write_pairs
from wordorder.errors import WordorderError
from wordorder.files import read_json, write_json


def scatter(
    source: str | Path,
    target: str | Path,
    output_sources: Sequence[str | Path],
    output_targets: Sequence[str | Path],
) -> int:
    """Split a parallel text into as many contiguous blocks as there are outputs; return how many pairs.

    The blocks differ by at most one pair; with fewer pairs than outputs some are empty.
    """
    shards = len(output_sources)
    if shards == 0 or shards != len(output_targets):
        raise WordorderError(
            f"There are {shards} source outputs and {len(output_targets)} target outputs; give one of each per shard.",
            code="wrong-count",
            found=len(output_targets),
            expected=shards,
        )
    count = sum(1 for _ in read_pairs(source, target))
    pairs = read_pairs(source, target)
    for shard, (output_source, output_target) in enumerate(zip(output_sources, output_targets, strict=True)):
        size = (shard + 1) * count // shards - shard * count // shards
        write_pairs(output_source, output_target, islice(pairs, size))
    return count


def gather_text(inputs: Sequence[str | Path], output: str | Path) -> int:
    """Write the lines of ``inputs``, in that order, to ``output``; return how many."""
    return write_lines(output, chain.from_iterable(map(read_lines, inputs)))


def gather_reports(inputs: Sequence[str | Path], output: str | Path) -> None:
    """Add up the counts of several cleaning reports."""
    total: dict[str, Any] = {}
    for path in inputs:
        try:
            _add(total, read_json(path))
        except (AttributeError, TypeError) as error:
            raise WordorderError(
                f"{path} is not a cleaning report. Delete it and run its stage again.", code="damaged-file", path=path
            ) from error
    write_json(output, total)


def _add(total: dict[str, Any], counts: dict[str, Any]) -> None:
    for key, value in counts.items():
        if isinstance(value, dict):
            _add(total.setdefault(key, {}), value)
        else:
            total[key] = total.get(key, 0) + value
