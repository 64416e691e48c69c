"""Scores: a column for each encoding, a dot for each seed, the mean with its standard deviation; a panel a test set."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from wordorder.config.models import Report
from wordorder.drawing import seeds
from wordorder.drawing.style import styled
from wordorder.metrics import base


@styled
def draw(scores: pd.DataFrame, report: Report) -> Figure:
    """Draw the scores of one metric, a panel for each dataset x test set x size.

    A seed without a score is counted below its column, never left out in silence.
    """
    described = base.metric(scores["metric"].iloc[0])
    return seeds.draw(scores, report, {"score": described.label + (" (lower is better)" * described.lower_is_better)})
