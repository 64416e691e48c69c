"""Which reordered source positions a study gives its encodings, and where they come from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from wordorder.config.datasets import Dataset
from wordorder.config.load import load_aligners, load_reorderers
from wordorder.config.models import DrawnReordering, PositionsKind, Study
from wordorder.errors import WordorderError
from wordorder.workflow.study import encoding_config, test_names


def positions_name(
    study: Study, dataset: Dataset, encoding: str, split: str, root: str | Path = "config"
) -> str | None:
    """The folder of the reordered source positions that a study gives an encoding for a split; None if it needs none.

    It is 'gold' or 'identity', or 'oracle' or 'predicted' with the reorderer ('predicted.btg'); and those of the
    training set may have noise ('gold.noise0.1'). Raises WordorderError where the dataset cannot give such positions.
    """
    if not encoding_config(encoding, root).needs_reordered:
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
    used = (study.reordering.of(name) for name in study.encodings if encoding_config(name, root).needs_reordered)
    return sorted({of.reorderer for of in used if of.reorderer and {"oracle", "predicted"} & {of.train, of.test}})


def drawn_reorderings(study: Study, datasets: Iterable[Dataset], root: str | Path = "config") -> list[DrawnReordering]:
    """The test sets whose predicted orders are scored and drawn, for every reorderer that the study uses.

    Only the embedded aligner links text that it was not trained on; without such links nothing can be scored.
    """
    reordering, aligners = load_reorderers(root), load_aligners(root)
    embedded = [name for name in reorderers(study, root) if aligners[reordering[name].aligner].aligner.type == "hmm"]
    return [
        DrawnReordering(dataset=data.name, reorderer=name, test=test)
        for data in datasets
        for name in embedded
        for test in test_names(study, data)
    ]
