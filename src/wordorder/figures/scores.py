"""Scores: one row per encoding, one dot per seed, the mean with its standard deviation; one panel per test set."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from wordorder.config.models import Report
from wordorder.drawing import seeds
from wordorder.drawing.style import styled
from wordorder.metrics import base


@styled
def draw(scores: pd.DataFrame, report: Report) -> Figure:
    """Draw the scores of one metric, one panel per dataset x test set x size.

    Seeds without a score are counted in their row, never silently excluded.
    """
    described = base.metric(scores["metric"].iloc[0])
    return seeds.draw(scores, report, {"score": described.label + (" (lower is better)" * described.lower_is_better)})
