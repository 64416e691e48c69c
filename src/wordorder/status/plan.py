"""The text of ``wordorder plan``: training runs, hours, time limits of the cluster, price and disk space."""

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
from wordorder.status.text import all_of, disk_size, duration, sections, text_table
from wordorder.wording import count_of
from wordorder.workflow.resources import TrainingTable

SLURM = Path("slurm")  # The profile that every project has.
_RETRIES = 3  # The default for profiles that do not set it.


@dataclass(frozen=True)
class Cluster:
    """The settings of a cluster in a profile.

    Attributes:
        table: The resources that training runs request.
        retries: The number of retries of a failed job.
    """

    table: TrainingTable
    retries: int = _RETRIES

    @classmethod
    def of(cls, profile: Path | None = None) -> Cluster | None:
        """Read a profile folder.

        Args:
            profile: The folder; ``slurm``, which need not exist, if missing.

        Returns:
            The settings; None if the folder has no table of training runs.

        Raises:
            WordorderError: The folder does not exist, or its ``profile.yaml`` is not valid YAML.
        """
        if profile is not None and not profile.is_dir():
            raise WordorderError(
                f"The profile folder {profile} does not exist. Name an existing folder with --profile.",
                code="missing-file",
                path=profile,
                key="--profile",
            )
        profile = profile or SLURM
        table, settings = profile / "training.tsv", profile / "profile.yaml"
        if not table.exists():
            return None
        try:
            content = yaml.safe_load(read_text(settings)) if settings.exists() else {}
        except yaml.YAMLError as error:
            raise WordorderError(
                f"{settings} is not valid YAML: {error}. Correct the file.", code="invalid-yaml", path=settings
            ) from error
        retries = content.get("retries", _RETRIES) if isinstance(content, dict) else _RETRIES
        return cls(TrainingTable(table), retries if isinstance(retries, int) and retries >= 0 else _RETRIES)

    def attempts(self, hours: float, limit: float) -> int | None:
        """Return the number of attempts that a run needs; None if the retries do not suffice.

        Args:
            hours: The duration of the run.
            limit: The time limit of the first attempt in hours; attempt n has n times this limit.
        """
        # n attempts have limit · n (n + 1) / 2 hours in total.
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
    """Return the plan of a study and of its companions, under headings, with their total.

    Args:
        plans: The studies and their parts.
        data: The disk space of the data.
        cluster: The settings of the profile.
        price: The price of an hour of one GPU, or of one training run if no run uses a GPU.
        at_once: The number of training runs that run at the same time.
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
            "Estimated speeds are those of other hardware, whose bundles are in results/reference, or follow from the "
            "operations per token and an assumed fraction of the hardware's peak. "
            "They may be far from the true speed: 'wordorder probe STUDY' measures it on the hardware in minutes."
        )
    if not all(part.prepared for part in parts):
        notes.append(f"Tokens of data that are not prepared are guessed (≈): {PAIR_TOKENS} subwords per training pair.")
    if any(part.tokens is not None for part in parts):
        notes.append("Tokens are an upper bound: a run with 'patience' may stop earlier, and batches contain padding.")
    short = [part for part in parts if cluster and _limit(part, cluster).endswith("too short")]
    if cluster and short:
        share = (cluster.retries + 1) * (cluster.retries + 2) / 2
        rows = ", ".join(
            f"{part.dataset} {part.size} at least {math.ceil((part.longest or 0) / share)}" for part in short
        )
        notes.append(
            f"Warning: some training runs need more time than all their {cluster.retries + 1} attempts have. Raise "
            f"'hours' in {cluster.table.path}: {rows}."
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
                "tokens per cell": _tokens(part),
                "speed": str(part.speed),
                "longest": duration(part.longest) if part.longest else "",
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
    """Return the time limit of a run's row and the number of jobs that the run needs."""
    if part.row is None or not part.longest:
        return ""
    attempts = cluster.attempts(part.longest, part.row.hours)
    limit = f"{part.row.hours:g} h"
    return f"{limit}, too short" if attempts is None else f"{limit}, {count_of(attempts, 'job')}"


def _totals(whose: str, parts: Sequence[Part], price: float | None, at_once: int | None) -> str:
    """Return the lines about runs and hours, wall time, price and disk space."""
    total, done = sum(part.cells for part in parts), sum(part.done for part in parts)
    known = [part for part in parts if part.hours is not None]
    hours = hours_text(known) if known else "hours unknown"
    if 0 < len(known) < len(parts):
        hours += ", excluding the unknown parts"
    diverged = sum(part.diverged for part in parts)
    ended = f"{done} done" + (f" ({diverged} of them diverged)" if diverged else "")
    lines = [f"{whose}: {total} cells, {ended}, {total - done} to train; {hours}."]
    longest = max((part.longest or 0.0 for part in known), default=0.0)
    if longest:
        one_by_one = sum((part.hours or 0.0) / part.devices for part in known)
        wall = f"Wall time: {duration(longest)} if all training runs run at once"
        if at_once:
            wall += f", at least {duration(max(longest, one_by_one / at_once))} with {at_once} at once"
        lines.append(f"{wall}, plus the time that jobs wait in the queue.")
    if price is not None and known:
        gpu_hours = sum(part.hours or 0.0 for part in known if part.speed.device == "cuda")
        paid = gpu_hours or sum(part.hours or 0.0 for part in known)
        unit = "GPU-hour" if gpu_hours else "hour of training"
        lines.append(f"Price: {paid * price:,.2f}, at {price:g} per {unit}.")
    models, state = sum(part.model_bytes for part in parts), max(part.state_bytes for part in parts)
    lines.append(f"Disk: {disk_size(models)} for the models, and up to {disk_size(state)} for each active run.")
    return "\n".join(lines)


def hours_text(parts: Sequence[Part], hours: Sequence[float] | None = None) -> str:
    """Describe the hours of training on GPUs and on CPUs.

    Args:
        parts: The parts; their hours are known.
        hours: The hours of each part; by default its remaining hours.
    """
    each = [part.hours or 0.0 for part in parts] if hours is None else hours
    on = {
        device: sum(own for part, own in zip(parts, each, strict=True) if part.speed.device == device)
        for device in dict.fromkeys(part.speed.device for part in parts)
    }
    estimated = "about " * any(part.estimated for part in parts)
    texts = []
    if "cuda" in on:
        texts.append(f"{estimated}{on['cuda']:,.1f} GPU-hours of training")
    if "cpu" in on:
        texts.append(f"{estimated}{on['cpu']:,.1f} hours of training{' on CPUs' * ('cuda' in on)}, one after another")
    return " and ".join(texts)
