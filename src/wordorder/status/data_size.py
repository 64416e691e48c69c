"""Disk space and vocabulary of the data of studies: downloads and prepared data, which all studies share.

The size of prepared data is a rule of thumb: 800 bytes per training pair, or 8 times the downloads that contain the
training set, whichever is smaller. A pair of Europarl has 330 bytes of text, stored once as downloaded and once
cleaned, and 130 bytes of subwords. Most corpora have shorter sentences; their archives compress the text to about a
third. An archive may contain other languages too. The rule does not count validation and test sets, alignments and
reordered positions. During preparation, shards hold one more copy of the training text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wordorder.config.datasets import Dataset
from wordorder.config.load import load_dataset
from wordorder.config.models import Study
from wordorder.files import read_object
from wordorder.status.text import disk_size
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.dataset_slices import downloads
from wordorder.workflow.study import test_names

PAIR_BYTES, PACKED = 800, 8
RULE = (
    f"The size of prepared text and subwords is a guess: {PAIR_BYTES} bytes per training pair, or {PACKED} times the "
    "downloads that contain the training set, whichever is smaller."
)


@dataclass(frozen=True)
class DataSize:
    """Disk space of the data of studies.

    Attributes:
        downloads: Bytes of all downloads of known size.
        unknown_downloads: Names of the downloads of unknown size.
        prepared: Bytes of prepared data, by the rule of thumb.
        unknown_prepared: Names of the datasets to which the rule does not apply.
    """

    downloads: int
    unknown_downloads: list[str]
    prepared: int
    unknown_prepared: list[str]

    def __str__(self) -> str:
        amounts = [f"{disk_size(self.downloads)} of downloads"] if self.downloads else []
        if self.unknown_downloads:
            amounts.append(f"downloads of unknown size ({', '.join(self.unknown_downloads)})")
        if self.prepared:
            prepared = f"about {disk_size(self.prepared)} of prepared text and subwords"
            amounts.append(f"{prepared}, and half as much again during preparation")
        if self.unknown_prepared:
            amounts.append(f"prepared text and subwords of unknown size ({', '.join(self.unknown_prepared)})")
        return f"Data: {'; '.join(amounts)}. Studies with the same datasets share the data."


def data_size(studies: Iterable[Study], root: str | Path) -> DataSize:
    """Compute the disk space of the datasets of studies, whether or not the data exist already.

    Args:
        studies: The studies; each file and dataset counts once.
        root: The configuration folder.

    Returns:
        The size of downloads and prepared data.
    """
    files: dict[tuple[str, str], int | None] = {}
    datasets: dict[str, Dataset] = {}
    for study in studies:
        for name in study.datasets:
            dataset = datasets.setdefault(name, load_dataset(name, root))
            splits = [] if dataset.generator else ["train", "valid", *test_names(study, dataset)]
            for file in (file for split in splits for file in downloads(dataset, split)):
                files[dataset.folder, file] = dataset.downloads[file].bytes
    prepared = {name: prepared_bytes(dataset) for name, dataset in datasets.items()}
    return DataSize(
        downloads=sum(filter(None, files.values())),
        unknown_downloads=[file for (_, file), number in files.items() if number is None],
        prepared=sum(filter(None, prepared.values())),
        unknown_prepared=[name for name, number in prepared.items() if number is None],
    )


def vocabulary_size(dataset: str, configuration: Configuration, results: Path) -> int:
    """Return the number of subwords of a dataset: that of its prepared training set, or else the configured one."""
    meta = results / "data" / dataset / "binary" / "train" / "meta.json"
    if meta.exists():
        prepared: int = read_object(meta, "vocabulary_size")["vocabulary_size"]
        return prepared
    return configuration.dataset(dataset).preprocessing.vocabulary


def prepared_bytes(dataset: Dataset) -> int | None:
    """Estimate the bytes of a dataset's prepared training set by the rule of thumb; None if it does not apply."""
    counts = dataset.generator.train if dataset.generator else dataset.published_pairs.get("train")
    pairs = next(iter(counts.values())) if isinstance(counts, dict) else counts
    guesses = [pairs * PAIR_BYTES] if pairs else []
    packed = [] if dataset.generator else [dataset.downloads[file].bytes for file in downloads(dataset, "train")]
    if packed and None not in packed:
        guesses.append(sum(filter(None, packed)) * PACKED)
    return min(guesses, default=None)
