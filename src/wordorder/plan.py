"""What a study asks for: its cells, and the slice of the configuration that each job gets.

A slice is canonical JSON (sorted keys, no spaces, defaults filled in) and holds only what its job depends on, so it
changes exactly when the job must run again. The workflow passes it as ``--config``; each function says which model
reads it there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel

from wordorder.config.load import load_dataset, load_encodings, load_sizes, load_study
from wordorder.config.models import (
    Cell,
    Comparison,
    Dataset,
    Family,
    Generator,
    Import,
    Part,
    PositionsKind,
    Preparation,
    Report,
    ReportedDataset,
    Scoring,
    Study,
    Subword,
    TextPreprocessing,
)
from wordorder.errors import WordorderError

if TYPE_CHECKING:
    from wordorder.encodings.base import EncodingConfig


class CellName(NamedTuple):
    """One model to train, by the names of its parts: the path of its folder under results/{study}/cells."""

    dataset: str
    encoding: str
    size: str
    seed: int


def cells(study: Study) -> list[CellName]:
    """All models of a study, seeds fastest."""
    return [CellName(*names) for names in product(study.datasets, study.encodings, study.sizes, study.seeds)]


def test_names(study: Study, dataset: Dataset) -> list[str]:
    """The test sets of one dataset that the study translates, in the order of the dataset."""
    return [name for name in dataset.test_names if not study.tests or name in study.tests]


def comparisons(study: Study) -> list[Comparison]:
    """The family of a study: the declared one, or every other encoding against the baseline."""
    others = (name for name in study.encodings if name != study.baseline)
    return study.comparisons or [Comparison(system=name, baseline=study.baseline) for name in others]


def encoding_parameters(name: str, root: str | Path = "config") -> dict[str, Any]:
    """The entry ``name`` of encodings.yaml with all its parameters, checked by the encoding itself."""
    return _encoding(name, root).model_dump(mode="json")


def _encoding(name: str, root: str | Path) -> EncodingConfig:
    from wordorder.encodings.registry import parse  # imports torch

    try:
        return parse(load_encodings(root)[name])
    except WordorderError as error:
        raise WordorderError(f"{Path(root, 'encodings.yaml')}, '{name}': {error}") from error


def positions_name(
    study: Study, dataset: Dataset, encoding: str, split: str, root: str | Path = "config"
) -> str | None:
    """The folder of the reordered source positions that a study gives an encoding for a split; None if it needs none.

    It is 'gold' or 'identity', or 'oracle' or 'predicted' with the reorderer ('predicted.btg'); and those of the
    training set may have noise ('gold.noise0.1'). Raises WordorderError where the dataset cannot give such positions.
    """
    if not _encoding(encoding, root).needs_reordered:
        return None
    positions = study.reordering.of(encoding)
    key = "train" if split == "train" else "test"
    kind: PositionsKind = getattr(positions, key)
    try:
        check_positions(dataset, kind)
    except WordorderError as error:
        raise WordorderError(
            f"In the study '{study.name}' the encoding '{encoding}' needs reordered source positions, and "
            f"'reordering.{key}' is '{kind}'. {error} Set 'reordering.{key}' to 'predicted', with "
            "a 'reorderer', or to 'identity', or leave the encoding or the dataset out."
        ) from error
    name = kind if kind in ("gold", "identity") else f"{kind}.{positions.reorderer}"
    return f"{name}.noise{positions.noise:g}" if split == "train" and positions.noise else name


def check_positions(dataset: Dataset, kind: PositionsKind) -> None:
    """Raise WordorderError where a dataset cannot give reordered positions of this kind."""
    if kind == "gold" and dataset.generator is None:
        raise WordorderError(
            f"The dataset '{dataset.name}' has no gold positions, because only generated datasets have gold trees."
        )


def reorderers(study: Study, root: str | Path = "config") -> list[str]:
    """The reorderers whose positions a study's encodings use."""
    used = (study.reordering.of(name) for name in study.encodings if _encoding(name, root).needs_reordered)
    return sorted({of.reorderer for of in used if of.reorderer and {"oracle", "predicted"} & {of.train, of.test}})


# ------------------------------------------------------------------------------------------- slices of a dataset


def download_slice(dataset: Dataset, file: str) -> str:
    """``Download``: one key of the dataset's downloads."""
    return canonical(dataset.downloads[file])


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
        raise WordorderError(f"The dataset '{dataset.name}' has no generator; its '{split}' is downloaded.")
    others = {name: Generator.model_fields[name].default for name in ("train", "valid") if name != split}
    tests = {name: number for name, number in dataset.generator.tests.items() if name == split}
    return canonical(dataset.generator.model_copy(update={**others, "tests": tests}))


def preprocessing_slice(dataset: Dataset) -> str:
    """``Preparation``: what 'clean' does to the text of this pair."""
    return canonical(
        Preparation(
            preprocessing=_only(TextPreprocessing, dataset.preprocessing),
            source_language=dataset.source_language,
            target_language=dataset.target_language,
        )
    )


def subword_slice(dataset: Dataset) -> str:
    """``Subword``."""
    return canonical(_only(Subword, dataset.preprocessing))


# --------------------------------------------------------------------------------------------- slices of a study


def cell_slice(study: Study, cell: CellName, root: str | Path = "config") -> str:
    """``Cell``: the model to train. The data it is trained on are files, not configuration."""
    return canonical(
        Cell(
            encoding=encoding_parameters(cell.encoding, root),
            size=load_sizes(root)[cell.size],
            recipe=study.recipe,
            seed=cell.seed,
        )
    )


def decoding_slice(study: Study) -> str:
    """``Decoding``."""
    return canonical(study.decoding)


def scoring_slice(study: Study, dataset: Dataset) -> str:
    """``Scoring``."""
    return canonical(Scoring(metrics=study.metrics, target_language=dataset.target_language))


def significance_slice(study: Study, dataset: Dataset) -> str:
    """``Family``: the comparisons, which are the same for all sizes and test sets."""
    family = comparisons(study)
    compared = {name for comparison in family for name in (comparison.system, comparison.baseline)}
    return canonical(
        Family(
            encodings=[name for name in study.encodings if name in compared],
            seeds=study.seeds,
            baseline=study.baseline,
            comparisons=family,
            metrics=study.metrics,
            target_language=dataset.target_language,
            significance=study.significance,
        )
    )


def report_slice(study: Study, datasets: Iterable[Dataset]) -> str:
    """``Report``, for tables and figures; ``datasets`` are those of the study."""
    reported = [ReportedDataset(name=data.name, title=data.title, tests=test_names(study, data)) for data in datasets]
    return canonical(
        Report(
            study=study.name,
            title=study.title,
            datasets=reported,
            encodings=study.encodings,
            sizes=study.sizes,
            seeds=study.seeds,
            metrics=study.metrics,
            baseline=study.baseline,
        )
    )


def canonical(model: BaseModel) -> str:
    """The one JSON text of a model's content."""
    return json.dumps(model.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _only(kind: type[Any], value: BaseModel) -> Any:
    """The part of ``value`` that its base class ``kind`` has."""
    return kind(**{field: getattr(value, field) for field in kind.model_fields})


# ---------------------------------------------------------------------------------------------------- for people


def check(path_or_name: str | Path, root: str | Path = "config") -> str:
    """Check a study and all that it uses; returns one line that says how much there is to run."""
    study = load_study(path_or_name, root)
    problems = []
    for name in study.encodings:
        try:
            encoding_parameters(name, root)
        except WordorderError as error:
            problems.append(str(error))
    if problems:
        raise WordorderError("\n".join(problems))
    datasets = [load_dataset(name, root) for name in study.datasets]
    for dataset, name, split in product(datasets, study.encodings, ("train", "test")):
        try:
            positions_name(study, dataset, name, split, root)
        except WordorderError as error:
            problems.append(str(error))
    if problems:
        raise WordorderError("\n".join(problems))
    factors = " × ".join(
        _count(len(names), noun)
        for names, noun in (
            (study.datasets, "dataset"),
            (study.encodings, "encoding"),
            (study.sizes, "size"),
            (study.seeds, "seed"),
        )
    )
    tests = sum(len(test_names(study, dataset)) for dataset in datasets)
    return (
        f"{study.name}: {_count(len(cells(study)), 'cell')} ({factors}), {_count(tests, 'test set')}, "
        f"{_count(len(comparisons(study)), 'comparison')}."
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
