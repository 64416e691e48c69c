"""The configuration folder of the workflow, which reads each file once and only when it is needed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache
from pathlib import Path

from wordorder.config import load
from wordorder.config.alignments import GoldSet
from wordorder.config.claims import PaperClaims
from wordorder.config.datasets import Dataset
from wordorder.config.models import Study
from wordorder.config.published import PublishedTable
from wordorder.config.published_scores import PublishedScores
from wordorder.config.reordering import Alignment, Reorderer
from wordorder.errors import WordorderError
from wordorder.workflow.catalogue import Catalogue


class Configuration:
    """The files of a configuration folder.

    Args:
        root: The folder, such as ``config``.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.catalogue = Catalogue(root)
        self.study = lru_cache(maxsize=None)(self._study)
        self.dataset = lru_cache(maxsize=None)(self._dataset)
        self.claims = lru_cache(maxsize=None)(self._claims)

    def _study(self, name: str) -> Study:
        return load.load_study(name, self.root)

    def _dataset(self, name: str) -> Dataset:
        return load.load_dataset(name, self.root)

    def _claims(self, name: str) -> PaperClaims:
        return load.load_claims(name, self.root)

    def datasets_of(self, study: Study) -> list[Dataset]:
        """Return the datasets of a study, in its order."""
        return [self.dataset(name) for name in study.datasets]

    @cached_property
    def study_names(self) -> list[str]:
        """The names of all studies."""
        return load.study_names(self.root)

    @cached_property
    def valid_datasets(self) -> list[Dataset]:
        """The valid datasets; an invalid dataset is reported only if a study uses it."""
        datasets = []
        for name in load.dataset_names(self.root):
            try:
                datasets.append(self.dataset(name))
            except WordorderError:
                continue
        return datasets

    @cached_property
    def aligners(self) -> dict[str, Alignment]:
        """The entries of aligners.yaml."""
        return load.load_aligners(self.root)

    @cached_property
    def reorderers(self) -> dict[str, Reorderer]:
        """The entries of reorderers.yaml."""
        return load.load_reorderers(self.root)

    @cached_property
    def gold_sets(self) -> dict[str, GoldSet]:
        """The entries of gold_alignments.yaml."""
        return load.load_gold_sets(self.root)

    @cached_property
    def published_counts(self) -> list[PublishedTable]:
        """The tables of published/parameters.yaml."""
        return load.load_published(self.root)

    @cached_property
    def published_scores(self) -> list[PublishedScores]:
        """The tables of published/scores.yaml."""
        return load.load_published_scores(self.root)


def one_of(names: Iterable[str]) -> str:
    """Return a regular expression that matches exactly these names; without names, it matches nothing."""
    return "|".join(map(re.escape, sorted(names, key=len, reverse=True))) or "(?!)"
