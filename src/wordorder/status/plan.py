"""The text of ``wordorder plan``: cells, hours, the time limits of the cluster, money and disk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from wordorder.config.models import Study
from wordorder.errors import WordorderError
from wordorder.files import read_text
from wordorder.status.data_size import RULE, DataSize
from wordorder.status.estimate import PAIR_TOKENS, Part
from wordorder.status.text import all_of, disk_size, sections, text_table
from wordorder.workflow.resources import TrainingTable

_RETRIES = 3  # if a profile does not say


@dataclass(frozen=True)
class Cluster:
    """What a profile says of a cluster.

    Attributes:
        table: What trainings request.
        retries: How often a job is tried again.
    """

    table: TrainingTable
    retries: int = _RETRIES

    @classmethod
    def of(cls, profile: Path) -> Cluster | None:
        """Read a profile folder; None if it has no table of trainings."""
        table, settings = profile / "training.tsv", profile / "profile.yaml"
        if not table.exists():
            return None
        try:
            content = yaml.safe_load(read_text(settings)) if settings.exists() else {}
        except yaml.YAMLError as error:
            raise WordorderError(
                f"{settings} is not valid YAML: {error}.", code="invalid-yaml", path=settings
            ) from error
        retries = (content or {}).get("retries", _RETRIES)
        return cls(TrainingTable(table), retries if isinstance(retries, int) else _RETRIES)

    def attempts(self, hours: float, limit: float) -> int | None:
        """Return how many attempts a training takes, each of which has as many hours again; None if too many."""
        # n attempts have limit · n (n + 1) / 2 hours.
        number = max(1, math.ceil((math.sqrt(1 + 8 * hours / limit) - 1) / 2))
        return number if number <= self.retries + 1 else None


def plan_text(
    plans: Sequence[tuple[Study, Sequence[Part]]],
    data: DataSize,
    *,
    cluster: Cluster | None = None,
    price: float | None = None,
    at_once: int | None = None,
) -> str:
    """Return the plan of a study, and those of its companions under headings, with what they take together.

    Args:
        plans: The studies and their parts.
        data: What the data take.
        cluster: What the profile says.
        price: Of an hour of a GPU, or of a training on CPUs where no training has a GPU.
        at_once: The number of trainings that run side by side.
    """
    studies, parts = [study for study, _ in plans], [part for _, own in plans for part in own]
    texts = [f"{_table(own, cluster)}\n\n{_totals(study.name, own, price, at_once)}" for study, own in plans]
    notes = [str(data), RULE, *_notes(parts, cluster)]
    if len(plans) == 1:
        return "\n".join([*texts, *notes])
    return sections(studies, texts, "\n".join([_totals(all_of(studies), parts, price, at_once), *notes]))


def _notes(parts: Sequence[Part], cluster: Cluster | None) -> list[str]:
    notes = []
    if any(part.estimated for part in parts):
        notes.append(
            "Estimated speeds follow from the operations of a token and an assumed share of what the hardware may do. "
            "They may be wrong by several times: 'wordorder probe STUDY' measures them in minutes, on the hardware."
        )
    if not all(part.prepared for part in parts):
        notes.append(f"Tokens of data that are not prepared are guessed (≈): {PAIR_TOKENS} subwords a training pair.")
    if any(part.tokens is not None for part in parts):
        notes.append("Tokens are an upper bound: a training with 'patience' stops earlier, and batches hold padding.")
    short = [part for part in parts if cluster and _limit(part, cluster).endswith("too short")]
    if cluster and short:
        share = (cluster.retries + 1) * (cluster.retries + 2) / 2
        rows = ", ".join(
            f"{part.dataset} {part.size} at least {math.ceil((part.longest or 0) / share)}" for part in short
        )
        notes.append(
            f"Warning: some trainings take longer than all their {cluster.retries + 1} attempts have. Raise 'hours' in "
            f"{cluster.table.path}: {rows}."
        )
    return notes


def _table(parts: Sequence[Part], cluster: Cluster | None) -> str:
    return text_table(
        [
            {
                "dataset": part.dataset,
                "size": part.size,
                "cells": part.cells,
                "done": part.done,
                "parameters": f"{part.parameters / 1e6:.2f} M",
                "tokens a cell": _tokens(part),
                "speed": str(part.speed),
                "longest": f"{part.longest:,.1f} h" if part.longest else "",
                "job limit": _limit(part, cluster) if cluster else "",
                "hours left": f"{part.hours:,.1f}" if part.hours is not None else "unknown",
            }
            for part in parts
        ]
    )


def _tokens(part: Part) -> str:
    if part.tokens is None:
        return "data not prepared"
    return f"{'' if part.prepared else '≈ '}{part.tokens / 1e6:,.1f} M"


def _limit(part: Part, cluster: Cluster) -> str:
    """Say how many jobs a training takes under the time limit of its row."""
    if part.row is None or not part.longest:
        return ""
    attempts = cluster.attempts(part.longest, part.row.hours)
    limit = f"{part.row.hours:g} h"
    return f"{limit}, too short" if attempts is None else f"{limit}, {attempts} job{'s' * (attempts > 1)}"


def _totals(whose: str, parts: Sequence[Part], price: float | None, at_once: int | None) -> str:
    """Return lines about cells and hours, wall time, money, and the disk."""
    total, done = sum(part.cells for part in parts), sum(part.done for part in parts)
    known = [part for part in parts if part.hours is not None]
    hours = hours_text(known) if known else "hours unknown"
    if 0 < len(known) < len(parts):
        hours += ", without the parts that are unknown"
    lines = [f"{whose}: {total} cells, {done} done, {total - done} to train; {hours}."]
    longest = max((part.longest or 0.0 for part in known), default=0.0)
    if longest:
        one_by_one = sum((part.hours or 0.0) / part.devices for part in known)
        wall = f"Wall time: {longest:,.1f} hours if all trainings run at once"
        if at_once:
            wall += f", at least {max(longest, one_by_one / at_once):,.1f} hours with {at_once} at once"
        lines.append(f"{wall}, and what jobs wait in the queue.")
    if price is not None and known:
        gpu_hours = sum(part.hours or 0.0 for part in known if part.speed.device == "cuda")
        paid = gpu_hours or sum(part.hours or 0.0 for part in known)
        lines.append(f"Price: {paid * price:,.2f}, at {price:g} an hour of a {'GPU' if gpu_hours else 'training'}.")
    models, state = sum(part.model_bytes for part in parts), max(part.state_bytes for part in parts)
    lines.append(f"Disk: {disk_size(models)} for the models, and up to {disk_size(state)} for each training that runs.")
    return "\n".join(lines)


def hours_text(parts: Sequence[Part], hours: Sequence[float] | None = None) -> str:
    """Say hours of GPUs and of trainings on CPUs.

    Args:
        parts: The parts, whose hours are known.
        hours: Hours of each; those that are left if missing.
    """
    each = [part.hours or 0.0 for part in parts] if hours is None else hours
    on = {
        device: sum(own for part, own in zip(parts, each, strict=True) if part.speed.device == device)
        for device in dict.fromkeys(part.speed.device for part in parts)
    }
    estimated = "about " * any(part.estimated for part in parts)
    told = []
    if "cuda" in on:
        told.append(f"{estimated}{on['cuda']:,.1f} GPU-hours of training")
    if "cpu" in on:
        told.append(f"{estimated}{on['cpu']:,.1f} hours of training{' on CPUs' * ('cuda' in on)}, one after another")
    return " and ".join(told)
