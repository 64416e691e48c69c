"""Rows for slurm/training.tsv, proposed from probes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from wordorder.status.estimate import Part
from wordorder.workflow.resources import Row

# Other batches, and saving the state, may need more than was measured.
_MARGIN = 1.25
_GPU_CPUS = 4  # The number of CPU cores per GPU.
_UNKNOWN_HOURS = 24


def proposed_rows(probes: Iterable[dict[str, Any]], parts: Sequence[Part], table: Path) -> str:
    """Propose one row per probe.

    Args:
        probes: The probes.
        parts: The parts of the studies, with the speeds of the probes.
        table: The file for which the rows are meant.

    Returns:
        The rows as text under a heading.
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
    """Propose the row of one probe.

    Args:
        probe: The probe.
        parts: The parts of the studies that have its dataset and size.
    """
    # The state is in memory while it is saved.
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
