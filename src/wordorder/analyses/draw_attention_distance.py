"""Attention distance of every head: a row of panels an encoding, a column a stack; layers by heads, nearest first."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from wordorder.config.models import Analysed
from wordorder.drawing.lines import at, missing_cells, places, title
from wordorder.drawing.style import panels, say, styled, wrap

STACKS = ("encoder", "decoder")
_PER_ROW = 3  # encodings


@styled
def draw(frame: pd.DataFrame, analysed: Analysed) -> Figure:
    """Draw the distances that ``attention_distance`` gives, on the first test set of each dataset and size.

    Heads have no order that seeds share: those of a layer are sorted by distance before the mean over seeds is taken.
    """
    report = analysed.report
    first = {dataset.name: dataset.tests[0] for dataset in report.datasets}
    where = [place for place in places(frame) if place[1] == first[place[0]]]
    asked = [(place, encoding, stack) for place in where for encoding in report.encodings for stack in STACKS]
    known = frame.dropna(subset="layer")
    heads = int(known["head"].max()) if len(known) else 1
    layers = int(known["layer"].max()) if len(known) else 1
    columns = 2 * min(_PER_ROW, len(report.encodings))
    figure, axes = panels(len(asked), columns, 1.2 + 0.28 * heads, 1.1 + 0.28 * layers)
    top = float(known["distance"].max()) if len(known) else 1.0
    image: AxesImage | None = None
    for panel, (place, encoding, stack) in zip(axes, asked, strict=True):
        rows = at(frame, place)
        own = rows[(rows["encoding"] == encoding) & (rows["stack"] == stack)].dropna(subset="distance")
        several = f"{title(report, place)}\n" if len(where) > 1 else ""
        panel.set_title(f"{several}{wrap(encoding, 20)}\n{stack}", fontsize=8)
        if own.empty:
            say(panel, "not\nmeasured")
            continue
        image = _heatmap(panel, mean_profile(own), top, own["uniform_distance"].mean())
    if image is not None:
        note = f"mean |i - j|, {first[report.datasets[0].name]}" if len(where) == 1 else "mean |i - j|"
        figure.colorbar(image, ax=axes, label=note, shrink=0.7, aspect=30)
    missing = missing_cells(frame, report)
    if missing:
        figure.supxlabel("\n".join(missing), fontsize=7)
    return figure


def mean_profile(rows: pd.DataFrame) -> np.ndarray:
    """(layers, heads): each seed's heads sorted by distance, then the mean over seeds."""
    seeds = [
        np.stack([np.sort(layer["distance"].to_numpy()) for _, layer in seed.groupby("layer")])
        for _, seed in rows.groupby("seed")
    ]
    mean: np.ndarray = np.mean(seeds, axis=0)
    return mean


def _heatmap(panel: Axes, values: np.ndarray, top: float, even: float) -> AxesImage:
    image = panel.imshow(values, vmin=0, vmax=top, cmap="cividis", aspect="auto", origin="lower")
    panel.set_xticks(range(values.shape[1]), [str(head) for head in range(1, values.shape[1] + 1)])
    panel.set_yticks(range(values.shape[0]), [str(layer) for layer in range(1, values.shape[0] + 1)])
    panel.set_xlabel(f"head, nearest first\n(even attention: {even:.1f})", fontsize=7)
    panel.set_ylabel("layer", fontsize=8)
    for (row, column), value in np.ndenumerate(values):
        if values.size <= 48:
            colour = "black" if value > 0.6 * top else "white"
            panel.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=6, color=colour)
    return image
