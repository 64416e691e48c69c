"""The models, test sets, comparisons and tables of a study."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from wordorder.config.claims import PAPER_TABLES
from wordorder.config.datasets import Dataset
from wordorder.config.models import Comparison, Study
from wordorder.config.pages import CONTROLS
from wordorder.config.published_scores import PUBLISHED_TABLES


class CellName(NamedTuple):
    """One training run of a study.

    Attributes:
        dataset: The name of the dataset.
        encoding: The name of the encoding.
        size: The name of the size.
        seed: The seed.
    """

    dataset: str
    encoding: str
    size: str
    seed: int


def cells(study: Study) -> list[CellName]:
    """Return all training runs of a study; the seed varies fastest."""
    crossed = product(study.datasets, study.encodings, study.sizes, study.seed_numbers)
    return [cell for cell in map(CellName._make, crossed) if cell.encoding in study.encodings_of(cell.size)]


def test_names(study: Study, dataset: Dataset) -> list[str]:
    """Return the test sets of a dataset that a study translates, in the order of the dataset."""
    return [name for name in dataset.test_names if not study.tests or name in study.tests]


def decoded_tests(study: Study, dataset: Dataset) -> list[str]:
    """Return the test sets of a dataset as in tables: ``TEST@DECODING`` if the decodings have names."""
    pairs = product(test_names(study, dataset), study.decodings)
    return [f"{test}@{decoding}" if decoding else test for test, decoding in pairs]


def comparisons(study: Study) -> list[Comparison]:
    """Return a study's family of comparisons: the declared ones, or each other encoding against the baseline."""
    others = (name for name in study.encodings if name != study.baseline)
    return study.comparisons or [Comparison(system=name, baseline=study.baseline) for name in others]


def table_names(study: Study, *, controls: bool = False) -> list[str]:
    """Return the tables of a study: first those of its paper, then its own, then those with published scores.

    The credibility list, which every study has, is not included.

    Args:
        study: The study.
        controls: Whether the study has controls of its encodings.
    """
    return [*(PAPER_TABLES if study.paper else []), *own_table_names(study, controls=controls)]


def own_table_names(study: Study, *, controls: bool = False) -> list[str]:
    """Return the tables of a study that do not depend on other studies.

    Args:
        study: The study.
        controls: Whether the study has controls of its encodings.
    """
    return [*study.tables, *([CONTROLS] if controls else []), *(PUBLISHED_TABLES if study.published else [])]
