"""Scores against a number that the study's encodings differ in: k of OPR, d_p of PosNet, τ of HeadXL, noise."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from wordorder.config.models import Analysed
from wordorder.results.frames import load_scores
from wordorder.results.translations import CELL_TEST, with_spread


def frame(analysed: Analysed, results: Path, data: Path) -> pd.DataFrame:
    """One row for each cell x test x metric: curve and value (the encoding's number; both empty for those of no curve),
    score, mean, sd and seeds of the score over seeds, status and signature. Curves come first, each by its numbers.
    """
    assert analysed.settings.sweep is not None
    curves = analysed.settings.sweep.curves
    places = {encoding: (curve, value) for curve, values in curves.items() for encoding, value in values.items()}
    scores = load_scores(analysed.report, results)
    found = [places.get(encoding, ("", float("nan"))) for encoding in scores["encoding"]]
    scores = scores.assign(curve=[curve for curve, _ in found], value=[value for _, value in found])
    order = {curve: number for number, curve in enumerate([*curves, ""])}
    scores = with_spread(scores, "score").sort_values("value", kind="stable")
    scores = scores.sort_values("curve", kind="stable", key=lambda names: names.map(order), ignore_index=True)
    return scores[[*CELL_TEST, "metric", "curve", "value", "score", "mean", "sd", "seeds", "status", "signature"]]
