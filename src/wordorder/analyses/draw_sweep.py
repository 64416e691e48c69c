"""Scores against the number of a sweep: dots for seeds, a line through the means; encodings of no curve as levels."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from wordorder.config.models import Analysed
from wordorder.drawing.lines import at, legend, places, title
from wordorder.drawing.style import cue, panels, say, styled, wrap
from wordorder.metrics.scores import LABELS, LOWER_IS_BETTER

_WIDTH = 3.7


@styled
def draw(frame: pd.DataFrame, analysed: Analysed) -> Figure:
    """A row of panels a test set, a column a metric."""
    assert analysed.settings.sweep is not None
    sweep, report = analysed.settings.sweep, analysed.report
    levels = [name for name in report.encodings if all(name not in values for values in sweep.curves.values())]
    cues = {name: cue(index) for index, name in enumerate([*sweep.curves, *levels])}
    numbers = sorted({value for values in sweep.curves.values() for value in values.values()})
    where, metrics = places(frame), list(frame["metric"].unique())
    figure, axes = panels(len(where) * len(metrics), len(metrics), _WIDTH, 2.6)
    # COMET without its model: its panels say so, and the cells lack nothing.
    absent = [
        metric
        for metric in metrics
        if "not scored" in set(frame["status"][frame["metric"] == metric])
        and frame["score"][frame["metric"] == metric].isna().all()
    ]
    for index, panel in enumerate(axes):
        place, metric = where[index // len(metrics)], metrics[index % len(metrics)]
        rows = at(frame, place)
        rows = rows[rows["metric"] == metric].dropna(subset="score")
        panel.set_title(wrap(title(report, place), int(_WIDTH * 11)))
        panel.set_ylabel(LABELS[metric] + (" (lower is better)" if metric in LOWER_IS_BETTER else ""))
        panel.set_xlabel(sweep.parameter)
        panel.grid(axis="y")
        if rows.empty:
            say(panel, "not scored" if metric in absent else "no scores")
            continue
        if sweep.scale == "log":
            panel.set_xscale("log")
            panel.xaxis.set_minor_locator(NullLocator())
        panel.set_xticks(numbers, [f"{number:g}" for number in numbers])
        for name in sweep.curves:
            _curve(panel, rows[rows["curve"] == name], name, cues[name])
        for name in levels:
            own = rows[rows["encoding"] == name]
            if len(own):
                style = {key: cues[name][key] for key in ("color", "linestyle")}
                panel.axhline(own["mean"].iloc[0], label=name, linewidth=1, **style)
    note = "line: mean ± standard deviation over seeds; dots: each seed; levels: means of encodings outside the sweep"
    legend(figure, axes, frame[~frame["metric"].isin(absent)], report, note, names=list(cues))
    return figure


def _curve(panel: Axes, rows: pd.DataFrame, name: str, style: dict[str, object]) -> None:
    means = rows.drop_duplicates("value")
    panel.scatter(rows["value"], rows["score"], s=9, color=str(style["color"]), alpha=0.5, linewidths=0)
    panel.errorbar(
        means["value"], means["mean"], yerr=means["sd"], label=name, markersize=3.5, linewidth=1, elinewidth=0.8,
        capsize=2, **style,  # type: ignore[arg-type]
    )  # fmt: skip
