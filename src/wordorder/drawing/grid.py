"""Many encodings in one figure: one row each, one column per bucket, position or probe, with the means as numbers.

More than a few lines with error bars are unreadable in one panel. Colour shows the difference from the baseline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from wordorder.config.models import Report
from wordorder.drawing.hints import hint, one_line
from wordorder.drawing.lines import missing_cells
from wordorder.drawing.style import say, wrap

LINES = 8  # largest number of encodings in a panel of lines
_COLOURS = "PuOr"  # its ends are distinguishable for colour-blind readers, and its middle is white


@dataclass(frozen=True)
class Grid:
    """One panel: ``means`` has the encodings as its index and the labels of the ticks as its columns.

    A line is drawn before each column of ``begins``, where another kind of columns begins.
    """

    title: str
    axis: str
    means: pd.DataFrame
    form: str = "{:.1f}"
    begins: Sequence[int] = ()


def crowded(report: Report) -> bool:
    """Return whether the encodings are too many for lines."""
    return len(report.encodings) > LINES


def draw_grids(rows: Sequence[Sequence[Grid]], frame: pd.DataFrame, report: Report, note: str) -> Figure:
    """Draw a figure with these rows of panels; ``note`` describes the numbers. Call it in the style."""
    columns = max(4, *(len(grid.means.columns) for row in rows for grid in row))
    names = max(len(encoding) for encoding in report.encodings)
    width = len(rows[0]) * (0.3 + 0.42 * columns) + 0.07 * names
    colours = f"orange below and violet above {report.baseline}, white where level with it"
    panels = [grid.means.reindex(report.encodings) for row in rows for grid in row]
    uncoloured = any(_uncoloured(values, report).any(axis=None) for values in panels)
    grey = f"grey where {report.baseline} has no score" if uncoloured else ""
    said = "; ".join(filter(None, ["mean over seeds", note, colours, grey]))
    below = [wrap(line, int(width * 14)) for line in [said, *missing_cells(frame, report)]]
    lines = sum(line.count("\n") + 1 for line in below)
    figure = Figure(figsize=(width, len(rows) * (1.0 + 0.17 * len(report.encodings)) + 0.2 + 0.16 * lines))
    axes = figure.subplots(len(rows), len(rows[0]), squeeze=False)
    letters = int(5.5 * columns)
    for drawn, grids in zip(axes, rows, strict=True):
        for column, (panel, grid) in enumerate(zip(drawn, grids, strict=True)):
            panel.set_title(wrap(grid.title, letters))
            _panel(panel, replace(grid, axis=wrap(grid.axis, letters)), report, named=column == 0)
    figure.supxlabel("\n".join(below), fontsize=8)
    return figure


def _uncoloured(values: pd.DataFrame, report: Report) -> pd.DataFrame:
    """Return which scores cannot be compared with the baseline, because it has none there."""
    return values.notna() & values.loc[report.baseline].isna()


def _panel(panel: Axes, grid: Grid, report: Report, *, named: bool) -> None:
    values = grid.means.reindex(report.encodings)
    if values.isna().all(axis=None):
        say(panel, "nothing measured")
        return
    gaps = (values - values.loc[report.baseline]).to_numpy(dtype=float)
    top = float(np.nanmax(np.abs(gaps))) if np.isfinite(gaps).any() else 0.0
    # With equal scores, everything is white.
    shown = np.ma.masked_array(np.nan_to_num(gaps), _uncoloured(values, report).to_numpy())
    colours = colormaps[_COLOURS].with_extremes(bad="0.85")
    panel.imshow(shown, cmap=colours, vmin=-top or -1, vmax=top or 1, aspect="auto")
    for (row, column), value in np.ndenumerate(values.to_numpy(dtype=float)):
        if np.isfinite(value):
            name = f"{values.index[row]}; {one_line(str(values.columns[column]))}"
            hint(panel, column, row, f"{name}: {value:.6g} ({gaps[row, column]:+.6g} from {report.baseline})")
            dark = top and abs(np.nan_to_num(gaps[row, column])) > 0.7 * top
            colour = "white" if dark else "black"
            panel.text(column, row, grid.form.format(value), ha="center", va="center", fontsize=6.5, color=colour)
    panel.set_xticks(range(len(values.columns)), list(values.columns), fontsize=7)
    panel.set_yticks(range(len(values)), list(values.index) if named else [""] * len(values), fontsize=7)
    panel.get_yticklabels()[list(values.index).index(report.baseline)].set_fontweight("bold")
    panel.tick_params(length=0)
    panel.set_xlabel(grid.axis)
    for column in grid.begins:
        panel.axvline(column - 0.5, color="black", linewidth=0.8)
