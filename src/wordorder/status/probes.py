"""Probes: speed and memory of a study's training runs on this machine's hardware, measured in minutes and stored.

A probe belongs to a dataset, a size and a precision. It is stored in ``results/hardware/{hardware}``, and all studies
share it.
"""

from __future__ import annotations

import multiprocessing
import re
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordorder.config.load import load_encodings, load_sizes
from wordorder.config.models import Cell, Recipe, Study
from wordorder.errors import WordorderError
from wordorder.files import read_object, write_json
from wordorder.status.data_size import vocabulary_size
from wordorder.status.hardware import peak
from wordorder.status.text import text_table
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.resources import Row, TrainingTable

GB = 1e9


@dataclass(frozen=True)
class Probed:
    """The training runs that one probe measures.

    Attributes:
        dataset: The dataset.
        size: The size.
        recipe: The recipe of the first study that requests the probe.
        encodings: The encodings of all studies that request the probe; the baseline of the first study comes first.
    """

    dataset: str
    size: str
    recipe: Recipe
    encodings: tuple[str, ...]

    @property
    def file(self) -> str:
        """The name of the file of the probe."""
        return f"{self.dataset}.{self.size}.{self.recipe.precision}.json"


def to_probe(studies: Iterable[Study]) -> list[Probed]:
    """Return the probes that some studies need, each once."""
    found: dict[tuple[str, str, str], Probed] = {}
    for study in studies:
        for dataset in study.datasets:
            for size in study.sizes:
                trained = study.encodings_of(size)
                names = (*(name for name in trained if name == study.baseline), *trained)
                own = study.recipe_of(dataset)
                key = (dataset, size, own.precision)
                known = found.get(key)
                recipe, before = (known.recipe, known.encodings) if known else (own, ())
                found[key] = Probed(dataset, size, recipe, tuple(dict.fromkeys((*before, *names))))
    return list(found.values())


def run_probes(
    wanted: Sequence[Probed],
    configuration: Configuration,
    results: Path,
    *,
    minutes: float,
    threads: int = 1,
    table: TrainingTable | None = None,
    counts_only: bool = False,
) -> list[dict[str, Any]]:
    """Run probes on this machine.

    Each probe runs in its own process, so that the measured memory is that of one size.

    Args:
        wanted: The probes.
        configuration: The configuration folder.
        results: The folder of all results.
        minutes: The time for all probes together; the baseline of each is always measured.
        threads: The CPU threads.
        table: The table of training runs. Without a GPU, the sizes that it trains on GPUs are counted, not measured.
        counts_only: Count operations and measure nothing.

    Returns:
        The content of the probes' files.
    """
    found = []
    for probed in wanted:
        print(f"{probed.dataset}, {probed.size}, {probed.recipe.precision}:", file=sys.stderr, flush=True)
        row = table.row(probed.dataset, probed.size) if table else None
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            share = None if counts_only else 60 * minutes / len(wanted)
            measured = pool.submit(_probe, probed, configuration.root, results, share, threads, row).result()
        if measured["measured"]:
            _keep(probed, measured, results)
        found.append(measured)
    return found


def _probe(
    probed: Probed, root: Path, results: Path, seconds: float | None, threads: int, row: Row | None
) -> dict[str, Any]:
    """Run one probe in this process."""
    import torch

    from wordorder.training.probe import probe

    recipe = probed.recipe
    encodings, size = load_encodings(root, probed.encodings), load_sizes(root, [probed.size])[probed.size]
    cells = {name: Cell(encoding=encodings[name], size=size, recipe=recipe, seed=1) for name in probed.encodings}
    corpus = results / "data" / probed.dataset / "binary" / "train"
    needs_gpu = recipe.precision == "fp16" or (row is not None and row.gpus > 0)
    if needs_gpu and not torch.cuda.is_available():
        seconds = None
    measured = probe(
        cells,
        corpus=corpus if (corpus / "meta.json").exists() else None,
        vocabulary_size=vocabulary_size(probed.dataset, Configuration(root), results),
        seconds=seconds,
        threads=threads,
    )
    return {
        "dataset": probed.dataset,
        "size": probed.size,
        "precision": recipe.precision,
        "batch_tokens": recipe.batch_tokens,
        "accumulate": recipe.accumulate,
        **measured,
    }


def _keep(probed: Probed, measured: dict[str, Any], results: Path) -> None:
    """Write a probe and keep the encodings that only an earlier probe measured on the same hardware."""
    file = results / "hardware" / _slug(measured["hardware"]) / probed.file
    earlier = _earlier(file)
    own = {name: entry for name, entry in measured["encodings"].items() if _speed(entry) or name not in earlier}
    write_json(file, measured | {"encodings": earlier | own})


def _earlier(file: Path) -> dict[str, Any]:
    """Return the encodings of an earlier probe. A file that is no probe has none, so that the new one replaces it."""
    try:
        encodings = read_object(file, "encodings")["encodings"] if file.exists() else {}
    except WordorderError:
        return {}
    return encodings if isinstance(encodings, dict) else {}


def load_probes(results: Path, dataset: str, size: str, precision: str) -> list[dict[str, Any]]:
    """Return the probes of one dataset, size and precision, one per kind of hardware."""
    files = sorted((results / "hardware").glob(f"*/{dataset}.{size}.{precision}.json"))
    return [read_object(file, "device", "hardware", "encodings") for file in files]


def speeds_of(probe: dict[str, Any]) -> dict[str, float]:
    """Return the target tokens per second of each encoding that a probe measured."""
    return {name: speed for name, entry in probe["encodings"].items() if (speed := _speed(entry))}


def _speed(entry: dict[str, Any]) -> float | None:
    return entry.get("target_tokens_per_second")


def _slug(hardware: str) -> str:
    return re.sub(r"[^\w.-]+", "-", hardware).strip("-") or "unknown"


def probes_text(probes: Sequence[dict[str, Any]]) -> str:
    """Return a table of probes with one line per dataset, size and encoding, and notes on what was not measured."""
    rows = []
    for probe in probes:
        for name, entry in probe["encodings"].items():
            speed, most = _speed(entry), peak(probe["hardware"], probe["precision"])
            gpu_bytes = entry.get("gpu_bytes")
            rows.append(
                {
                    "dataset": probe["dataset"],
                    "size": probe["size"],
                    "encoding": name,
                    "tokens/s": f"{speed:,.0f}" if speed else entry.get("failed"),
                    "GPU GB": f"{gpu_bytes / GB:.1f}" if gpu_bytes else None,
                    "of peak": f"{speed * entry['flops_per_token'] / most:.1%}" if speed and most else None,
                    "memory GB": f"{probe['process_bytes'] / GB:.1f}" if speed else None,
                    "passes": str(entry["passes"]) if "passes" in entry else None,
                    "operations": f"{entry['operations']:,}" if "operations" in entry else None,
                    "host waits": f"{entry['host_waits']:,}" if "host_waits" in entry else None,
                }
            )
    right = rows[0].keys() - {"dataset", "size", "encoding"}
    notes = []
    if not all(probe["measured"] for probe in probes):
        notes.append("Operations and host waits are those of one update on a GPU, counted in single precision.")
    hardware = dict.fromkeys(probe["hardware"] for probe in probes if probe["measured"])
    if hardware:
        notes.append(
            f"Measured on {', '.join(hardware)}. 'memory GB' is the memory of the process that measures all encodings "
            "of a size."
        )
    if any(probe.get("data") == "simulated" for probe in probes):
        notes.append("Random sentences replaced data that are not prepared.")
    if not all(probe["measured"] for probe in probes):
        notes.append("Sizes that need a GPU were only counted. Run the probe on a machine with a GPU to measure them.")
    return "\n".join([text_table(rows, right=right), "", *notes])
