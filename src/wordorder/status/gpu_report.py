"""GPU figures of papers that need no trained model: memory of training runs, time of forward passes, and speed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from tabulate import tabulate

from wordorder.analyses.forward_time import ForwardTime
from wordorder.config.load import load_encodings, load_published_scores, load_sizes
from wordorder.config.models import Analysed, Cell, Study
from wordorder.config.published_scores import MEMORY
from wordorder.drawing.style import save, styled
from wordorder.files import write_json, write_text
from wordorder.model.checkpoint import build_model
from wordorder.results.measured import joint_measure_path
from wordorder.status.data_size import vocabulary_size
from wordorder.status.probes import GB, probes_text
from wordorder.training import device
from wordorder.training.record import environment
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.study_slices import analysis_slice

_OURS = (
    "'ours' is the largest amount that PyTorch reserved. Each micro-batch was a separate pass, unless "
    "WORDORDER_PASS_TOKENS joined them."
)


def write_gpu_report(
    study: Study, configuration: Configuration, results: Path, output: Path, probes: Sequence[dict[str, Any]]
) -> Path:
    """Measure forward passes of a study's models with random weights, and write tables and a figure.

    Args:
        study: The study.
        configuration: The configuration folder.
        results: The folder of all results, which has the vocabulary sizes of prepared data.
        output: The folder to write to.
        probes: The probes of the study and its companions, measured on the same device.

    Returns:
        The file of the report.
    """
    used = environment()
    hardware = (used["hardware"]["gpus"] or [used["hardware"]["processor"]])[0]
    versions = f"PyTorch {used['packages']['torch']}, wordorder {used['packages']['wordorder']}"
    parts = [f"# {study.title}: {hardware}", f"{versions}, commit {used['git_commit']}, {used['finished']}."]
    parts += ["## Training runs", f"```\n{probes_text(probes)}\n```"]
    memory = memory_frame(study, configuration, probes)
    if not memory.empty:
        write_text(output / "memory.csv", memory.to_csv(index=False, lineterminator="\n"))
        shown = tabulate(memory, "keys", "pipe", showindex=False, floatfmt=".1f", missingval="not measured")
        parts += ["## GPU memory of training runs, GB", shown, _OURS]
    if ForwardTime.name in study.analyses:
        write_json(output / "environment.json", used)
        _forward_time(study, configuration, results, output)
        parts += ["## Time of forward passes", f"![]({ForwardTime.name}.svg)", "The weights are random."]
    report = output / "report.md"
    write_text(report, "\n\n".join(parts) + "\n")
    return report


def memory_frame(study: Study, configuration: Configuration, probes: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Compare the printed amounts of GPU memory with measured ones.

    Args:
        study: The study, which names published tables.
        configuration: The configuration folder.
        probes: The probes of the study and its companions.

    Returns:
        One row per printed amount: table, system, encoding, column, printed GB and measured GB ('ours').
    """
    found = {
        (probe["dataset"], probe["size"], name): entry.get("gpu_bytes")
        for probe in probes
        for name, entry in probe["encodings"].items()
    }
    tables = {table.name: table for table in load_published_scores(configuration.root)}
    rows = []
    for shown in study.published:
        table = tables[shown.table]
        for index, column in enumerate(table.columns):
            for row in table.rows if column.metric == MEMORY else ():
                size = shown.sizes.get(row.size, row.size)
                ours = found.get((shown.place(column)[0], size, row.encoding))
                rows.append(
                    {
                        "table": f"{table.paper}, {table.table}",
                        "system": row.row,
                        "encoding": row.encoding,
                        "column": column.column,
                        "printed": row.score(index),
                        "ours": ours / GB if ours else None,
                    }
                )
    return pd.DataFrame(rows)


def _forward_time(study: Study, configuration: Configuration, results: Path, output: Path) -> None:
    """Measure and draw the time of forward passes of untrained models."""
    device.prepare()
    analysis = study.analyses[ForwardTime.name]
    encodings, sizes = load_encodings(configuration.root, study.encodings), load_sizes(configuration.root, study.sizes)
    where = device.of_finished_models()
    for dataset in study.datasets:
        vocabulary = vocabulary_size(dataset, configuration, results)
        for size in study.sizes:
            cells = {
                name: Cell(encoding=encodings[name], size=sizes[size], recipe=study.recipe_of(dataset), seed=1)
                for name in study.encodings_of(size)
            }
            models = {name: build_model(cell, vocabulary).to(where).eval() for name, cell in cells.items()}
            write_json(joint_measure_path(output, ForwardTime.name, dataset, size), analysis.measure(models))
            del models
            if where.type == "cuda":
                torch.cuda.empty_cache()
    asked = Analysed.model_validate(json.loads(analysis_slice(study, configuration, ForwardTime.name)))
    frame = analysis.frame(asked, output, results / "data")
    save(styled(analysis.draw)(frame, asked), output / ForwardTime.name, frame)
