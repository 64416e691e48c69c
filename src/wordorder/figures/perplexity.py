"""Perplexity of the training and the validation set during training: one thin line per seed, a thick one for the mean.

A third panel shows the lowest value on the validation set in one row per encoding, and is the legend of the lines.

A point of the training set is the mean over the batches since the previous validation: with dropout, and with weights
that were still changing. A point of the validation set covers all of it, without dropout. Neither has label smoothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from wordorder.drawing.hints import hint
from wordorder.drawing.style import cue, panels, styled, wrap
from wordorder.results.frames import CELL, groups

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
def draw(metrics: pd.DataFrame, cells: pd.DataFrame, encodings: list[str], titles: dict[str, str]) -> Figure:
    """Draw for each dataset x size one panel per split, and one of the lowest values.

    Args:
        metrics: The result of :func:`drawn`.
        cells: Each cell of the study, CELL, with the status of its training, as :func:`load_records` returns them.
        encodings: The encodings in their order.
        titles: The title of each dataset.
    """
    places = list(groups(_ended(metrics, cells), ["dataset", "size"]))
    names = {place: {name: _name(name, own) for (name,), own in groups(rows, ["encoding"])} for place, rows in places}
    looks = {encoding: cue(index) for index, encoding in enumerate(encodings)}
    splits = {split: text for split, text in SPLITS.items() if split in set(metrics["split"])}
    runs = dict(groups(metrics, ["dataset", "size", "split"]))
    columns = len(splits) + 1
    lines = sum(max(of.get(name, "").count("\n") + 1 for of in names.values()) for name in encodings)
    figure, axes = panels(columns * len(places), columns, 3.7, max(3.3, 1.0 + 0.19 * lines))
    for number, ((dataset, size), ended) in enumerate(places):
        *curves, ends = axes[columns * number : columns * (number + 1)]
        for panel in (*curves, ends):
            panel.set_title(wrap(f"{titles[dataset]}, {size}", 40))
        for panel, (split, text) in zip(curves, splits.items(), strict=True):
            rows = runs.get((dataset, size, split), metrics[:0])
            for encoding, look in looks.items():
                _lines(panel, rows[rows["encoding"] == encoding], encoding, look)
            panel.set_xlabel("updates")
            panel.set_ylabel(f"{text} perplexity (log scale)")
            panel.set_yscale("log")
            _plain_numbers(panel.yaxis)
            panel.grid(axis="y")
        shown = names[dataset, size]
        _lowest(ends, ended, {name: looks[name] for name in shown})
        ends.set_yticks(range(len(shown)), list(shown.values()))
        ends.set_ylim(len(shown) - 0.4, -0.6)
    figure.supxlabel("Thick lines and large marks: mean over seeds. Thin lines and dots: one seed.", fontsize=8)
    return figure


def _ended(metrics: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Return each cell, whether its training ``diverged``, and otherwise its ``lowest`` validation perplexity.

    A training may diverge between two validations, and then only its record says so.
    """
    runs = metrics[metrics["split"] == "valid"].groupby(CELL)["perplexity"]
    ended = cells.set_index(CELL)[["status"]]
    lost = runs.agg(lambda run: not np.isfinite(run.iloc[-1])).reindex(ended.index, fill_value=False)
    diverged = lost | (ended["status"] == "diverged")
    return ended.assign(diverged=diverged, lowest=runs.min().where(~diverged)).reset_index()


def _name(encoding: str, cells: pd.DataFrame) -> str:
    """Return the name of an encoding, with a remark if it lacks seeds, such as "rope (1 of 3 seeds, 1 diverged)"."""
    finished, diverged = cells["lowest"].count(), cells["diverged"].sum()
    lost = f", {diverged} diverged" if diverged else ""
    return wrap(encoding if finished == len(cells) else f"{encoding} ({finished} of {len(cells)} seeds{lost})", 24)


def mean_line(group: pd.DataFrame) -> pd.Series:
    """Compute the mean perplexity over the seeds of one encoding, after the updates at which every seed has one."""
    finite = group.replace({"perplexity": float("inf")}, float("nan"))
    table = finite.pivot_table(index="update", columns="seed", values="perplexity", aggfunc="last", dropna=False)
    return table.dropna().mean(axis=1)


def _lines(panel: Axes, group: pd.DataFrame, name: str, look: dict[str, Any]) -> None:
    if group.empty:
        return
    for _, run in group.groupby("seed"):
        panel.plot(run["update"], run["perplexity"], color=look["color"], linewidth=0.5, alpha=0.45)
    mean = mean_line(group)
    every = max(1, len(mean) // 8)
    panel.plot(mean.index, mean, label=name, linewidth=1.6, markersize=4, markevery=every, **look)


def _lowest(panel: Axes, ended: pd.DataFrame, looks: dict[str, dict[str, Any]]) -> None:
    """Draw one row per encoding, in the colour, dashes and marker of its lines in the other panels.

    What a training reached before it diverged is not shown.
    """
    lowest = ended.dropna(subset="lowest").set_index(["encoding", "seed"])["lowest"].sort_index()
    panel.set_xscale("log")
    if lowest.empty:
        panel.set_xticks([])
    else:
        # Every row has a line, also that of the lowest mean.
        margin = 1.01 * (lowest.max() / lowest.min()) ** 0.12
        start, end = lowest.min() / margin, lowest.max() * margin
        panel.set_xlim(start, end)
        for row, (encoding, look) in enumerate(looks.items()):
            if encoding not in lowest:
                continue
            seeds = lowest[encoding]
            panel.plot([start, seeds.mean()], [row, row], linewidth=1.6, markersize=5, markevery=[1], **look)
            panel.scatter(seeds, [row - 0.28] * len(seeds), s=8, color=look["color"], linewidths=0)
            hint(panel, seeds.mean(), row, f"{encoding}: {seeds.mean():.4g}, mean of {len(seeds)}")
            for seed, value in seeds.items():
                hint(panel, value, row - 0.28, f"{encoding}, seed {seed}: {value:.4g}")
        _plain_numbers(panel.xaxis, few=end < 4 * start)
    panel.set_xlabel("lowest validation perplexity (log scale)")
    panel.grid(axis="x")


def _plain_numbers(axis: Axis, *, few: bool = False) -> None:
    """Set ticks of a log axis in plain numbers: at 1, 2, 5 x 10^n, or with ``few``, where these are few, at others."""
    axis.set_major_locator(MaxNLocator(4) if few else LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator() if few else axis.get_minor_locator())
    axis.set_minor_formatter(NullFormatter())
