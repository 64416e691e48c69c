"""Records for scripts: what ``plan``, ``status`` and ``models`` print with ``--json``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wordorder.config.models import Study
from wordorder.status.cells import CellStatus, State
from wordorder.status.data_size import DataSize
from wordorder.status.estimate import Part
from wordorder.status.models import StoredModel
from wordorder.status.plan import Cluster


@dataclass(frozen=True)
class PartRecord:
    """The planned runs of a study with one dataset and one model size.

    Attributes:
        study: The study.
        dataset: The dataset.
        size: The model size.
        cells: The number of runs.
        done: The number of finished runs, with those that diverged.
        parameters: The number of trainable parameters of the largest model.
        tokens: The target tokens of one training; None if the data are not prepared and their size is unknown.
        tokens_counted: Whether the tokens were counted in prepared data, not estimated.
        tokens_per_second: The speed of one training, in target tokens.
        device: "cuda" or "cpu".
        speed_source: Where the speed comes from.
        speed_estimated: Whether the speed was estimated, not measured.
        hours_left: Device-hours of all runs that are left; None if unknown.
        longest_hours: Hours of the longest run that is left, on all its devices; None if unknown.
        job_limit_hours: The time limit of a job in the profile's training.tsv; None without a row.
        jobs: The number of jobs that the longest run needs under this limit; None without a row or a known duration,
            or if the allowed retries do not suffice.
        model_bytes: Disk space of all models.
        state_bytes: Disk space of the saved state of one training.
    """

    study: str
    dataset: str
    size: str
    cells: int
    done: int
    parameters: int
    tokens: float | None
    tokens_counted: bool
    tokens_per_second: float
    device: str
    speed_source: str
    speed_estimated: bool
    hours_left: float | None
    longest_hours: float | None
    job_limit_hours: float | None
    jobs: int | None
    model_bytes: int
    state_bytes: int


@dataclass(frozen=True)
class CellRecord:
    """The state of one run of a study.

    Attributes:
        study: The study.
        dataset: The dataset.
        encoding: The encoding.
        size: The model size.
        seed: The seed.
        state: "done", "running", "stopped", "queued" or "failed".
        reason: Why the run is in this state, or why its evaluation failed; empty if nothing is known.
        update: The last update; None before the first.
        planned_updates: The number of updates of the training; None if unknown.
        tokens_per_second: The speed in target tokens; None if unknown.
        seconds: The duration of a finished training; None before its end.
        seconds_left: The predicted duration until the end of a running training; None if unknown.
        scored: The number of scored test sets.
        tests: The number of test sets.
        job: The number of the SLURM job; None without one.
        log: The log file, of the training or of the evaluation that failed; None without one.
        log_tail: The last lines of the log.
    """

    study: str
    dataset: str
    encoding: str
    size: str
    seed: int
    state: State
    reason: str
    update: int | None
    planned_updates: int | None
    tokens_per_second: float | None
    seconds: float | None
    seconds_left: float | None
    scored: int
    tests: int
    job: str | None
    log: str | None
    log_tail: list[str]


@dataclass(frozen=True)
class ModelRecord:
    """A stored model.

    Attributes:
        dataset: The dataset.
        encoding: The encoding.
        size: The model size.
        digest: The digest of the model's configuration.
        seed: The seed.
        folder: The folder of the model.
        trained: Whether the training has finished.
        weights: Whether the weights exist; those of imported and of removed models do not.
        bytes: Disk space of the folder, with translations.
        studies: The studies that use the model.
    """

    dataset: str
    encoding: str
    size: str
    digest: str
    seed: int
    folder: str
    trained: bool
    weights: bool
    bytes: int
    studies: list[str]


def plan_json(plans: Sequence[tuple[Study, Sequence[Part]]], data: DataSize, cluster: Cluster | None) -> str:
    """Write a plan as JSON.

    Args:
        plans: The studies and their parts.
        data: The size of their data.
        cluster: The profile; None without one.

    Returns:
        An object with ``parts``, one :class:`PartRecord` per study, dataset and model size, and ``data``, a
        :class:`~wordorder.status.data_size.DataSize` in bytes.
    """
    parts = [asdict(_part(study, part, cluster)) for study, own in plans for part in own]
    return json.dumps({"parts": parts, "data": asdict(data)}, ensure_ascii=False)


def _part(study: Study, part: Part, cluster: Cluster | None) -> PartRecord:
    limit = part.row.hours if cluster and part.row else None
    return PartRecord(
        study=study.name,
        dataset=part.dataset,
        size=part.size,
        cells=part.cells,
        done=part.done,
        parameters=part.parameters,
        tokens=part.tokens,
        tokens_counted=part.prepared,
        tokens_per_second=part.speed.tokens_per_second,
        device=part.speed.device,
        speed_source=part.speed.basis,
        speed_estimated=part.speed.estimated,
        hours_left=part.hours,
        longest_hours=part.longest,
        job_limit_hours=limit,
        jobs=cluster.attempts(part.longest, limit) if cluster and limit and part.longest else None,
        model_bytes=part.model_bytes,
        state_bytes=part.state_bytes,
    )


def status_json(found: Sequence[tuple[Study, Sequence[CellStatus], Mapping[str, Sequence[str]]]]) -> str:
    """Write the state of runs as JSON, on one line.

    Args:
        found: The studies with their runs, and the test sets of each dataset.

    Returns:
        A list with one :class:`CellRecord` per run.
    """
    records = [
        CellRecord(
            study=study.name,
            dataset=cell.name.dataset,
            encoding=cell.name.encoding,
            size=cell.name.size,
            seed=cell.name.seed,
            state=cell.state,
            reason=cell.reason,
            update=cell.update,
            planned_updates=cell.planned,
            tokens_per_second=cell.tokens_per_second,
            seconds=cell.seconds,
            seconds_left=cell.seconds_left,
            scored=cell.scored,
            tests=len(tests[cell.name.dataset]),
            job=cell.job.number if cell.job else None,
            log=str(cell.log) if cell.log else None,
            log_tail=cell.log_tail,
        )
        for study, cells, tests in found
        for cell in cells
    ]
    return _list(records)


def models_json(models: Sequence[StoredModel]) -> str:
    """Write stored models as JSON.

    Args:
        models: The models.

    Returns:
        A list with one :class:`ModelRecord` per model.
    """
    return _list([_model(model.folder, model) for model in models])


def _model(folder: Path, model: StoredModel) -> ModelRecord:
    dataset, encoding, size, digest, seed = folder.parts[-5:]
    names = (dataset, encoding, size, digest, int(seed), str(folder))
    return ModelRecord(*names, model.trained, model.weights, model.bytes, model.studies)


def _list(records: Sequence[Any]) -> str:
    return json.dumps([asdict(record) for record in records], ensure_ascii=False)
