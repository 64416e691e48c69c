"""Perplexity of the training and the validation set during training: one thin line per seed, a thick one for the mean.

A point of the training set is the mean over the batches since the previous validation: with dropout, and with weights
that were still changing. A point of the validation set covers all of it, without dropout. Neither has label smoothing.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from wordorder.drawing.style import cue, panels, styled, wrap
from wordorder.results.frames import CELL, groups

Progress = Literal["update", "epoch"]

SPLITS = {"train": "training", "valid": "validation"}


def drawn(metrics: pd.DataFrame) -> pd.DataFrame:
    """Return the plotted rows of the result of :func:`load_metrics`: one of the split 'train' for each of 'valid'.

    It is the mean loss since the previous validation, in which each report is weighted by its updates.
    """
    validated = metrics["split"] == "valid"
    train = metrics.assign(part=validated.cumsum())[~validated]
    train["updates"] = train["update"] - train.groupby(CELL, sort=False)["update"].shift(fill_value=0)
    # A loss of NaN must stay in the sum.
    train["loss"] = train["loss"].fillna(np.inf) * train["updates"]
    means = train.groupby([*CELL, "part"], sort=False, as_index=False).agg(
        {"split": "last", "update": "last", "epoch": "last", "updates": "sum", "loss": "sum"}
    )
    means["loss"] /= means["updates"]
    with np.errstate(over="ignore"):
        means["perplexity"] = np.exp(means["loss"])
    return pd.concat([means[metrics.columns], metrics[validated]], ignore_index=True)


@styled
def draw(metrics: pd.DataFrame, encodings: list[str], titles: dict[str, str], against: Progress = "update") -> Figure:
    """Draw the result of :func:`drawn`: for each dataset x size one panel per split."""
    cut = list(groups(metrics, ["dataset", "size"]))
    names = {encoding: wrap(f"{encoding}{seeds}", 24) for encoding, seeds in _seeds(metrics, encodings).items()}
    # The legend is at the side of the panels and needs room for all its lines.
    lines = sum(name.count("\n") + 1.2 for name in names.values())
    figure, axes = panels(2 * len(cut), 2, 4.1, max(3.3, 0.8 + 0.16 * lines))
    for number, ((dataset, size), group) in enumerate(cut):
        for panel, (split, text) in zip(axes[2 * number :], SPLITS.items(), strict=False):
            panel.set_title(wrap(f"{titles[dataset]}, {size}", 40))
            rows = group[group["split"] == split]
            for index, encoding in enumerate(encodings):
                _lines(panel, rows[rows["encoding"] == encoding], names[encoding], cue(index), against)
            panel.set_xlabel("updates" if against == "update" else "epochs")
            panel.set_ylabel(f"{text} perplexity (log scale)")
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


def _seeds(metrics: pd.DataFrame, encodings: list[str]) -> dict[str, str]:
    """Return for each encoding a remark if it has fewer seeds than the figure, such as " (1 of 3 seeds)"."""
    counts = metrics.groupby(["encoding", "dataset", "size"])["seed"].nunique().groupby("encoding").min()
    most = metrics["seed"].nunique()
    return {name: f" ({counts[name]} of {most} seeds)" if counts.get(name, most) < most else "" for name in encodings}


def mean_line(group: pd.DataFrame, against: Progress = "update") -> pd.Series:
    """Compute the mean perplexity over the seeds of one encoding, at points where every seed has one."""
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
    """Set ticks at 1, 2, 5 x 10^n in plain numbers, since perplexities rarely span more than two powers of ten."""
    panel.set_yscale("log")
    panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.yaxis.set_minor_formatter(NullFormatter())
    panel.grid(axis="y")
