"""Analyses that score the parts of a test set: each sentence pair belongs to one bucket, such as a range of lengths.

The score of a bucket is that of a corpus of its sentences, not a mean of sentence scores.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from wordorder.analyses.base import Analysis
from wordorder.config.models import Analysed
from wordorder.progress import track

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from wordorder.results.translations import TranslatedSet, Translation

METRICS = ("bleu", "chrf++")


@dataclass(frozen=True, slots=True)
class Bucket:
    """A part of a test set.

    Attributes:
        label: Its name on the axis.
        begin: Its smallest value; None if unknown.
        end: Its largest value; None if unknown.
        members: Whether each pair belongs to it, (pairs,).
    """

    label: str
    begin: float | None
    end: float | None
    members: NDArray[np.bool_]


class BucketAnalysis(Analysis):
    """Scores of buckets by BLEU and chrF++."""

    @abstractmethod
    def buckets(self, test: TranslatedSet, asked: Analysed, data: Path) -> list[Bucket]:
        """Split a test set into buckets, in their display order.

        Args:
            test: The test set with its translations.
            asked: The study's datasets, encodings, sizes and seeds.
            data: The folder of all datasets.

        Returns:
            The buckets.
        """

    @abstractmethod
    def axis(self) -> str:
        """Return the label of the x axis."""

    def note(self) -> str:
        """Return an addition to the legend, which starts with '; '."""
        return ""

    def frame(self, asked: Analysed, results: Path, data: Path) -> DataFrame:
        """Score the buckets: one row per cell, test set, bucket and metric.

        Columns: those of the cell, test, bucket, begin, end, pairs, metric, score, mean, sd and seeds over seeds,
        status and signature. A bucket without pairs has rows without a score, whose status is "no sentences".
        """
        import pandas as pd

        from wordorder.results.translations import CELL_TEST, read_test_sets, with_spread

        rows: list[dict[str, Any]] = []
        for test in read_test_sets(asked, results, data):
            language = asked.target_languages[test.dataset]
            buckets = self.buckets(test, asked, data)
            for translation in track(test.translations, f"Scores of {test.name}", total=len(test.translations)):
                for bucket in buckets:
                    known = {"bucket": bucket.label, "begin": bucket.begin, "end": bucket.end}
                    known["pairs"] = int(bucket.members.sum())
                    for name in METRICS:
                        rows.append(translation.cell | known | _score(name, language, translation, test, bucket))
        columns = ["score", "mean", "sd", "seeds", "status", "signature"]
        frame = with_spread(pd.DataFrame(rows).astype({"score": float, "begin": float, "end": float}), "score")
        return frame[[*CELL_TEST, "bucket", "begin", "end", "pairs", "metric", *columns]]

    @override
    def draw(self, frame: DataFrame, asked: Analysed) -> Figure:
        from wordorder.drawing import buckets

        return buckets.draw(frame, asked.report, self.axis(), self.note())


def _score(name: str, language: str, translation: Translation, test: TranslatedSet, bucket: Bucket) -> dict[str, Any]:
    from wordorder.metrics.scores import build_metric

    row = {"metric": name, "score": None, "status": translation.status, "signature": None}
    if not bucket.members.any():
        return row | {"status": "no sentences"}
    if not translation.lines:
        return row
    chosen = np.flatnonzero(bucket.members)
    metric = build_metric(name, language)
    score = metric.corpus_score([translation.lines[i] for i in chosen], [[test.references[i] for i in chosen]])
    return row | {"score": score.score, "signature": str(metric.get_signature())}
