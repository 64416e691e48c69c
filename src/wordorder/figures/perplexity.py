"""Perplexity on the validation set during training: a thin line for each seed, a thick one for the mean."""

from __future__ import annotations

from typing import Any, Literal

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from wordorder.evaluation.results import groups
from wordorder.figures.style import cue, panels, styled, wrap

Progress = Literal["update", "epoch"]


@styled
def draw(metrics: pd.DataFrame, encodings: list[str], titles: dict[str, str], against: Progress = "update") -> Figure:
    """Draw ``metrics`` (columns dataset, size, encoding, seed, update, epoch, perplexity); a panel a dataset x size."""
    cut = list(groups(metrics, ["dataset", "size"]))
    names = {encoding: wrap(encoding, 24) for encoding in encodings}
    # The legend stands beside the panels: room for all its lines.
    lines = sum(name.count("\n") + 1.2 for name in names.values())
    figure, axes = panels(len(cut), 2, 4.6, max(3.3, 0.8 + 0.16 * lines))
    for panel, ((dataset, size), group) in zip(axes, cut, strict=True):
        panel.set_title(wrap(f"{titles[dataset]}, {size}", 46))
        for index, encoding in enumerate(encodings):
            _lines(panel, group[group["encoding"] == encoding], names[encoding], cue(index), against)
        panel.set_xlabel("updates" if against == "update" else "epochs")
        panel.set_ylabel("validation perplexity (log scale)")
        _log_axis(panel)
    for encoding in encodings:
        if encoding not in set(metrics["encoding"]):
            axes[0].plot([], [], linestyle="", label=f"{names[encoding]} (no validation)")
            names[encoding] += " (no validation)"
    found: dict[str, Artist] = {}
    for panel in axes:
        handles, labels = panel.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    ordered = [name for name in names.values() if name in found]
    figure.legend(
        [found[name] for name in ordered],
        ordered,
        loc="outside right upper",
        title="thick: mean over seeds\nthin: each seed",
    )
    return figure


def mean_line(group: pd.DataFrame, against: Progress = "update") -> pd.Series:
    """Mean perplexity over the seeds of one encoding, where every seed has a validation: no seed drops out midway."""
    finite = group.replace({"perplexity": float("inf")}, float("nan"))
    table = finite.pivot_table(index=against, columns="seed", values="perplexity", aggfunc="last")
    return table.dropna().mean(axis=1)


def _lines(panel: Axes, group: pd.DataFrame, name: str, look: dict[str, Any], against: Progress) -> None:
    if group.empty:
        return
    for _, run in group.groupby("seed"):
        panel.plot(run[against], run["perplexity"], color=look["color"], linewidth=0.5, alpha=0.45)
    mean = mean_line(group, against)
    every = max(1, len(mean) // 8)
    panel.plot(mean.index, mean, label=name, linewidth=1.6, markersize=4, markevery=every, **look)


def _log_axis(panel: Axes) -> None:
    """Ticks at 1, 2, 5 x 10^n in plain numbers, since perplexities rarely span more than two powers of ten."""
    panel.set_yscale("log")
    panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.yaxis.set_minor_formatter(NullFormatter())
    panel.grid(axis="y")
