"""Scores of the buckets of a test set: one row of panels per test set, one column per metric."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from wordorder.config.models import Report
from wordorder.drawing.grid import Grid, crowded, draw_grids
from wordorder.drawing.lines import at, error_line, legend, places, title
from wordorder.drawing.style import panels, say, wrap
from wordorder.metrics import base

_WIDTH = 3.7


def draw(frame: pd.DataFrame, report: Report, axis: str, note: str = "") -> Figure:
    """Draw the scores of :class:`wordorder.analyses.buckets.BucketAnalysis`; each bucket shows its number of pairs.

    Args:
        frame: One row per cell, test set, bucket and metric.
        report: The study.
        axis: Label of the x axis.
        note: Addition to the legend.

    Returns:
        The figure.
    """
    metrics = list(frame["metric"].unique())
    where = places(frame)
    note = f"in brackets: sentence pairs{note}"
    if crowded(report):
        rows = [[_grid(at(frame, place), metric, place, report, axis) for metric in metrics] for place in where]
        return draw_grids(rows, frame, report, note)
    figure, axes = panels(len(where) * len(metrics), len(metrics), _WIDTH, 2.6)
    for index, panel in enumerate(axes):
        place, metric = where[index // len(metrics)], metrics[index % len(metrics)]
        own = at(frame, place)
        panel.set_title(wrap(title(report, place), int(_WIDTH * 11)))
        panel.set_ylabel(base.metric(metric).label)
        panel.set_xlabel(axis)
        _panel(panel, own[own["metric"] == metric], report)
    legend(figure, axes, frame, report, f"mean ± standard deviation over seeds; {note}")
    return figure


def _grid(rows: pd.DataFrame, metric: str, place: tuple[str, str, str], report: Report, axis: str) -> Grid:
    own = rows[rows["metric"] == metric]
    buckets = own.drop_duplicates("bucket")
    means = own.pivot_table("mean", "encoding", "bucket", dropna=False).reindex(columns=buckets["bucket"])
    return Grid(
        f"{title(report, place)}: {base.metric(metric).label}", axis, means.set_axis(_ticks(buckets, 9), axis=1)
    )


def _ticks(buckets: pd.DataFrame, width: int) -> list[str]:
    """Return the labels below the buckets."""
    return [f"{wrap(_name(bucket), width)}\n({bucket['pairs']})" for bucket in buckets.to_dict("records")]


def _panel(panel: Axes, rows: pd.DataFrame, report: Report) -> None:
    buckets = rows.drop_duplicates("bucket")
    ticks = _ticks(buckets, max(7, 40 // len(buckets)))
    column = {name: number for number, name in enumerate(buckets["bucket"])}
    panel.set_xticks(range(len(ticks)), ticks, fontsize=7)
    panel.set_xlim(-0.5, len(ticks) - 0.5)
    panel.grid(axis="y")
    if rows["score"].isna().all():
        say(panel, "no translations" if (buckets["pairs"] > 0).any() else "no sentences")
        return
    shift = 0.5 / max(len(report.encodings), 1)
    for number, encoding in enumerate(report.encodings):
        means = rows[rows["encoding"] == encoding].drop_duplicates("bucket").dropna(subset="mean")
        if len(means):
            x = [column[name] + shift * (number - (len(report.encodings) - 1) / 2) for name in means["bucket"]]
            error_line(panel, x, means, report, encoding)
    for empty in buckets[buckets["pairs"] == 0]["bucket"]:
        place = (column[empty], 0.5)
        panel.annotate("no sentences", place, xycoords=("data", "axes fraction"), ha="center", fontsize=7, rotation=90)


def _name(bucket: dict[Any, Any]) -> str:
    """Return the label of a bucket, or its range of lengths if it has none."""
    lengths = {"within": f"up to {bucket['end']:.0f}", "beyond": f"from {bucket['begin']:.0f}"}
    return lengths.get(str(bucket["bucket"]), str(bucket["bucket"]))
