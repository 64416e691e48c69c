"""Scores of sentences whose source is longer than those that the model was trained on, beside those of all others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from wordorder.analyses.buckets import Bucket, score_buckets
from wordorder.analyses.length import subword_lengths
from wordorder.config.analyses import Extrapolation
from wordorder.config.models import Analysed
from wordorder.data.binary import ParallelCorpus
from wordorder.results.translations import TranslatedSet


def frame(analysed: Analysed, results: Path, data: Path) -> pd.DataFrame:
    """See :func:`score_buckets`; begin and end are lengths in subwords. The buckets are "within" and "beyond"."""
    settings = analysed.settings.extrapolation or Extrapolation()
    longest = {
        dataset.name: longest_trained(
            ParallelCorpus.open(data / dataset.name / "binary" / "train").source_lengths, settings.percentile
        )
        for dataset in analysed.report.datasets
    }

    def find(test: TranslatedSet) -> list[Bucket]:
        lengths, limit = subword_lengths(data, test), longest[test.dataset]
        beyond = lengths > limit
        found = int(lengths.max()) if beyond.any() else None
        return [Bucket("within", 0, limit, ~beyond), Bucket("beyond", limit + 1, found, beyond)]

    return score_buckets(analysed, results, data, find)


def longest_trained(lengths: NDArray[np.int64], percentile: float) -> int:
    """The least length which at least ``percentile`` per cent of the training sources do not exceed."""
    return int(np.percentile(lengths, percentile, method="inverted_cdf"))
