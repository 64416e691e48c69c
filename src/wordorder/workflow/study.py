"""What a study asks for: its models, test sets, comparisons and tables."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from wordorder.config.datasets import Dataset
from wordorder.config.load import load_encodings
from wordorder.config.models import Comparison, Study
from wordorder.config.published_scores import PUBLISHED_TABLES
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


def table_names(study: Study) -> list[str]:
    """The tables that a study asks for, and those beside papers' scores where it shows some.

    The credibility list, which every study has, is not among them.
    """
    return [*study.tables, *(PUBLISHED_TABLES if study.published else [])]


def encoding_parameters(name: str, root: str | Path = "config") -> dict[str, Any]:
    """The entry ``name`` of encodings.yaml with all its parameters, checked by the encoding itself."""
    return encoding_config(name, root).model_dump(mode="json")


def encoding_config(name: str, root: str | Path = "config") -> EncodingConfig:
    """The entry ``name`` of encodings.yaml. Raises WordorderError where a parameter is wrong."""
    from wordorder.encodings.registry import encoding_types, parse  # imports torch

    encoding_types()  # what is wrong with WORDORDER_ENCODINGS is no mistake of this entry
    try:
        return parse(load_encodings(root)[name])
    except WordorderError as error:
        raise WordorderError(f"{Path(root, 'encodings.yaml')}, '{name}': {error}") from error
