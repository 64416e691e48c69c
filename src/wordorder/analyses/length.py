"""Scores by the length of the source sentence (as the OPR paper's Table 7).

Words are Moses tokens of the raw source with dashes split off: so counted, the English side of newstest2014 En-De has
1339, 1396, 254 and 14 sentences of 0-19, 20-39, 40-59 and 60-91 words, as in that table. The dataset's own
preprocessing has no part in it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from wordorder.analyses.buckets import Bucket, score_buckets
from wordorder.config.analyses import Length
from wordorder.config.models import Analysed
from wordorder.data.binary import ParallelCorpus
from wordorder.data.text import read_lines
from wordorder.data.tokenise import tokeniser
from wordorder.results.translations import TranslatedSet, check_count, raw


def frame(analysed: Analysed, results: Path, data: Path) -> pd.DataFrame:
    """See :func:`score_buckets`; begin and end are lengths."""
    settings = analysed.settings.length or Length()

    def find(test: TranslatedSet) -> list[Bucket]:
        if settings.unit == "subword":
            return length_buckets(subword_lengths(data, test), settings.edges)
        path = raw(data, test.dataset, test.name, "source")
        lengths = word_lengths(path, analysed.source_languages[test.dataset])
        check_count(len(lengths), test, path, "lines")
        return length_buckets(lengths, settings.edges)

    return score_buckets(analysed, results, data, find)


def word_lengths(path: Path, language: str) -> NDArray[np.int64]:
    """Words of each line: (lines,)."""
    tokenise = tokeniser(language, aggressive_dash_splits=True)
    return np.array([len(tokenise(line).split()) for line in read_lines(path)], dtype=np.int64)


def subword_lengths(data: Path, test: TranslatedSet) -> NDArray[np.int64]:
    """Subwords of each source sentence of a test set as the model reads it, without the end: (pairs,)."""
    path = data / test.dataset / "binary" / test.name
    lengths = ParallelCorpus.open(path).source_lengths
    check_count(len(lengths), test, path, "sentences")
    return lengths


def length_buckets(lengths: NDArray[np.int64], edges: list[int]) -> list[Bucket]:
    """A bucket begins at 0 and at each edge and ends before the next; the last ends with the longest sentence."""
    begins = [0, *edges]
    buckets = []
    for begin, end in zip(begins, [*edges, None], strict=True):
        members = lengths >= begin if end is None else (begin <= lengths) & (lengths < end)
        last = int(lengths[members].max()) if end is None and members.any() else None
        label = f"≥ {begin}" if end is None else f"{begin}–{end - 1}"
        buckets.append(Bucket(label, begin, last if end is None else end - 1, members))
    return buckets
