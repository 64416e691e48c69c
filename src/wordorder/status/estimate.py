"""Cost estimate of a study before it runs: number of training runs, hours and disk space.

Speeds come from finished training runs or from a probe (:mod:`wordorder.status.probes`). Without either, they are shown
as estimates: those of runs on other hardware whose bundle is in ``results/reference``, or else computed from the
operations per token and the peak speed of the hardware.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Any

from wordorder.config.datasets import Dataset
from wordorder.config.load import load_encodings, load_sizes
from wordorder.config.models import Recipe, Study
from wordorder.files import read_json, read_object
from wordorder.results.bundle import ORIGIN, RECORDS, read_training_records
from wordorder.status.data_size import PAIR_BYTES, prepared_bytes, vocabulary_size
from wordorder.status.hardware import ASSUMED_CORE, ASSUMED_GPU, ASSUMED_UTILISATION, demand_peak
from wordorder.status.probes import load_probes, speeds_of
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.models import cell_files
from wordorder.workflow.resources import Row, TrainingTable
from wordorder.workflow.study import cells

# Assumed target subwords per pair while the data are not prepared.
PAIR_TOKENS = 30
# Bytes per parameter of a model, and of a saved state, which includes Adam's two moments.
_MODEL_BYTES, _STATE_BYTES = 4, 12


@dataclass(frozen=True)
class Speed:
    """Target tokens per second of the training runs of one size and precision.

    Attributes:
        tokens_per_second: The median over runs or encodings.
        device: 'cuda' or 'cpu'.
        basis: The source of the speed, in words.
        estimated: Whether the speed is an estimate rather than a measurement.
        encodings: The speeds of single encodings, as far as they are known.
    """

    tokens_per_second: float
    device: str
    basis: str
    estimated: bool = False
    encodings: Mapping[str, float] = field(default_factory=dict)

    def of(self, encoding: str) -> float:
        """Return the target tokens per second of an encoding, or the median if its own speed is unknown."""
        return self.encodings.get(encoding, self.tokens_per_second)

    def __str__(self) -> str:
        return f"{self.tokens_per_second:,.0f} tokens/s ({self.device}, {self.basis})"


@dataclass(frozen=True)
class Part:
    """The training runs of a study with one dataset and one size.

    Attributes:
        dataset: The dataset.
        size: The size.
        left: The number of runs that are not trained yet, by encoding.
        cells: The number of runs.
        diverged: The number of finished runs that diverged, which are not trained again.
        parameters: The number of parameters of the largest model.
        tokens: The target tokens of one run; None if nothing is known about the corpus.
        prepared: Whether the tokens of the corpus are counted rather than guessed.
        speed: The speed of the runs.
        average: The number of averaged checkpoints.
        row: The resources that a run requests from a cluster; None without a profile.
    """

    dataset: str
    size: str
    left: Mapping[str, int]
    cells: int
    diverged: int
    parameters: int
    tokens: float | None
    prepared: bool
    speed: Speed
    average: int
    row: Row | None = None

    @property
    def done(self) -> int:
        """The number of finished runs, with those that diverged."""
        return self.cells - sum(self.left.values())

    def hours_of(self, encoding: str) -> float | None:
        """Return the hours of one run on one device; None if the number of tokens is unknown."""
        return None if self.tokens is None else self.tokens / self.speed.of(encoding) / 3600

    @property
    def estimated(self) -> bool:
        """Whether the speed is an estimate rather than a measurement."""
        return self.speed.estimated

    @property
    def hours_each(self) -> float | None:
        """Hours of one run, the mean over the encodings; None if unknown."""
        return None if self.tokens is None else fmean(self.hours_of(name) or 0.0 for name in self.left)

    @property
    def hours(self) -> float | None:
        """Hours of all remaining runs, one after another on one device; None if unknown."""
        if self.done == self.cells:
            return 0.0
        return None if self.tokens is None else sum(n * (self.hours_of(name) or 0.0) for name, n in self.left.items())

    @property
    def devices(self) -> float:
        """The number of GPUs of a run; 1 on CPUs."""
        return max(1.0, self.row.nodes * self.row.gpus) if self.row and self.speed.device == "cuda" else 1.0

    @property
    def longest(self) -> float | None:
        """Hours of the longest remaining run on all its devices; None if unknown."""
        hours = [self.hours_of(name) for name, left in self.left.items() if left]
        return None if self.tokens is None else max((own or 0.0 for own in hours), default=0.0) / self.devices

    @property
    def model_bytes(self) -> int:
        """Bytes of all models."""
        return self.cells * self.parameters * _MODEL_BYTES

    @property
    def state_bytes(self) -> int:
        """Bytes that one active run keeps on the disk in addition to its model."""
        return self.parameters * (_STATE_BYTES + self.average * _MODEL_BYTES)


def estimate(
    study: Study,
    configuration: Configuration,
    results: Path,
    *,
    hardware: str | None = None,
    utilisation: float = ASSUMED_UTILISATION,
    table: TrainingTable | None = None,
) -> list[Part]:
    """Estimate the cost of a study.

    Args:
        study: The study.
        configuration: The configuration folder.
        results: The folder of all results.
        hardware: Words from the name of the hardware whose speeds are used; by default the fastest hardware.
        utilisation: The fraction of a GPU's peak speed to assume if nothing was measured.
        table: The resources that training runs request from a cluster.

    Returns:
        One part per dataset and size, in the order of the study.

    Raises:
        WordorderError: Nothing was measured and the peak speed of the hardware is unknown.
    """
    # Only models that are built here need PyTorch; 'wordorder status' and 'wordorder models' start without it.
    from wordorder.model.checkpoint import count_parameters
    from wordorder.model.counts import sketched
    from wordorder.training.usage import operations_per_token

    root, files = configuration.root, cell_files(study, configuration, results)
    sizes, encodings = load_sizes(root, study.sizes), load_encodings(root, study.encodings)
    parts = []
    for dataset in study.datasets:
        meta = results / "data" / dataset / "binary" / "train" / "meta.json"
        corpus: dict[str, Any] | None = read_json(meta) if meta.exists() else None
        described, recipe = configuration.dataset(dataset), study.recipe_of(dataset)
        measured = speeds(results, recipe.precision, hardware)
        vocabulary = vocabulary_size(dataset, configuration, results)
        ratio = _ratio(corpus)
        for size in study.sizes:
            own = [cell for cell in cells(study) if (cell.dataset, cell.size) == (dataset, size)]
            names = study.encodings_of(size)
            left = dict.fromkeys(names, 0)
            for cell in own:
                left[cell.encoding] += not files[cell].record.exists()
            records = [read_object(files[cell].record) for cell in own if files[cell].record.exists()]
            models = {name: sketched(encodings[name], sizes[size], recipe, vocabulary) for name in names}
            row = table.row(dataset, size) if table else None
            found = _fastest([measured.get(size), *_probed(results, dataset, size, recipe.precision, hardware)])
            if found is None:
                found = _bundled(results, (dataset, size, recipe.precision), row, hardware)
            if found is None:
                operations = {name: operations_per_token(model, ratio) for name, model in models.items()}
                found = _assumed(operations, recipe.precision, row, hardware, utilisation)
            # With the end of each sentence, as trainings count them.
            tokens = corpus["target_tokens"] + corpus.get("pairs", 0) if corpus else _guessed_tokens(described)
            parts.append(
                Part(
                    dataset=dataset,
                    size=size,
                    left=left,
                    cells=len(own),
                    diverged=sum(record.get("status") == "diverged" for record in records),
                    parameters=max(count_parameters(model)["total"] for model in models.values()),
                    tokens=planned_tokens(recipe, tokens),
                    prepared=corpus is not None or recipe.max_epochs is None,
                    speed=found,
                    average=recipe.average,
                    row=row,
                )
            )
    return parts


def _ratio(corpus: dict[str, Any] | None) -> float:
    """Return the number of source tokens per target token."""
    if corpus is None or "source_tokens" not in corpus or "pairs" not in corpus:
        return 1.0
    return float((corpus["source_tokens"] + corpus["pairs"]) / (corpus["target_tokens"] + corpus["pairs"]))


def _guessed_tokens(dataset: Dataset) -> float | None:
    size = prepared_bytes(dataset)
    return None if size is None else size / PAIR_BYTES * PAIR_TOKENS


def _probed(results: Path, dataset: str, size: str, precision: str, hardware: str | None) -> Iterator[Speed]:
    for probe in load_probes(results, dataset, size, precision):
        own = speeds_of(probe)
        if own and _matches(hardware, probe["hardware"]):
            yield Speed(median(own.values()), probe["device"], f"probe on {probe['hardware']}", encodings=own)


def _machine(record: Mapping[str, Any]) -> str:
    """Return the name of the hardware of a training record."""
    own = record.get("hardware", {})
    return " ".join(own.get("gpus") or [own.get("processor", "")])


def _speed_of_one(record: Mapping[str, Any]) -> float | None:
    """Return the target tokens per second of one device: a record has those of all GPUs of its run."""
    speed: float | None = record.get("target_tokens_per_second")
    return speed and speed / (record.get("processes", 1) if record.get("device") == "cuda" else 1)


def _matches(hardware: str | None, name: str) -> bool:
    return hardware is None or all(word in name.casefold() for word in hardware.casefold().split())


def _fastest(found: Iterable[Speed | None]) -> Speed | None:
    """Return the speed of the fastest kind of device; finished runs, which come first, take precedence over probes."""
    by_device: dict[str, Speed] = {}
    for speed in found:
        if speed is None:
            continue
        known = by_device.setdefault(speed.device, speed)
        if known.encodings and speed.tokens_per_second > known.tokens_per_second:
            by_device[speed.device] = speed
    return max(by_device.values(), key=lambda speed: speed.tokens_per_second, default=None)


def _uses_gpu(row: Row | None, hardware: str | None) -> bool:
    """Return whether a run is assumed to use a GPU: if it requests one, is on named hardware, or finds one here."""
    if row is not None:
        return row.gpus > 0
    import torch

    return hardware is not None or torch.cuda.is_available()


def _bundled(results: Path, wanted: tuple[str, str, str], row: Row | None, hardware: str | None) -> Speed | None:
    """Return the speeds of the training runs in bundles.

    Args:
        results: The folder of all results.
        wanted: The dataset, the size and the precision.
        row: The resources of a run.
        hardware: Words from the name of the hardware; by default all hardware of the kind of device of a run.

    Returns:
        The speeds of the encodings; None without such a run.
    """
    device = "cuda" if _uses_gpu(row, hardware) else "cpu"
    found: dict[str, list[float]] = {}
    machines = set()
    for path in sorted((results / "reference").glob(f"*/{RECORDS}")):
        for (dataset, size, encoding, _), record in read_training_records(path.parent).items():
            machine, speed = _machine(record), _speed_of_one(record)
            fits = (dataset, size, record.get("precision")) == wanted and record.get("device") == device
            if speed and fits and _matches(hardware, machine):
                found.setdefault(encoding, []).append(speed)
                machines.add(machine or "unknown hardware")
    if not found:
        return None
    own = {name: median(values) for name, values in found.items()}
    basis = f"from bundles, on {' and '.join(sorted(machines))}"
    return Speed(median(own.values()), device, basis, estimated=True, encodings=own)


def _assumed(
    operations: Mapping[str, int], precision: str, row: Row | None, hardware: str | None, utilisation: float
) -> Speed:
    """Estimate speeds from the operations per token and the peak speed of the hardware."""
    if hardware is None and not _uses_gpu(row, hardware):
        rate, device = ASSUMED_CORE, "cpu"  # A training has one thread.
        basis = f"estimated at {ASSUMED_CORE / 1e9:g} GFLOP/s of one core"
    else:
        gpu = hardware or ASSUMED_GPU
        most = demand_peak(gpu, precision)
        rate, device = utilisation * most, "cuda"
        basis = f"estimated at {utilisation:.0%} of the {most / 1e12:,.0f} TFLOP/s of {gpu}"
    own = {name: rate / each for name, each in operations.items()}
    return Speed(median(own.values()), device, basis, estimated=True, encodings=own)


def planned_tokens(recipe: Recipe, corpus_tokens: float | None) -> float | None:
    """Return the most target tokens of a run without early stopping; None if unknown.

    It is an upper bound, because batches contain padding too.

    Args:
        recipe: The recipe of the run.
        corpus_tokens: Target tokens of the training set; None if unknown.
    """
    limits = []
    if recipe.max_updates is not None:
        limits.append(float(recipe.max_updates * recipe.batch_tokens * recipe.accumulate))
    if recipe.max_epochs is not None and corpus_tokens is not None:
        limits.append(float(recipe.max_epochs * corpus_tokens))
    return min(limits) if limits else None


def speeds(results: Path, precision: str, hardware: str | None = None) -> dict[str, Speed]:
    """Return the speeds of finished training runs.

    Args:
        results: The folder of all results.
        precision: The precision of the runs.
        hardware: Words from the name of the hardware to consider, also that of imported models; by default all
            hardware on which models in ``results`` were trained.

    Returns:
        The median speed of one device by size. If several kinds of device trained a size, that of the fastest kind.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for path in sorted(results.glob("models/*/*/*/*/*/record.json")):
        record = read_object(path, "precision")
        speed = _speed_of_one(record)
        if record.get("precision") != precision or not speed or (hardware is None and ORIGIN in record):
            continue
        if _matches(hardware, _machine(record)):
            of_size = found.setdefault(path.parents[2].name, {})
            of_size.setdefault(record["device"], []).append(speed)
    return {
        size: max(
            (Speed(median(values), device, f"{len(values)} measured") for device, values in devices.items()),
            key=lambda speed: speed.tokens_per_second,
        )
        for size, devices in found.items()
    }
