"""Comparison of the resources that the training runs of a study requested with those that they used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wordorder.status.text import text_table
from wordorder.wording import count_of
from wordorder.workflow.study import CellName

GB = 1 << 30
# A job requested far too much if it received more than this many times what it used.
MEMORY_FACTOR, CPU_FACTOR = 4, 2
SMALL_MEMORY = 4 * GB  # Smaller requests are never reported.
IDLE_GPU = 0.3  # mean utilisation
_TABLE = " of its row in slurm/training.tsv"

Records = Mapping[CellName, Mapping[str, Any]]


def efficiency_text(study: str, records: Records) -> str:
    """Describe what the runs of a study used and requested.

    Args:
        study: The name of the study.
        records: The run records of its finished runs.

    Returns:
        A table with one line per run, followed by one sentence per kind of waste.
    """
    if not records:
        return f"{study}: no cell is trained yet. A training run records what it used when it ends."
    parts = [_table(records), *warnings(records)]
    without = sum("efficiency" not in record for record in records.values())
    if without:
        parts.append(f"{without} of {len(records)} records have no measurements, because an older version wrote them.")
    return "\n\n".join(parts)


def _table(records: Records) -> str:
    rows = []
    for cell, record in records.items():
        measured = record.get("efficiency", {})
        asked, used = measured.get("asked") or {}, measured.get("used", {})
        gpu_memory, flops = used.get("gpu_memory_bytes"), measured.get("model_flops_per_second")
        rows.append(
            {
                **cell._asdict(),
                "job": asked.get("job"),
                "memory GB": _of(_gigabytes(used.get("memory_bytes")), _gigabytes(asked.get("memory_bytes"))),
                "cores": _of(used.get("cores"), asked.get("cpus")),
                "GPUs": _of(used.get("gpus") or None, asked.get("gpus") or None),
                "GPU busy": f"{used['gpu_utilisation']:.0%}" if used.get("gpu_utilisation") is not None else None,
                "GPU GB": f"{gpu_memory / GB:.1f}" if gpu_memory else None,
                "hours": _of(_hours(used.get("seconds")), _hours(asked.get("seconds"))),
                "tokens/s": f"{record.get('target_tokens_per_second', 0):,.0f}",
                "GFLOP/s": f"{flops / 1e9:,.1f}" if flops else None,
                "batches": f"{measured['batch_share']:.0%}" if "batch_share" in measured else None,
            }
        )
    return text_table(rows, right=rows[0].keys() - {"dataset", "encoding", "size"})


def _of(used: float | str | None, asked: float | str | None) -> str | None:
    if used is None:
        return None
    return f"{used} / {asked}" if asked is not None else f"{used}"


def _gigabytes(number: int | None) -> str | None:
    return None if number is None else f"{number / GB:.1f}"


def _hours(seconds: float | None) -> str | None:
    return None if seconds is None else f"{seconds / 3600:.2f}"


def warnings(records: Records) -> list[str]:
    """Write one sentence per kind of waste, with the number of jobs concerned and the worst of them."""
    memory, cpus, gpus, idle = [], [], [], []
    for cell, record in records.items():
        measured = record.get("efficiency", {})
        asked, used = measured.get("asked") or {}, measured.get("used", {})
        if (got := asked.get("memory_bytes")) and got > max(SMALL_MEMORY, MEMORY_FACTOR * used["memory_bytes"]):
            memory.append((got / used["memory_bytes"], cell, f"{_gigabytes(got)} GB", _gigabytes(used["memory_bytes"])))
        if (got := asked.get("cpus")) and got > CPU_FACTOR * max(used["cores"], 1):
            cpus.append((got / max(used["cores"], 1), cell, f"{got} CPUs", used["cores"]))
        if (got := asked.get("gpus")) and got > used["gpus"]:
            gpus.append((got / (used["gpus"] or 0.5), cell, f"{got} GPUs" if got > 1 else "a GPU", used["gpus"]))
        busy = used.get("gpu_utilisation")
        if busy is not None and busy < IDLE_GPU:
            idle.append((1 - busy, cell, "", f"{busy:.0%}"))
    sentences = [
        _sentence(memory, "requested far more memory than it used", "{1} requested, {2} GB used. Lower 'memory_gb'{0}"),
        _sentence(cpus, "requested far more CPUs than it used", "{1} requested, {2} cores used. Lower 'cpus'{0}"),
        _sentence(
            gpus, "requested more GPUs than it used", "{1} requested, {2} used. Lower 'gpus'{0} or raise 'accumulate'"
        ),
        _sentence(idle, "left its GPU idle most of the time", "{2} busy. Raise 'batch_tokens', or use a smaller GPU"),
    ]
    return [sentence for sentence in sentences if sentence]


def _sentence(found: Sequence[tuple[float, CellName, str, Any]], what: str, example: str) -> str:
    if not found:
        return ""
    _, cell, asked, used = max(found, key=lambda entry: entry[0])
    name = "/".join(map(str, cell))
    who = count_of(len(found), "training run")
    what = what if len(found) == 1 else what.replace(" it ", " they ").replace(" its ", " their ")
    return f"Warning: {who} {what}, {name} most: {example.format(_TABLE, asked, used)}."
