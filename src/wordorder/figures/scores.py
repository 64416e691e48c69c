"""Scores: a column for each encoding, a dot for each seed, the mean with its standard deviation; a panel a test set."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from wordorder.drawing.style import PALETTE, panels, styled, wrap
from wordorder.metrics.scores import LABELS, LOWER_IS_BETTER
from wordorder.results.frames import groups

_SEED, _MEAN, _BASELINE = PALETTE[5], "#000000", PALETTE[1]


@styled
def draw(scores: pd.DataFrame, metric: str, encodings: list[str], baseline: str, titles: dict[str, str]) -> Figure:
    """Draw the rows of ``scores`` (columns dataset, size, encoding, seed, test, metric, score) of one metric.

    A panel for each dataset x test set x size. A seed without a score is counted below its column, never left out
    in silence. ``titles`` maps the names of datasets to their titles.
    """
    chosen = scores[scores["metric"] == metric]
    cut = list(groups(chosen, ["dataset", "test", "size"]))
    several = chosen[["dataset", "size"]].nunique()
    names = [halve(name) for name in encodings]
    longest = max(len(line) for name in names for line in name.split("\n"))
    width = max(3.4, 0.9 + 0.45 * len(names))
    figure, axes = panels(len(cut), max(1, int(11 // width)), width, 2.4 + 0.045 * longest)
    for panel, ((dataset, test, size), group) in zip(axes, cut, strict=True):
        parts = [titles[dataset]] if several["dataset"] > 1 else []
        parts += [test] + ([size] if several["size"] > 1 else [])
        panel.set_title(wrap(", ".join(parts), int(width * 11)))
        seed_columns(panel, group, encodings, baseline)
        panel.set_xticks(range(len(names)), names, rotation=40, ha="right", rotation_mode="anchor")
        panel.set_ylabel(LABELS[metric] + (" (lower is better)" if metric in LOWER_IS_BETTER else ""))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels) if figure.get_figwidth() > 6 else 1)
    return figure


def halve(name: str, width: int = 18) -> str:
    """A long name in two lines, cut at the mark nearest to its middle; two slanted lines have room in a column."""
    cuts = [i + 1 for i, character in enumerate(name[:-1]) if character in "_+.-"]
    if len(name) <= width or not cuts:
        return name
    cut = min(cuts, key=lambda i: abs(i - len(name) / 2))
    return f"{name[:cut]}\n{name[cut:]}"


def seed_columns(panel: Axes, group: pd.DataFrame, encodings: list[str], baseline: str) -> None:
    """A column for each encoding with what is in the columns ``encoding`` and ``score`` of ``group``, a row a seed."""
    panel.grid(axis="y")
    kept = group.dropna(subset="score")
    if kept.empty:
        panel.text(0.5, 0.5, "no scores", transform=panel.transAxes, ha="center", va="center", color="#444444")
    places, scores, means, sds = [], [], [], []
    for column, encoding in enumerate(encodings):
        found = group.loc[group["encoding"] == encoding, "score"]
        values = list(found.dropna())
        # The seeds stand side by side left of the middle, their mean right of it, so that neither hides the other.
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
