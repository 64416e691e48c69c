"""What a study will cost before it is run: trainings, hours and disk.

Speeds are those of finished trainings or of a probe (:mod:`wordorder.status.probes`). Without either they are estimated
from the operations of a token and what the hardware may do, and are shown as estimates.
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
from wordorder.model.checkpoint import count_parameters
from wordorder.model.counts import sketched
from wordorder.status.data_size import PAIR_BYTES, prepared_bytes
from wordorder.status.hardware import ASSUMED_CORE, ASSUMED_GPU, ASSUMED_UTILISATION, demand_peak
from wordorder.status.probes import load_probes, speeds_of
from wordorder.training.usage import operations_per_token
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.models import cell_files
from wordorder.workflow.resources import Row, TrainingTable
from wordorder.workflow.study import cells

# Target subwords of a pair, where the data are not prepared.
PAIR_TOKENS = 30
# Bytes of a weight: of a model; and of a saved state, with Adam's two moments.
_MODEL_BYTES, _STATE_BYTES = 4, 12


@dataclass(frozen=True)
class Speed:
    """Target tokens per second of the trainings of one size and precision.

    Attributes:
        tokens_per_second: The median over trainings or encodings.
        device: 'cuda' or 'cpu'.
        basis: Where the speed comes from.
        estimated: Whether nothing was measured.
        encodings: The speeds of single encodings, where they are known.
    """

    tokens_per_second: float
    device: str
    basis: str
    estimated: bool = False
    encodings: Mapping[str, float] = field(default_factory=dict)

    def of(self, encoding: str) -> float:
        return self.encodings.get(encoding, self.tokens_per_second)

    def __str__(self) -> str:
        return f"{self.tokens_per_second:,.0f} tokens/s ({self.device}, {self.basis})"


@dataclass(frozen=True)
class Part:
    """The cells of a study with one dataset and one size.

    Attributes:
        dataset: The dataset.
        size: The size.
        left: The cells that are not trained, by encoding.
        cells: The number of cells.
        parameters: Those of the largest model.
        tokens: The target tokens of a training; None where nothing is known of the corpus.
        prepared: Whether the tokens of the corpus are counted, not guessed.
        speed: The speed of its trainings.
        average: The number of checkpoints that are averaged.
        row: What a training requests of a cluster; None without a profile.
    """

    dataset: str
    size: str
    left: Mapping[str, int]
    cells: int
    parameters: int
    tokens: float | None
    prepared: bool
    speed: Speed
    average: int
    row: Row | None = None

    @property
    def done(self) -> int:
        return self.cells - sum(self.left.values())

    def hours_of(self, encoding: str) -> float | None:
        """Hours of one training on one device."""
        return None if self.tokens is None else self.tokens / self.speed.of(encoding) / 3600

    @property
    def estimated(self) -> bool:
        return self.speed.estimated

    @property
    def hours_each(self) -> float | None:
        """Hours of one training, the mean over the encodings."""
        return None if self.tokens is None else fmean(self.hours_of(name) or 0.0 for name in self.left)

    @property
    def hours(self) -> float | None:
        """Of all the trainings that are left, one after another on one device."""
        if self.done == self.cells:
            return 0.0
        return None if self.tokens is None else sum(n * (self.hours_of(name) or 0.0) for name, n in self.left.items())

    @property
    def devices(self) -> float:
        """GPUs that a training has."""
        return max(1.0, self.row.nodes * self.row.gpus) if self.row and self.speed.device == "cuda" else 1.0

    @property
    def longest(self) -> float | None:
        """Hours of the longest training that is left, on all its devices."""
        hours = [self.hours_of(name) for name, left in self.left.items() if left]
        return None if self.tokens is None else max((own or 0.0 for own in hours), default=0.0) / self.devices

    @property
    def model_bytes(self) -> int:
        return self.cells * self.parameters * _MODEL_BYTES

    @property
    def state_bytes(self) -> int:
        """What one running training has on the disk beside its model."""
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
    """Return the parts of a study, in its order.

    Args:
        study: The study.
        configuration: The configuration folder.
        results: The folder of all results.
        hardware: Words in the name of the hardware whose speeds count; the fastest if missing.
        utilisation: The share of a GPU's peak to assume where nothing was measured.
        table: What trainings request of a cluster.
    """
    root, files = configuration.root, cell_files(study, configuration, results)
    sizes, encodings = load_sizes(root), load_encodings(root, study.encodings)
    parts = []
    for dataset in study.datasets:
        meta = results / "data" / dataset / "binary" / "train" / "meta.json"
        corpus: dict[str, Any] | None = read_json(meta) if meta.exists() else None
        described, recipe = configuration.dataset(dataset), study.recipe_of(dataset)
        measured = speeds(results, recipe.precision, hardware)
        vocabulary = corpus["vocabulary_size"] if corpus else described.preprocessing.vocabulary
        ratio = _ratio(corpus)
        for size in study.sizes:
            own = [cell for cell in cells(study) if (cell.dataset, cell.size) == (dataset, size)]
            names = study.encodings_of(size)
            left = dict.fromkeys(names, 0)
            for cell in own:
                left[cell.encoding] += not files[cell].record.exists()
            models = {name: sketched(encodings[name], sizes[size], recipe, vocabulary) for name in names}
            row = table.row(dataset, size) if table else None
            found = _fastest([measured.get(size), *_probed(results, dataset, size, recipe.precision, hardware)])
            if found is None:
                operations = {name: operations_per_token(model, ratio) for name, model in models.items()}
                found = _assumed(operations, recipe.precision, row, hardware, utilisation)
            tokens = corpus["target_tokens"] if corpus else _guessed_tokens(described)
            parts.append(
                Part(
                    dataset=dataset,
                    size=size,
                    left=left,
                    cells=len(own),
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
    """Return source tokens for each target token."""
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


def _matches(hardware: str | None, name: str) -> bool:
    return hardware is None or all(word in name.casefold() for word in hardware.casefold().split())


def _fastest(found: Iterable[Speed | None]) -> Speed | None:
    """Return the speed of the fastest kind of device; of one kind, that of finished trainings, which come first."""
    by_device: dict[str, Speed] = {}
    for speed in found:
        if speed is None:
            continue
        known = by_device.setdefault(speed.device, speed)
        if known.encodings and speed.tokens_per_second > known.tokens_per_second:
            by_device[speed.device] = speed
    return max(by_device.values(), key=lambda speed: speed.tokens_per_second, default=None)


def _assumed(
    operations: Mapping[str, int], precision: str, row: Row | None, hardware: str | None, utilisation: float
) -> Speed:
    """Estimate speeds from operations per token, and from what the hardware may do."""
    if row is not None and row.gpus == 0 and hardware is None:
        rate, device = row.cpus * ASSUMED_CORE, "cpu"
        basis = f"estimated at {ASSUMED_CORE / 1e9:g} GFLOP/s per core"
    else:
        gpu = hardware or ASSUMED_GPU
        most = demand_peak(gpu, precision)
        rate, device = utilisation * most, "cuda"
        basis = f"estimated at {utilisation:.0%} of the {most / 1e12:,.0f} TFLOP/s of {gpu}"
    own = {name: rate / each for name, each in operations.items()}
    return Speed(median(own.values()), device, basis, estimated=True, encodings=own)


def planned_tokens(recipe: Recipe, corpus_tokens: float | None) -> float | None:
    """Target tokens of a training that is not stopped early: at most so many, as batches hold padding too."""
    limits = []
    if recipe.max_updates is not None:
        limits.append(float(recipe.max_updates * recipe.batch_tokens * recipe.accumulate))
    if recipe.max_epochs is not None and corpus_tokens is not None:
        limits.append(float(recipe.max_epochs * corpus_tokens))
    return min(limits) if limits else None


def speeds(results: Path, precision: str, hardware: str | None = None) -> dict[str, Speed]:
    """Return the speeds of finished trainings.

    Args:
        results: The folder of all results.
        precision: The precision of the trainings.
        hardware: Words in the name of the hardware that counts; all of it if missing.

    Returns:
        By the name of a size, the median; where several kinds of device trained it, that of the fastest.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for path in sorted(results.glob("models/*/*/*/*/*/record.json")):
        record = read_object(path, "precision")
        if record.get("precision") != precision or not record.get("target_tokens_per_second"):
            continue
        own = record.get("hardware", {})
        name = " ".join(own.get("gpus") or [own.get("processor", "")])
        if _matches(hardware, name):
            of_size = found.setdefault(path.parents[2].name, {})
            of_size.setdefault(record["device"], []).append(record["target_tokens_per_second"])
    return {
        size: max(
            (Speed(median(values), device, f"{len(values)} measured") for device, values in devices.items()),
            key=lambda speed: speed.tokens_per_second,
        )
        for size, devices in found.items()
    }
