"""The outputs of a study as data frames; unfinished cells have rows, too."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from wordorder.config.models import Report
from wordorder.errors import WordorderError
from wordorder.files import demand, read_text
from wordorder.metrics.base import SystemsMetric, metric
from wordorder.results.index import CellFiles, read_index
from wordorder.results.typed import Record, Scores, Significance, SystemScores, read_typed

CELL = ["dataset", "size", "encoding", "seed"]

# Values of a training record that the parameters table uses.
_COPIED = (
    "updates",
    "best_update",
    "epochs",
    "best_valid_perplexity",
    "target_tokens_per_second",
    "seconds",
    "precision",
    "device",
)

_SYSTEMS = ("status", "signature", "systems")
_SIGNIFICANCE = ("size", "test", "cells", "metrics", "not_scored")


def cell_folders(report: Report, results: str | Path) -> Iterator[tuple[dict[str, Any], CellFiles]]:
    """Yield each cell of the report, in its order: dataset, size, encoding and seed, and the cell's files."""
    index = read_index(results)
    for dataset in report.datasets:
        for size in report.sizes:
            for encoding in report.encodings_of(size):
                for seed in report.seeds:
                    cell = {"dataset": dataset.name, "size": size, "encoding": encoding, "seed": seed}
                    yield cell, index.cell(dataset.name, size, encoding, seed)


def groups(frame: pd.DataFrame, keys: list[str]) -> Iterator[tuple[Any, pd.DataFrame]]:
    """Split the frame by ``keys``, as ((value of each key), rows), in the order of their first rows."""
    yield from frame.groupby(keys, sort=False)


def load_scores(report: Report, results: str | Path) -> pd.DataFrame:
    """Return one row per cell, test and metric: CELL, test, metric, score (NaN without one), status and signature.

    The status of a metric with a separate environment may also be "not scored".
    """
    rows: list[dict[str, Any]] = []
    own = set(systems_metrics(report))
    by_system: dict[Path, dict[str, Any]] = {}
    for cell, files in cell_folders(report, results):
        for test in report.tests[cell["dataset"]]:
            path = files.scores(test)
            scored: dict[str, Any] = {"status": "missing", "metrics": {}}
            if path.is_file():
                scored = read_typed(path, Scores, "status", "metrics", "hypotheses.sha256")
            status = scored["status"]
            if status == "no hypotheses":
                status = reason(files, status)
            for name in report.metrics:
                row = cell | {"test": test, "metric": name}
                if name in own:
                    file = systems_path(results, name, cell["dataset"], cell["size"], test)
                    if file not in by_system:
                        by_system[file] = read_typed(file, SystemScores, *_SYSTEMS)
                    digest = scored.get("hypotheses", {}).get("sha256")
                    rows.append(row | _of_system(by_system[file], digest, status))
                    continue
                if path.is_file() and name not in scored["metrics"]:
                    raise WordorderError(
                        f"{path} has no score for the metric '{name}', which the study requests. "
                        "It was written for other metrics: delete it and score the test set again.",
                        code="missing-metric",
                        path=path,
                        key=name,
                    )
                found = scored["metrics"].get(name, {})
                rows.append(row | {"score": found.get("score"), "status": status, "signature": found.get("signature")})
    frame = pd.DataFrame(rows)
    return frame.assign(score=frame["score"].astype(float))


def systems_metrics(report: Report) -> list[str]:
    """Return the metrics of a study that score in environments of their own."""
    return [name for name in report.metrics if issubclass(metric(name), SystemsMetric)]


def systems_path(results: str | Path, metric: str, dataset: str, size: str, test: str) -> Path:
    """Return the file of scores of all systems by a metric that has a separate environment."""
    return Path(results) / "scores" / metric / f"{dataset}.{size}.{test}.json"


def significance_path(results: str | Path, dataset: str, size: str, test: str) -> Path:
    """Return the file of significance tests of the systems on one test set."""
    return Path(results) / "significance" / f"{dataset}.{size}.{test}.json"


def _of_system(scored: dict[str, Any], hypotheses: str | None, status: str) -> dict[str, Any]:
    """Return what 'wordorder stage score-systems' wrote about translations with this SHA-256, if there are any."""
    score = scored["systems"].get(hypotheses, {}).get("score")
    if score is None and status == "scored":
        status = "not scored"
    return {"score": score, "status": status, "signature": None if score is None else scored["signature"]}


def load_not_scored(report: Report, results: str | Path) -> list[dict[str, Any]]:
    """Return ``metric``, ``reason`` and ``how`` of each test set that could not be scored in a metric's environment."""
    files = [
        {"metric": name} | read_typed(systems_path(results, name, *names), SystemScores, *_SYSTEMS)
        for name in systems_metrics(report)
        for names in report.compared
    ]
    return [file for file in files if file["status"] != "scored"]


def training_status(files: CellFiles) -> str | None:
    """Return the status in the training record of a cell, e.g. "finished" or "diverged"; None without a record."""
    path = files.record
    return read_typed(path, Record, "status")["status"] if path.is_file() else None


def reason(files: CellFiles, status: str) -> str:
    """Return why a cell has no number: its training diverged, or else ``status``."""
    return "diverged" if training_status(files) == "diverged" else status


def load_records(report: Report, results: str | Path) -> pd.DataFrame:
    """Return one row per cell: CELL, status, and the numbers of its training record for the parameters table."""
    rows: list[dict[str, Any]] = []
    for cell, files in cell_folders(report, results):
        path = files.record
        record: dict[str, Any] = read_typed(path, Record, "status") if path.is_file() else {"status": "missing"}
        parameters = record.get("parameters", {})
        counts = {"parameters": parameters.get("total"), "encoding_parameters": parameters.get("encoding")}
        rows.append(
            cell
            | {"status": record.get("status")}
            | counts
            | {name: record.get(name) for name in _COPIED}
            | {"memory_bytes": _memory(record)}
        )
    return pd.DataFrame(rows)


def _memory(record: dict[str, Any]) -> int | None:
    """Return the peak memory of a training: that of the GPU if it had one, else that of the machine."""
    used = record.get("efficiency", {}).get("used", {})
    found: int | None = used.get("gpu_memory_bytes") or used.get("memory_bytes")
    return found


def load_significance(report: Report, results: str | Path) -> list[dict[str, Any]]:
    """Return each significance file of the study, in the report's order, with ``dataset`` added."""
    return [
        {"dataset": names[0]} | read_typed(significance_path(results, *names), Significance, *_SIGNIFICANCE)
        for names in report.compared
    ]


def margins_of(tested: Iterable[dict[str, Any]]) -> dict[tuple[str, str, str, str], float]:
    """Return the equivalence margins of :func:`load_significance` by dataset, size, test set and metric."""
    return {
        (file["dataset"], file["size"], file["test"], name): found["family"]["margin"]
        for file in tested
        for name, found in file["metrics"].items()
        if (found.get("family") or {}).get("margin") is not None
    }


def load_metrics(report: Report, results: str | Path) -> pd.DataFrame:
    """Return the reports of every cell with a validation: CELL, split, update, epoch, loss, perplexity, in their order.

    The split 'train' covers the batches since the previous row, with dropout; 'valid' is the whole validation set. Both
    losses are without label smoothing, in nats per target token.
    """
    columns = ["split", "update", "epoch", "loss", "perplexity"]
    frames: list[pd.DataFrame] = []
    for cell, files in cell_folders(report, results):
        path = files.metrics
        if not path.is_file():
            continue
        rows = [row | {"split": row["kind"], "loss": row.get("nll", row["loss"])} for row in _json_lines(path)]
        frames.append(pd.DataFrame(rows, columns=columns).assign(**cell))
    frames = [frame for frame in frames if (frame["split"] == "valid").any()]
    if not frames:
        raise WordorderError(
            f"No metrics.jsonl with validations was found for the study in {results}. Train its models first.",
            code="missing-file",
        )
    return pd.concat(frames, ignore_index=True)[[*CELL, *columns]]


def _json_lines(path: Path) -> list[dict[str, Any]]:
    try:
        # A diverged training writes NaN or Infinity, which Python's parser takes as such.
        rows = [json.loads(line) for line in read_text(path).splitlines()]
    except ValueError as error:
        raise WordorderError(
            f"{path} is not JSON lines: {error}. Delete it and train this model again.", code="damaged-file", path=path
        ) from error
    for row in rows or [None]:  # no training ends without a row
        demand(path, row, "kind", "update", "epoch", "loss")
    return rows
