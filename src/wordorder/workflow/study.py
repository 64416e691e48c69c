"""What a study asks for: its models, test sets, comparisons and tables."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from wordorder.config.claims import PAPER_TABLES
from wordorder.config.datasets import Dataset
from wordorder.config.models import Comparison, Study
from wordorder.config.pages import CONTROLS
from wordorder.config.published_scores import PUBLISHED_TABLES


class CellName(NamedTuple):
    """One model of a study, by the names of its parts."""

    dataset: str
    encoding: str
    size: str
    seed: int


def cells(study: Study) -> list[CellName]:
    """All models of a study, seeds fastest."""
    crossed = product(study.datasets, study.encodings, study.sizes, study.seed_numbers)
    return [cell for cell in map(CellName._make, crossed) if cell.encoding in study.encodings_of(cell.size)]


def test_names(study: Study, dataset: Dataset) -> list[str]:
    """The test sets of one dataset that the study translates, in the order of the dataset."""
    return [name for name in dataset.test_names if not study.tests or name in study.tests]


def decoded_tests(study: Study, dataset: Dataset) -> list[str]:
    """Return the test sets of a dataset as tables name them: ``TEST@DECODING`` where the decodings have names."""
    pairs = product(test_names(study, dataset), study.decodings)
    return [f"{test}@{decoding}" if decoding else test for test, decoding in pairs]


def comparisons(study: Study) -> list[Comparison]:
    """The family of a study: the declared one, or every other encoding against the baseline."""
    others = (name for name in study.encodings if name != study.baseline)
    return study.comparisons or [Comparison(system=name, baseline=study.baseline) for name in others]


def table_names(study: Study, *, controls: bool = False) -> list[str]:
    """The tables that a study asks for: those of its paper first, its own, and those beside papers' scores.

    The credibility list, which every study has, is not among them.

    Args:
        study: The study.
        controls: Whether encodings of the study have controls in it.
    """
    return [*(PAPER_TABLES if study.paper else []), *own_table_names(study, controls=controls)]


def own_table_names(study: Study, *, controls: bool = False) -> list[str]:
    """The tables of a study that need no other study."""
    return [*study.tables, *([CONTROLS] if controls else []), *(PUBLISHED_TABLES if study.published else [])]
