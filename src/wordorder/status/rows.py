"""Rows of slurm/training.tsv, proposed from probes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from wordorder.status.estimate import Part
from wordorder.workflow.resources import Row

# What other batches, and the saving of states, may take on top of what was measured.
_MARGIN = 1.25
_GPU_CPUS = 4  # beside a GPU
_UNKNOWN_HOURS = 24


def proposed_rows(probes: Iterable[dict[str, Any]], parts: Sequence[Part], table: Path) -> str:
    """Propose the rows of what was probed.

    Args:
        probes: The probes.
        parts: The parts of the studies, with the speeds of the probes.
        table: The file that the rows are for.
    """
    lines = [f"\nRows for {table}, with a margin of {_MARGIN - 1:.0%}:"]
    lines.append("# dataset      size        memory_gb  hours  nodes  cpus  gpus")
    for probe in probes:
        row = proposed_row(
            probe, [part for part in parts if (part.dataset, part.size) == (probe["dataset"], probe["size"])]
        )
        lines.append(
            f"  {row.dataset:<12} {row.size:<10} {row.memory_gb:>10g} {row.hours:>6g} {row.nodes:>6g} {row.cpus:>5g} "
            f"{row.gpus:>5g}"
        )
    return "\n".join(lines)


def proposed_row(probe: dict[str, Any], parts: Sequence[Part]) -> Row:
    """Propose a row.

    Args:
        probe: A probe.
        parts: The parts of the studies that have its dataset and size.
    """
    # A state is in memory while it is saved.
    memory = _MARGIN * (probe["process_bytes"] + max((part.state_bytes for part in parts), default=0)) / 1e9
    hours = [_MARGIN * own for part in parts for name in part.left if (own := part.hours_of(name)) is not None]
    gpus = int(probe["device"] == "cuda")
    return Row(
        probe["dataset"],
        probe["size"],
        memory_gb=math.ceil(memory),
        hours=max(1, math.ceil(max(hours))) if hours else _UNKNOWN_HOURS,
        nodes=1,
        cpus=_GPU_CPUS if gpus else probe["threads"],
        gpus=gpus,
    )
