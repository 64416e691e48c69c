"""One row per encoding: one dot per seed, and the mean with its standard deviation."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from wordorder.config.models import Report
from wordorder.drawing.lines import at, handles, places, title
from wordorder.drawing.style import PALETTE, panels, wrap

_LINE = 26  # characters of a name that fit into one line
_COLUMNS = 3  # panels side by side
_SEED, _MEAN, _BASELINE = PALETTE[5], "#000000", PALETTE[1]


def draw(frame: pd.DataFrame, report: Report, values: Mapping[str, str], *, shares: bool = False) -> Figure:
    """Draw columns of a frame: one panel per test set, or with several values one row of panels per test set.

    Args:
        frame: One row per cell and test set.
        report: The study.
        values: The columns to draw, with the labels of their axes.
        shares: Whether the values are shares, to be shown in per cent.

    Returns:
        The figure.
    """
    names = [wrap(name, _LINE) for name in report.encodings]
    longest = max(len(line) for name in names for line in name.split("\n"))
    lines = sum(name.count("\n") + 1 for name in names)
    where = places(frame)
    columns = len(values) if len(values) > 1 else min(len(where), _COLUMNS)
    width = (2.6 if columns > 1 else 3.6) + 0.07 * longest / columns
    figure, axes = panels(len(where) * len(values), columns, width, 1.0 + 0.21 * max(lines, 3))
    before: list[str] = []
    for index, panel in enumerate(axes):
        place = where[index // len(values)]
        trained = report.encodings_of(place[2])
        value = list(values)[index % len(values)]
        panel.set_title(wrap(title(report, place), int(width * 11)))
        own = at(frame, place).rename(columns={value: "score"})
        seed_rows(panel, own, trained, report.baseline)
        # Panels beside one with the same encodings need no names.
        named = index % columns == 0 or trained != before
        panel.set_yticks(range(len(trained)), [wrap(name, _LINE) for name in trained] if named else [])
        before = trained
        panel.set_xlabel(values[value])
        if shares:
            panel.xaxis.set_major_formatter(PercentFormatter(1, decimals=None))
    shown = handles(axes)  # a size without the baseline has no line of its mean
    labels = ["one seed" if "score" not in values and label == "score of one seed" else label for label in shown]
    columns = len(labels) if figure.get_figwidth() > 6 else 1
    figure.legend(list(shown.values()), labels, loc="outside lower center", ncols=columns)
    return figure


def seed_rows(panel: Axes, group: pd.DataFrame, encodings: list[str], baseline: str) -> None:
    """Draw one row per encoding from the columns ``encoding`` and ``score`` of ``group``, one line per seed."""
    panel.grid(axis="x")
    kept = group.dropna(subset="score")
    if kept.empty:
        panel.text(0.5, 0.5, "no scores", transform=panel.transAxes, ha="center", va="center", color="#444444")
    places, scores, means, sds = [], [], [], []
    for row, encoding in enumerate(encodings):
        found = group.loc[group["encoding"] == encoding, "score"]
        values = list(found.dropna())
        # The seeds are above the middle and their mean below it, so that neither hides the other.
        places += [row - 0.14 + 0.3 * ((i + 0.5) / len(values) - 0.5) for i in range(len(values))]
        scores += values
        means.append(found.mean())
        sds.append(found.std())
        if len(values) < len(found):
            _count_missing(panel, row, len(found) - len(values), len(found))
    panel.scatter(scores, places, s=12, color=_SEED, linewidths=0, label="score of one seed", zorder=2)
    panel.errorbar(
        means,
        [row + 0.22 for row in range(len(encodings))],
        xerr=sds,
        fmt="D",
        markersize=3,
        color=_MEAN,
        capsize=2,
        elinewidth=1.2,
        label="mean ± standard deviation over seeds",
        zorder=3,
    )
    if baseline in encodings:
        level = means[encodings.index(baseline)]
        panel.axvline(level, color=_BASELINE, linestyle="--", linewidth=1, label=f"mean of {baseline}", zorder=1)
    panel.set_ylim(len(encodings) - 0.4, -0.6)
    panel.margins(x=0.1)


def _count_missing(panel: Axes, row: int, missing: int, asked: int) -> None:
    panel.annotate(
        f"{missing} of {asked} missing",
        (0, row),
        xycoords=("axes fraction", "data"),
        xytext=(2, 0),
        textcoords="offset points",
        va="center",
        fontsize=6.5,
        color="#444444",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
    )
