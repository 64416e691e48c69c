"""Slices of a dataset: what the jobs get that download, import and prepare it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from wordorder.config.alignments import GoldImport
from wordorder.config.datasets import (
    Dataset,
    Generator,
    Import,
    Part,
    Preparation,
    PublishedPairs,
    Subword,
    TextPreprocessing,
)
from wordorder.config.load import load_gold_sets
from wordorder.errors import WordorderError
from wordorder.workflow.slices import canonical, only


def gold_slice(dataset: Dataset, name: str, root: str | Path = "config") -> str:
    """``GoldImport``: a set of gold_alignments.yaml as a split of a dataset."""
    gold = load_gold_sets(root)[name]
    return canonical(
        GoldImport(
            text=gold.text,
            members={file: entry.text_member for file, entry in gold.downloads.items() if entry.text_member},
            reverse=gold.direction(dataset.source_language, dataset.target_language) == "reverse",
            preparation=preparation(dataset),
        )
    )


def download_slice(dataset: Dataset, file: str) -> str:
    """``Download``: one key of the dataset's downloads."""
    return canonical(dataset.downloads[file])


def shared_download_slice(datasets: Iterable[Dataset], folder: str, file: str) -> str:
    """``Download``: the file of a folder of downloads, which several of ``datasets`` may share.

    Raises WordorderError where two of them mean different files by one name.
    """
    owners = [dataset for dataset in datasets if dataset.folder == folder and file in dataset.downloads]
    for other in owners[1:]:
        if other.downloads[file] != owners[0].downloads[file]:
            raise WordorderError(
                f"The datasets '{owners[0].name}' and '{other.name}' share the folder '{folder}' of downloads, but "
                f"describe its file '{file}' differently. Give one of them another file name or 'download_folder'.",
                code="conflicting-downloads",
            )
    if not owners:
        raise WordorderError(
            f"No dataset of the folder '{folder}' of downloads has a file '{file}'.", code="unknown-name"
        )
    return download_slice(owners[0], file)


def parts(dataset: Dataset, split: str) -> list[Part]:
    """The parts of 'train', 'valid' or a test set."""
    return {**dataset.tests, "train": dataset.train, "valid": dataset.valid}[split]


def downloads(dataset: Dataset, split: str) -> list[str]:
    """The keys of the dataset's downloads from which one split is imported."""
    return list(dict.fromkeys(side.file for part in parts(dataset, split) for side in (part.source, part.target)))


def import_slice(dataset: Dataset, split: str) -> str:
    """``Import``."""
    return canonical(Import(parts=parts(dataset, split), by_hand=dataset.by_hand))


def generator_slice(dataset: Dataset, split: str) -> str:
    """``Generator``, without the numbers of sentences of the other splits, on which this one does not depend."""
    if dataset.generator is None:
        raise WordorderError(
            f"The dataset '{dataset.name}' has no generator; its '{split}' is downloaded.", code="unknown-name"
        )
    others = {name: Generator.model_fields[name].default for name in ("train", "valid") if name != split}
    tests = {name: number for name, number in dataset.generator.tests.items() if name == split}
    return canonical(dataset.generator.model_copy(update={**others, "tests": tests}))


def preprocessing_slice(dataset: Dataset) -> str:
    """``Preparation``: what 'clean' does to the text of this pair."""
    return canonical(preparation(dataset))


def preparation(dataset: Dataset) -> Preparation:
    """Return how the text of a dataset is treated before the subwords."""
    return Preparation(
        preprocessing=only(TextPreprocessing, dataset.preprocessing),
        source_language=dataset.source_language,
        target_language=dataset.target_language,
    )


def published_slice(dataset: Dataset) -> str:
    """``PublishedPairs``, in the order in which the reports are given: that of :func:`canonical`."""
    return canonical(PublishedPairs(dataset.published_pairs))


def subword_slice(dataset: Dataset) -> str:
    """``Subword``."""
    return canonical(only(Subword, dataset.preprocessing))
