"""What a study will cost before it is run: trainings, hours and disk, from speeds that were measured here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from wordorder.config.load import load_encodings, load_sizes
from wordorder.config.models import Recipe, Study
from wordorder.files import read_json, read_object
from wordorder.model.counts import counted
from wordorder.status.data_size import RULE, DataSize
from wordorder.status.text import all_of, disk_size, sections, text_table
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.models import cell_files
from wordorder.workflow.study import cells

# Bytes of a weight: of a model; and of a saved state, with Adam's two moments.
_MODEL_BYTES, _STATE_BYTES = 4, 12


@dataclass(frozen=True)
class Speed:
    """Target tokens a second of finished trainings of one size and precision, on one kind of device."""

    tokens_per_second: float
    trainings: int
    device: str

    def __str__(self) -> str:
        return f"{self.tokens_per_second:,.0f} tokens/s ({self.device}, {self.trainings} measured)"


@dataclass(frozen=True)
class Part:
    """The cells of a study with one dataset and one size."""

    dataset: str
    size: str
    cells: int
    done: int
    parameters: int  # of the largest model
    tokens: float | None  # target tokens of a training; None where the corpus is not prepared
    speed: Speed | None
    average: int

    @property
    def hours(self) -> float | None:
        """Of all the trainings that are left, one after another."""
        if self.done == self.cells:
            return 0.0
        if self.tokens is None or self.speed is None:
            return None
        return (self.cells - self.done) * self.tokens / self.speed.tokens_per_second / 3600

    @property
    def model_bytes(self) -> int:
        return self.cells * self.parameters * _MODEL_BYTES

    @property
    def state_bytes(self) -> int:
        """What one running training has on the disk beside its model."""
        return self.parameters * (_STATE_BYTES + self.average * _MODEL_BYTES)


def estimate(study: Study, configuration: Configuration, results: Path) -> list[Part]:
    """Return the parts of a study, in its order."""
    root, files = configuration.root, cell_files(study, configuration, results)
    sizes, encodings, measured = load_sizes(root), load_encodings(root), speeds(results, study.recipe.precision)
    parts = []
    for dataset in study.datasets:
        meta = results / "data" / dataset / "binary" / "train" / "meta.json"
        corpus: dict[str, Any] | None = read_json(meta) if meta.exists() else None
        vocabulary = corpus["vocabulary_size"] if corpus else configuration.dataset(dataset).preprocessing.vocabulary
        for size in study.sizes:
            own = [cell for cell in cells(study) if (cell.dataset, cell.size) == (dataset, size)]
            done = sum(files[cell].record.exists() for cell in own)
            models = (
                counted(encodings[encoding], sizes[size], study.recipe, vocabulary)["total"]
                for encoding in study.encodings
            )
            parts.append(
                Part(
                    dataset=dataset,
                    size=size,
                    cells=len(own),
                    done=done,
                    parameters=max(models),
                    tokens=planned_tokens(study.recipe, corpus["target_tokens"] if corpus else None),
                    speed=measured.get(size),
                    average=study.recipe.average,
                )
            )
    return parts


def planned_tokens(recipe: Recipe, corpus_tokens: int | None) -> float | None:
    """Target tokens of a training that is not stopped early: at most so many, as batches hold padding too."""
    limits = []
    if recipe.max_updates is not None:
        limits.append(float(recipe.max_updates * recipe.batch_tokens * recipe.accumulate))
    if recipe.max_epochs is not None and corpus_tokens is not None:
        limits.append(float(recipe.max_epochs * corpus_tokens))
    return min(limits) if limits else None


def speeds(results: Path, precision: str) -> dict[str, Speed]:
    """By the name of a size; where several kinds of device trained it, that of the fastest."""
    found: dict[str, dict[str, list[float]]] = {}
    for path in sorted(results.glob("models/*/*/*/*/*/record.json")):
        record = read_object(path, "precision")
        if record.get("precision") == precision and record.get("target_tokens_per_second"):
            of_size = found.setdefault(path.parents[2].name, {})
            of_size.setdefault(record["device"], []).append(record["target_tokens_per_second"])
    return {
        size: max(
            (Speed(median(values), len(values), device) for device, values in devices.items()),
            key=lambda speed: speed.tokens_per_second,
        )
        for size, devices in found.items()
    }


def plan_text(plans: Sequence[tuple[Study, Sequence[Part]]], data: DataSize) -> str:
    """The plan of a study, and those of its companions under headings, with what they take together."""
    studies, parts = [study for study, _ in plans], [part for _, own in plans for part in own]
    texts = [f"{_table(own)}\n\n{_totals(study.name, own)}" for study, own in plans]
    notes = [str(data), RULE]
    precisions = [study.recipe.precision for study, own in plans if None in (part.speed for part in own)]
    if precisions:
        notes.append(
            f"Speeds are those of finished trainings of the same size in {' or '.join(dict.fromkeys(precisions))}, of "
            "any study: train one cell, by naming its model.pt as Snakemake's target, and ask again."
        )
    if any(part.tokens is not None for part in parts):
        notes.append("Tokens are an upper bound: a training with 'patience' stops earlier, and batches hold padding.")
    if len(plans) == 1:
        return "\n".join([*texts, *notes])
    return sections(studies, texts, "\n".join([_totals(all_of(studies), parts), *notes]))


def _table(parts: Sequence[Part]) -> str:
    return text_table(
        [
            {
                "dataset": part.dataset,
                "size": part.size,
                "cells": part.cells,
                "done": part.done,
                "parameters": f"{part.parameters / 1e6:.2f} M",
                "tokens a cell": f"{part.tokens / 1e6:,.1f} M" if part.tokens is not None else "data not prepared",
                "speed": str(part.speed) if part.speed else "not measured",
                "hours left": f"{part.hours:,.1f}" if part.hours is not None else "unknown",
            }
            for part in parts
        ]
    )


def _totals(whose: str, parts: Sequence[Part]) -> str:
    """Two lines: cells and hours, and the disk."""
    total, done = sum(part.cells for part in parts), sum(part.done for part in parts)
    known = [part.hours for part in parts if part.hours is not None]
    hours = f"{sum(known):,.1f} hours of training, one after another" if known else "hours unknown"
    if 0 < len(known) < len(parts):
        hours += ", without the parts that are unknown"
    models, state = sum(part.model_bytes for part in parts), max(part.state_bytes for part in parts)
    return (
        f"{whose}: {total} cells, {done} done, {total - done} to train; {hours}.\n"
        f"Disk: {disk_size(models)} for the models, and up to {disk_size(state)} for each training that runs."
    )
