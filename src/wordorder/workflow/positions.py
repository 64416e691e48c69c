"""The kinds of reordered source positions that a study uses, and their folders."""

from __future__ import annotations

from wordorder.config.datasets import Dataset
from wordorder.config.models import PositionsKind, Study
from wordorder.config.pages import DrawnReordering
from wordorder.errors import WordorderError
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.study import test_names


def positions_name(study: Study, dataset: Dataset, encoding: str, split: str) -> str:
    """Return the folder of the reordered source positions of an encoding for a split.

    Args:
        study: The study.
        dataset: One of its datasets.
        encoding: One of its encodings, which needs reordered positions.
        split: 'train', or any other split for the positions of unseen text.

    Returns:
        'gold', 'identity', or 'oracle' or 'predicted' with the reorderer ('predicted.btg'). The positions of the
        training set may have noise ('gold.noise0.1').

    Raises:
        WordorderError: The dataset does not have such positions.
    """
    positions = study.reordering.of(encoding)
    key = "train" if split == "train" else "test"
    kind: PositionsKind = getattr(positions, key)
    try:
        check_positions(dataset, kind)
    except WordorderError as error:
        raise WordorderError(
            f"In the study '{study.name}', the encoding '{encoding}' needs reordered source positions, and "
            f"'reordering.{key}' is '{kind}'. {error} Set 'reordering.{key}' to 'identity', or to 'predicted' with a "
            "'reorderer', or remove the encoding or the dataset.",
            code=error.code,
            key=f"reordering.{key}",
        ) from error
    name = kind if kind in ("gold", "identity") else f"{kind}.{positions.reorderer}"
    return f"{name}.noise{_ratio(positions.noise)}" if split == "train" and positions.noise else name


def _ratio(noise: float) -> str:
    """Return the shortest text of a ratio that is read as the same number: '0.1', and '1' for 1.0."""
    short = f"{noise:g}"
    return short if float(short) == noise else repr(noise)


def check_positions(dataset: Dataset, kind: PositionsKind) -> None:
    """Check that a dataset has reordered positions of a kind.

    Raises:
        WordorderError: It does not have them.
    """
    if kind == "gold" and dataset.generator is None:
        raise WordorderError(
            f"The dataset '{dataset.name}' does not have gold positions, because only generated datasets have gold "
            "trees.",
            code="no-gold-positions",
            found=dataset.name,
        )


def reorderers(study: Study, configuration: Configuration) -> list[str]:
    """Return the names of the reorderers whose positions a study's encodings use."""
    needing = (name for name in study.encodings if configuration.catalogue.encoding(name).needs_reordered)
    used = [study.reordering.of(name) for name in needing]
    return sorted({of.reorderer for of in used if of.reorderer and {"oracle", "predicted"} & {of.train, of.test}})


def drawn_reorderings(study: Study, configuration: Configuration) -> list[DrawnReordering]:
    """Return the test sets whose predicted orders are scored and drawn, for each reorderer of the study."""
    return [
        DrawnReordering(dataset=dataset.name, reorderer=name, test=test)
        for dataset in configuration.datasets_of(study)
        for name in reorderers(study, configuration)
        for test in test_names(study, dataset)
    ]
