"""Recall of n-grams by relative position: a row of panels a test set, a column an n; encodings as lines or rows."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from wordorder.config.models import Analysed, Report
from wordorder.drawing.grid import Grid, crowded, draw_grids
from wordorder.drawing.lines import at, error_line, legend, places, title
from wordorder.drawing.style import panels, say, styled, wrap

_WIDTH = 3.7


@styled
def draw(frame: pd.DataFrame, analysed: Analysed) -> Figure:
    report = analysed.report
    where, orders = places(frame), list(frame["n"].unique())
    if crowded(report):
        grids = [[_grid(at(frame, place), n, place, report) for n in orders] for place in where]
        return draw_grids(grids, frame, report, "recall in per cent")
    figure, axes = panels(len(where) * len(orders), len(orders), _WIDTH, 2.6)
    for index, panel in enumerate(axes):
        place, n = where[index // len(orders)], orders[index % len(orders)]
        rows = at(frame, place)
        rows = rows[rows["n"] == n]
        panel.set_title(wrap(title(report, place), int(_WIDTH * 11)))
        panel.set_ylabel("recall of words" if n == 1 else f"recall of {n}-grams")
        panel.set_xlabel("relative position in the reference")
        panel.xaxis.set_major_formatter(PercentFormatter(1))
        panel.yaxis.set_major_formatter(PercentFormatter(1, decimals=None))
        panel.set_xlim(0, 1)
        panel.grid(axis="y")
        if rows["recall"].isna().all():
            say(panel, "no translations" if (rows["occurrences"] > 0).any() else f"no {n}-grams")
            continue
        for encoding in report.encodings:
            means = rows[rows["encoding"] == encoding].drop_duplicates("begin").dropna(subset="mean")
            if len(means):
                middle = (means["begin"] + means["end"]) / 2
                error_line(panel, list(middle), means, report, encoding)
    legend(figure, axes, frame, report, "mean ± standard deviation over seeds")
    return figure


def _grid(rows: pd.DataFrame, n: int, place: tuple[str, str, str], report: Report) -> Grid:
    own = rows[rows["n"] == n]
    parts = own[["begin", "end"]].drop_duplicates()
    means = own.pivot_table("mean", "encoding", "begin", dropna=False).reindex(columns=parts["begin"]) * 100
    ticks = [f"{100 * begin:.0f}–\n{100 * end:.0f}" for begin, end in parts.itertuples(index=False)]
    what = "words" if n == 1 else f"{n}-grams"
    axis = "relative position in the reference, %"
    return Grid(f"{title(report, place)}: {what}", axis, means.set_axis(ticks, axis=1))
