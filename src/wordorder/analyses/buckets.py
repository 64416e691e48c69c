"""Scores of the parts of a test set into which something known of each sentence pair puts it.

The score of a bucket is that of a corpus of its sentences, not a mean of sentence scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from wordorder.config.models import Analysed
from wordorder.metrics.scores import build_metric
from wordorder.progress import track
from wordorder.results.translations import CELL_TEST, TranslatedSet, Translation, read_test_sets, with_spread

METRICS = ("bleu", "chrf++")


@dataclass(frozen=True, slots=True)
class Bucket:
    """``members``: (pairs,), whether a pair belongs to it; ``begin`` and ``end`` are inclusive, None where unknown."""

    label: str
    begin: float | None
    end: float | None
    members: NDArray[np.bool_]


def score_buckets(
    analysed: Analysed, results: Path, data: Path, find: Callable[[TranslatedSet], list[Bucket]]
) -> pd.DataFrame:
    """One row for each cell x test x bucket x metric (BLEU and chrF++).

    Columns: those of the cell, test, bucket, begin, end, pairs, metric, score, mean, sd and seeds over seeds, status
    and signature. A bucket without pairs has rows without a score, whose status is "no sentences".
    """
    rows: list[dict[str, Any]] = []
    for test in read_test_sets(analysed, results, data):
        language = analysed.target_languages[test.dataset]
        buckets = find(test)
        for translation in track(test.translations, f"Scores of {test.name}", total=len(test.translations)):
            for bucket in buckets:
                known = {"bucket": bucket.label, "begin": bucket.begin, "end": bucket.end}
                known["pairs"] = int(bucket.members.sum())
                for name in METRICS:
                    rows.append(translation.cell | known | _score(name, language, translation, test, bucket))
    columns = ["score", "mean", "sd", "seeds", "status", "signature"]
    frame = with_spread(pd.DataFrame(rows).astype({"score": float, "begin": float, "end": float}), "score")
    return frame[[*CELL_TEST, "bucket", "begin", "end", "pairs", "metric", *columns]]


def _score(name: str, language: str, translation: Translation, test: TranslatedSet, bucket: Bucket) -> dict[str, Any]:
    row = {"metric": name, "score": None, "status": translation.status, "signature": None}
    if not bucket.members.any():
        return row | {"status": "no sentences"}
    if not translation.lines:
        return row
    chosen = np.flatnonzero(bucket.members)
    metric = build_metric(name, language)
    score = metric.corpus_score([translation.lines[i] for i in chosen], [[test.references[i] for i in chosen]])
    return row | {"score": score.score, "signature": str(metric.get_signature())}
