"""State of each training run of a study, read from the files of the run without writing or locking anything."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from wordorder.errors import WordorderError
from wordorder.files import first_missing, read_object
from wordorder.locks import Holder, holder
from wordorder.results.index import CellFiles
from wordorder.status.queue import Job
from wordorder.workflow.study import CellName

State = Literal["done", "running", "stopped", "queued", "failed"]
STATES: tuple[State, ...] = ("done", "running", "stopped", "queued", "failed")

# The last line of a failed run's log: an error of wordorder, the end of a Python traceback, or a message from the batch
# system or from Linux.
_ERROR = re.compile(
    r"^(wordorder: error: .+|[\w.]*(?:Error|Exception)\b.*|.*(?:oom.kill|out of memory|killed|cancelled).*)$", re.I
)
_LAST_LINES = 30  # of a log, which may tell why the run ended
_PROGRESS = ("update", "planned_updates", "updates_per_second", "target_tokens_per_second")  # in progress.json
_ASKED_TO_STOP = re.compile(r"was asked to stop and was saved after update (\d+)")


@dataclass(frozen=True)
class CellStatus:
    """State of one training run.

    Attributes:
        name: The run.
        state: One of :data:`STATES`.
        reason: The host, the SLURM state or the error that explains the state.
        update: The number of finished updates; None before the run has begun.
        planned: The number of planned updates; None if unknown.
        tokens_per_second: Target tokens per second, of running and finished runs.
        seconds: The duration of a finished run.
        seconds_left: The predicted remaining time of a running run.
        scored: The number of scored test sets of a finished run.
        job: The SLURM job that trains the run.
        log: The log file, if it has content: of the training, or of the evaluation that failed.
        log_tail: The last lines of the log.
    """

    name: CellName
    state: State
    reason: str = ""
    update: int | None = None
    planned: int | None = None
    tokens_per_second: float | None = None
    seconds: float | None = None
    seconds_left: float | None = None
    scored: int = 0
    job: Job | None = None
    log: Path | None = None
    log_tail: list[str] = field(default_factory=list)

    @property
    def evaluation_failed(self) -> bool:
        """Whether the run is trained, but its evaluation ended with an error."""
        return self.state == "done" and bool(self.reason)


def check_results(results: Path) -> None:
    """Check that a folder is not the one that contains the folder of all results.

    Args:
        results: The folder of all results. Before anything has been trained, it contains no models.

    Raises:
        WordorderError: It has no models, but its folder ``results`` has.
    """
    if not (results / "models").is_dir() and (results / "results" / "models").is_dir():
        raise WordorderError(
            f"{results} does not have a folder 'models', but {results / 'results'} has one. Name the folder of all "
            f"results: --results {results / 'results'}.",
            code="wrong-folder",
            path=results,
            key="--results",
            suggestion=str(results / "results"),
        )


def cell_log(folder: Path) -> Path:
    """Return the log of a training run; the workflow writes logs next to ``results``."""
    results = folder.parents[5]  # results/models/DATASET/ENCODING/SIZE/DIGEST/SEED
    return results.parent.joinpath("logs", "train_model", *folder.parts[-5:-1], f"{folder.name}.log")


def _evaluation_log(scores: Path) -> Path:
    """Return the log of the evaluation that writes a file of scores."""
    folder = scores.parent  # results/models/DATASET/ENCODING/SIZE/DIGEST/SEED/DECODING/EVALUATION
    return folder.parents[7].parent.joinpath("logs", "evaluate_model", *folder.parts[-7:-1], f"{folder.name}.log")


def look(cell: CellName, files: CellFiles, tests: Iterable[str], job: Job | None, *, log_lines: int = 3) -> CellStatus:
    """Determine the state of a training run.

    Args:
        cell: The run.
        files: The files of its model.
        tests: The test sets of the study, with their decodings.
        job: The SLURM job that trains the run, if there is one.
        log_lines: The number of lines of the log to keep.

    Returns:
        The state of the run.

    Raises:
        WordorderError: The run record is not readable.
    """
    folder = files.folder
    state, log = folder / "state", cell_log(folder)
    tail = _tail(log, log_lines)
    shared: dict[str, Any] = {"name": cell, "job": job, "log": log if tail else None, "log_tail": tail}
    progress = _progress(state)
    if training := holder(state / "lock"):
        return CellStatus(state="running", reason=_where(training), **shared, **progress)
    record = _record(folder, state)
    if record is not None:
        shared |= {"seconds": record.get("seconds"), "tokens_per_second": record.get("target_tokens_per_second")}
        shared |= {"update": record.get("updates"), "planned": record.get("updates")}
        if record.get("status") == "diverged":  # The files of its scores contain none.
            return CellStatus(state="failed", reason=f"diverged: no finite loss, update {record['updates']}", **shared)
        return CellStatus(state="done", **shared | _scoring([files.scores(test) for test in tests], log_lines))
    progress.pop("seconds_left", None)
    progress.pop("tokens_per_second", None)
    if job is not None:
        return CellStatus(state="queued", reason=job.reason, **shared, **progress)
    words = _last_words(log, saved=(state / "last.pt").exists())
    if words is None:
        return CellStatus(state="queued", **shared)
    return CellStatus(state=words[0], reason=words[1], **shared, **progress)


def _scoring(files: list[Path], log_lines: int) -> dict[str, Any]:
    """Return the number of files of scores that exist and, if the evaluation of another failed, its error and log."""
    missing = [file for file in files if not file.exists()]
    found: dict[str, Any] = {"scored": len(files) - len(missing)}
    for log in dict.fromkeys(map(_evaluation_log, missing)):
        if errors := _errors(_tail(log, _LAST_LINES)):
            return found | {"reason": f"not scored: {errors[-1]}", "log": log, "log_tail": _tail(log, log_lines)}
    return found


def _errors(lines: Iterable[str]) -> list[str]:
    return [line.removeprefix("wordorder: error: ") for line in lines if _ERROR.match(line)]


def _last_words(log: Path, *, saved: bool) -> tuple[State, str] | None:
    """Return whether an inactive run was stopped or failed, and the reason; None if it has not begun."""
    tail = _tail(log, _LAST_LINES)
    errors = _errors(tail)
    if any(_ASKED_TO_STOP.search(line) for line in tail):
        return "stopped", "asked to stop; the next run of the workflow resumes it"
    if errors:
        return "failed", errors[-1]
    if saved:
        return "stopped", "ended without a message (killed?); the next run resumes it from its last save"
    if tail:
        return "failed", "ended before its first save without a message: killed, or out of memory or time"
    return None


def _where(training: Holder) -> str:
    return f"on {training.host}" + (f", job {training.job}" if training.job else "")


def _record(folder: Path, state: Path) -> dict[str, Any] | None:
    """Read the record of a finished run; Snakemake may have deleted the output, but never deletes the state."""
    for file in (folder / "record.json", state / "finished" / "record.json"):
        if file.exists():
            return read_object(file, "status")
    return None


def _progress(state: Path) -> dict[str, Any]:
    """Return the known fields of :class:`CellStatus` that describe progress."""
    try:
        reported = read_object(state / "progress.json", *_PROGRESS)
    except WordorderError:  # The file does not exist yet, is damaged, or an older version wrote it.
        return _progress_of_metrics(state / "metrics.jsonl")
    update, planned, speed, tokens_per_second = (reported[key] for key in _PROGRESS)
    return {
        "update": update,
        "planned": planned,
        "tokens_per_second": tokens_per_second,
        "seconds_left": (planned - update) / speed if planned and speed else None,
    }


def _progress_of_metrics(metrics: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in _tail(metrics, 3):
        try:
            row = json.loads(line)
        except ValueError:  # The run is still writing this line.
            continue
        if first_missing(row, ["update"]):  # not written by a training
            continue
        found["update"] = row["update"]
        found["tokens_per_second"] = row.get("tokens_per_second", found.get("tokens_per_second"))
    return found


def _tail(file: Path, lines: int) -> list[str]:
    """Return the last non-blank lines of a file, which may be large or missing."""
    try:
        with file.open("rb") as opened:
            opened.seek(max(0, file.stat().st_size - (1 << 16)))
            text = opened.read().decode("utf-8", errors="replace")
    except OSError:
        return []
    # A progress bar overwrites its own line after each carriage return.
    return list(deque((line.rpartition("\r")[2].rstrip() for line in text.split("\n") if line.strip()), maxlen=lines))
