"""Scores: a column for each encoding, a dot for each seed, the mean with its standard deviation; a panel a test set."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from wordorder.drawing.seeds import halve, seed_columns
from wordorder.drawing.style import panels, styled, wrap
from wordorder.metrics import base
from wordorder.results.frames import groups


@styled
def draw(scores: pd.DataFrame, metric: str, encodings: list[str], baseline: str, titles: dict[str, str]) -> Figure:
    """Draw the rows of ``scores`` (columns dataset, size, encoding, seed, test, metric, score) of one metric.

    A panel for each dataset x test set x size. A seed without a score is counted below its column, never left out
    in silence. ``titles`` maps the names of datasets to their titles.
    """
    chosen, described = scores[scores["metric"] == metric], base.metric(metric)
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
        panel.set_ylabel(described.label + (" (lower is better)" if described.lower_is_better else ""))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels) if figure.get_figwidth() > 6 else 1)
    return figure
