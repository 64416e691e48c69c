"""Slices of a dataset: the configurations of the jobs that download, import and prepare it."""

from __future__ import annotations

from collections.abc import Iterable

from wordorder.config.alignments import GoldImport, GoldSet
from wordorder.config.datasets import (
    Dataset,
    Download,
    Generator,
    Import,
    Part,
    Preparation,
    PublishedPairs,
    Subword,
    TextPreprocessing,
)
from wordorder.errors import WordorderError
from wordorder.registry import code_of
from wordorder.workflow.slices import canonical, only


def gold_slice(dataset: Dataset, gold: GoldSet) -> str:
    """Return the slice ``GoldImport``, which imports a set of gold alignments as a split of a dataset."""
    return canonical(
        GoldImport(
            text=gold.text,
            members={file: entry.text_member for file, entry in gold.downloads.items() if entry.text_member},
            reverse=gold.direction(dataset.source_language, dataset.target_language) == "reverse",
            preparation=preparation(dataset),
        )
    )


def shared_download(datasets: Iterable[Dataset], folder: str, file: str) -> Download:
    """Return the description of a file that several datasets may share.

    Args:
        datasets: All datasets.
        folder: The folder of downloads.
        file: The name of the file in the folder.

    Raises:
        WordorderError: Two datasets describe the file differently, or no dataset describes it.
    """
    owners = [dataset for dataset in datasets if dataset.folder == folder and file in dataset.downloads]
    for other in owners[1:]:
        if other.downloads[file] != owners[0].downloads[file]:
            raise WordorderError(
                f"The datasets '{owners[0].name}' and '{other.name}' share the download folder '{folder}', but "
                f"describe its file '{file}' differently. Change the file name or 'download_folder' of one of them.",
                code="conflicting-downloads",
                key="downloads",
                found=file,
            )
    if not owners:
        raise WordorderError(
            f"No dataset with the download folder '{folder}' has the file '{file}'. Add it to 'downloads' of a "
            "dataset, or request another file.",
            code="unknown-name",
            key="downloads",
            found=file,
        )
    return owners[0].downloads[file]


def parts(dataset: Dataset, split: str) -> list[Part]:
    """Return the parts of a split: 'train', 'valid' or a test set."""
    return {**dataset.tests, "train": dataset.train, "valid": dataset.valid}[split]


def downloads(dataset: Dataset, split: str) -> list[str]:
    """Return the keys of the downloads from which a split is imported, each once."""
    return list(dict.fromkeys(side.file for part in parts(dataset, split) for side in part.sides))


def import_slice(dataset: Dataset, split: str) -> str:
    """Return the slice ``Import`` of a split."""
    own = parts(dataset, split)
    formats = [side.format for part in own for side in part.sides]
    return canonical(Import(parts=own, by_hand=dataset.by_hand, code=code_of("dataset_formats", formats)))


def generator_slice(dataset: Dataset, split: str) -> str:
    """Return the slice ``Generator`` of a split, without the sizes of the other splits, on which it does not depend.

    Raises:
        WordorderError: The dataset is not generated.
    """
    if dataset.generator is None:
        raise WordorderError(
            f"The dataset '{dataset.name}' has no generator, because its split '{split}' is downloaded.",
            code="unknown-name",
            key="generator",
            found=dataset.name,
        )
    others = {name: Generator.model_fields[name].default for name in ("train", "valid") if name != split}
    tests = {name: number for name, number in dataset.generator.tests.items() if name == split}
    lengths = {name: limits for name, limits in dataset.generator.lengths.items() if name == split}
    return canonical(dataset.generator.model_copy(update={**others, "tests": tests, "lengths": lengths}))


def preprocessing_slice(dataset: Dataset) -> str:
    """Return the slice ``Preparation``, with the settings of cleaning."""
    return canonical(preparation(dataset))


def preparation(dataset: Dataset) -> Preparation:
    """Return the settings by which the text of a dataset is prepared before the subwords."""
    return Preparation(
        preprocessing=only(TextPreprocessing, dataset.preprocessing),
        source_language=dataset.source_language,
        target_language=dataset.target_language,
    )


def published_slice(dataset: Dataset) -> str:
    """Return the slice ``PublishedPairs``; its order, that of :func:`canonical`, is also that of the reports."""
    return canonical(PublishedPairs(dataset.published_pairs))


def subword_slice(dataset: Dataset) -> str:
    """Return the slice ``Subword``."""
    return canonical(only(Subword, dataset.preprocessing))
