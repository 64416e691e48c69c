"""What the data of studies take on the disk: downloads, and what is made of them, all of which studies share.

What is made of them goes by a rule of thumb: 800 bytes a training pair, or 8 times the downloads that hold the training
set, whichever is less. A pair of Europarl has 330 bytes of text, kept as it came and cleaned, and 130 of subwords; most
corpora have shorter sentences, and are packed to about a third of their text. An archive may hold other languages too.
Validation and test sets, alignments and reordered positions are not counted. While a training set is prepared, a copy
of its text lies in shards.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wordorder.config.datasets import Dataset
from wordorder.config.load import load_dataset
from wordorder.config.models import Study
from wordorder.status.text import disk_size
from wordorder.workflow.dataset_slices import downloads
from wordorder.workflow.study import test_names

PAIR_BYTES, PACKED = 800, 8
RULE = (
    f"Prepared text and subwords are guessed: {PAIR_BYTES} bytes a training pair, or {PACKED} times the downloads that "
    "hold the training set if that is less."
)


@dataclass(frozen=True)
class DataSize:
    """Bytes of downloads and of what is made of them, and the names of the files and datasets that are not known."""

    downloads: int
    unknown_downloads: list[str]
    prepared: int
    unknown_prepared: list[str]

    def __str__(self) -> str:
        told = [f"{disk_size(self.downloads)} of downloads"] if self.downloads else []
        if self.unknown_downloads:
            told.append(f"downloads of unknown size ({', '.join(self.unknown_downloads)})")
        if self.prepared:
            prepared = f"about {disk_size(self.prepared)} of prepared text and subwords"
            told.append(f"{prepared}, half as much again while they are made")
        if self.unknown_prepared:
            told.append(f"prepared text and subwords of unknown size ({', '.join(self.unknown_prepared)})")
        return f"Data: {'; '.join(told)}. Studies of the same datasets share them."


def data_size(studies: Iterable[Study], root: str | Path) -> DataSize:
    """What the datasets of ``studies`` take, whether it is there already or not; each file and dataset counts once."""
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


def prepared_bytes(dataset: Dataset) -> int | None:
    """What is made of a dataset's training set, by the rule of thumb; None where it says nothing."""
    counts = dataset.generator.train if dataset.generator else dataset.published_pairs.get("train")
    pairs = next(iter(counts.values())) if isinstance(counts, dict) else counts
    guesses = [pairs * PAIR_BYTES] if pairs else []
    packed = [] if dataset.generator else [dataset.downloads[file].bytes for file in downloads(dataset, "train")]
    if packed and None not in packed:
        guesses.append(sum(filter(None, packed)) * PACKED)
    return min(guesses, default=None)
