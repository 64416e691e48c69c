"""One column per encoding: one dot per seed, and the mean with its standard deviation."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from wordorder.config.models import Report
from wordorder.drawing.lines import at, places, title
from wordorder.drawing.style import PALETTE, panels, wrap

_LINE = 18  # characters of a name that fit into one line
_SEED, _MEAN, _BASELINE = PALETTE[5], "#000000", PALETTE[1]


def draw(frame: pd.DataFrame, report: Report, values: Mapping[str, str], *, shares: bool = False) -> Figure:
    """Draw columns of a frame: one row of panels per test set, one column of panels per value.

    Args:
        frame: One row per cell and test set.
        report: The study.
        values: The columns to draw, with the labels of their axes.
        shares: Whether the values are shares, to be shown in per cent.

    Returns:
        The figure.
    """
    names = [halve(name) for name in report.encodings]
    longest = max(len(line) for name in names for line in name.split("\n"))
    width = max(3.4, 0.9 + 0.45 * len(names))
    where = places(frame)
    columns = len(values) if len(values) > 1 else max(1, int(11 // width))
    figure, axes = panels(len(where) * len(values), columns, width, 2.4 + 0.045 * longest)
    for index, panel in enumerate(axes):
        place = where[index // len(values)]
        trained = report.encodings_of(place[2])
        value = list(values)[index % len(values)]
        panel.set_title(wrap(title(report, place), int(width * 11)))
        own = at(frame, place).rename(columns={value: "score"})
        seed_columns(panel, own, trained, report.baseline)
        panel.set_xticks(
            range(len(trained)), list(map(halve, trained)), rotation=40, ha="right", rotation_mode="anchor"
        )
        panel.set_ylabel(values[value])
        if shares:
            panel.yaxis.set_major_formatter(PercentFormatter(1, decimals=None))
    handles, labels = axes[0].get_legend_handles_labels()
    if "score" not in values:
        labels = ["one seed" if label == "score of one seed" else label for label in labels]
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels) if figure.get_figwidth() > 6 else 1)
    return figure


def halve(name: str) -> str:
    """Break a long name into two lines at the mark nearest to its middle; two slanted lines fit into a column."""
    cuts = [i + 1 for i, character in enumerate(name[:-1]) if character in "_+.-"]
    if len(name) <= _LINE or not cuts:
        return name
    cut = min(cuts, key=lambda i: abs(i - len(name) / 2))
    return f"{name[:cut]}\n{name[cut:]}"


def seed_columns(panel: Axes, group: pd.DataFrame, encodings: list[str], baseline: str) -> None:
    """Draw one column per encoding from the columns ``encoding`` and ``score`` of ``group``, one row per seed."""
    panel.grid(axis="y")
    kept = group.dropna(subset="score")
    if kept.empty:
        panel.text(0.5, 0.5, "no scores", transform=panel.transAxes, ha="center", va="center", color="#444444")
    places, scores, means, sds = [], [], [], []
    for column, encoding in enumerate(encodings):
        found = group.loc[group["encoding"] == encoding, "score"]
        values = list(found.dropna())
        # The seeds are left of the middle and their mean right of it, so that neither hides the other.
        places += [column - 0.12 + 0.26 * ((i + 0.5) / len(values) - 0.5) for i in range(len(values))]
        scores += values
        means.append(found.mean())
        sds.append(found.std())
        if len(values) < len(found):
            _count_missing(panel, column, len(found) - len(values), len(found))
    panel.scatter(places, scores, s=16, color=_SEED, linewidths=0, label="score of one seed", zorder=2)
    panel.errorbar(
        [column + 0.18 for column in range(len(encodings))],
        means,
        yerr=sds,
        fmt="D",
        markersize=3.5,
        color=_MEAN,
        capsize=3,
        elinewidth=1.2,
        label="mean ± standard deviation over seeds",
        zorder=3,
    )
    if baseline in encodings:
        level = means[encodings.index(baseline)]
        panel.axhline(level, color=_BASELINE, linestyle="--", linewidth=1, label=f"mean of {baseline}", zorder=1)
    panel.set_xlim(-0.6, len(encodings) - 0.4)
    panel.margins(y=0.22)


def _count_missing(panel: Axes, column: int, missing: int, asked: int) -> None:
    panel.annotate(
        f"{missing} of {asked}\nmissing",
        (column, 0),
        xycoords=("data", "axes fraction"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=6.5,
        color="#444444",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
    )
