"""Time of forward passes over the baseline's: a row for each encoding, a dot for each round, a bar at the median."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from wordorder.config.models import Analysed
from wordorder.drawing.style import PALETTE, panels, say, styled, wrap
from wordorder.results.frames import groups

_WIDTH = 5.0


@styled
def draw(frame: pd.DataFrame, analysed: Analysed) -> Figure:
    """A panel a dataset and size. An encoding without a measurement says so in its row."""
    report = analysed.report
    cut = list(groups(frame, ["dataset", "size"]))
    titles = {data.name: data.title for data in report.datasets}
    names = list(reversed(report.encodings))
    figure, axes = panels(len(cut), 2, _WIDTH, 1.2 + 0.24 * len(names))
    for panel, ((dataset, size), group) in zip(axes, cut, strict=True):
        panel.set_title(wrap(f"{titles[dataset]}, {size}", int(_WIDTH * 10)))
        measured = group.dropna(subset="ratio")
        if measured.empty:
            say(panel, "not measured")
            continue
        (device,) = measured["device"].unique()
        threads = f", {measured['threads'].iloc[0]} threads" if device == "cpu" else ""
        panel.set_xlabel(f"time over that of {report.baseline} ({device}{threads})")
        panel.set_yticks(range(len(names)), names)
        panel.set_ylim(-0.6, len(names) - 0.4)
        panel.axvline(1, color="#999999", linewidth=0.8, zorder=0)
        panel.grid(axis="x")
        for row, name in enumerate(names):
            own = measured.loc[measured["encoding"] == name, "ratio"]
            if own.empty:
                panel.text(1, row, " not measured", va="center", fontsize=7, color="#444444")
                continue
            panel.scatter(own, [row] * len(own), s=10, color=PALETTE[5], linewidths=0, zorder=2)
            panel.vlines(own.median(), row - 0.3, row + 0.3, color="#000000", linewidth=1.6, zorder=3)
            seconds = group.loc[group["encoding"] == name, "seconds"].median()
            panel.annotate(
                f"{own.median():.2f} ({_time(seconds)})", (1, row), xycoords=("axes fraction", "data"), xytext=(4, 0),
                textcoords="offset points", va="center", fontsize=7.5,
            )  # fmt: skip
    figure.supxlabel("dots: one round; bar and number: median", fontsize=7.5)
    return figure


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"
