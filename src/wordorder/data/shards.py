"""Shards: scatter a text into contiguous blocks for parallel jobs, and gather the results in order.

The gathered result does not depend on the number of shards.
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
) -> None:
    """Split a parallel text into contiguous blocks of the same size.

    There are as many blocks as outputs. They differ by at most one pair; with fewer pairs than outputs some are empty.

    Example:
        wordorder stage scatter --source s --target t --output-sources 0.s 1.s --output-targets 0.t 1.t

    Args:
        source: The source text.
        target: The target text.
        output_sources: The source blocks to write, in order.
        output_targets: The target blocks to write, in order.
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


def gather_text(inputs: Sequence[str | Path], output: str | Path) -> None:
    """Concatenate texts.

    Example:
        wordorder stage gather-text --inputs 0.s 1.s --output s

    Args:
        inputs: The texts, in order.
        output: The text to write.
    """
    write_lines(output, chain.from_iterable(map(read_lines, inputs)))


def gather_reports(inputs: Sequence[str | Path], output: str | Path) -> None:
    """Add up the counts of cleaning reports.

    Example:
        wordorder stage gather-reports --inputs 0.json 1.json --output report.json

    Args:
        inputs: The cleaning reports.
        output: The report to write, JSON.
    """
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
