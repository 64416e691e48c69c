"""Scores of sentences whose source is longer than all training sources, compared with all other sentences."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from wordorder.analyses.base import Input, StudiedDataset
from wordorder.analyses.buckets import Bucket, BucketAnalysis
from wordorder.analyses.length import subword_lengths
from wordorder.config.models import Analysed
from wordorder.data.binary import ParallelCorpus

if TYPE_CHECKING:
    from wordorder.results.translations import TranslatedSet


class Extrapolation(BucketAnalysis):
    """Scores of sentences whose source is longer than all training sources."""

    name: ClassVar[str] = "extrapolation"
    caption: ClassVar[str] = (
        "Scores of the sentences whose source is longer than those of the training set, and those of all others. "
        "(If the study sets a percentile of the training set's lengths: longer than that percentile.)"
    )

    percentile: Annotated[float, Field(gt=0, le=100)] = Field(
        default=100,
        description="Percentage of the training sources that a source must exceed in subwords; 100 means all of them.",
    )

    @override
    def inputs(self, dataset: StudiedDataset) -> list[Input]:
        return [*dataset.translations(), *dataset.corpora(), Input("corpus", "train")]

    @override
    def buckets(self, test: TranslatedSet, asked: Analysed, data: Path) -> list[Bucket]:
        trained = ParallelCorpus.open(data / test.dataset / "binary" / "train").source_lengths
        lengths, limit = subword_lengths(data, test), longest_trained(trained, self.percentile)
        beyond = lengths > limit
        found = int(lengths.max()) if beyond.any() else None
        return [Bucket("within", 0, limit, ~beyond), Bucket("beyond", limit + 1, found, beyond)]

    @override
    def axis(self) -> str:
        return "subwords of the source sentence"

    @override
    def note(self) -> str:
        trained = "all training sources" if self.percentile == 100 else f"{self.percentile:g} % of the training sources"
        return f"; {trained} are within the first bucket"


def longest_trained(lengths: NDArray[np.int32], percentile: float) -> int:
    """Compute the nearest-rank percentile of the training source lengths."""
    # Exact, because in floating point 99.9 % of 1,000 is more than 999.
    rank = max(1, math.ceil(Fraction(str(percentile)) * len(lengths) / 100))
    return int(np.partition(lengths, rank - 1)[rank - 1])
