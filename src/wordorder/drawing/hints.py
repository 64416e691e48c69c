"""Exact values of a figure's marks, which a browser shows at the mark under the pointer or the keyboard's focus.

Every SVG file of a figure holds them (:mod:`wordorder.drawing.marks`). Marks are found in the figure: points of
labelled lines and of scatter plots, means with error bars, bars, and cells of small images. A drawing function that can
describe its marks better calls :func:`hint`; then its panel has only these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PathCollection
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

from wordorder.drawing.marks import Hint

MOST = 2000  # marks per figure
_POINTS = 60  # per line
_CELLS = 600  # per image
_POINTS_PER_INCH = 72
_OWN = "_wordorder_hints"

Mark = tuple[float, float, str]
"""The place in units of the axes, and the values."""


def hint(panel: Axes, x: float, y: float, text: str) -> None:
    """Set the values of a mark.

    Args:
        panel: The panel.
        x: The place of the mark, in units of the panel's axes.
        y: The same, vertically.
        text: The values.
    """
    own: list[Mark] = getattr(panel, _OWN, [])
    setattr(panel, _OWN, [*own, (x, y, text)])


def hints(figure: Figure) -> list[Hint]:
    """Return the marks of a figure that has been drawn, at most ``MOST``."""
    found = []
    height = figure.bbox.height
    scale = _POINTS_PER_INCH / figure.dpi
    for panel in figure.axes:
        if not panel.get_visible():
            continue
        box = panel.bbox.padded(1)
        for x, y, text in getattr(panel, _OWN, None) or _marks(panel):
            if not (math.isfinite(x) and math.isfinite(y)):
                continue
            across, up = panel.transData.transform((x, y))
            if math.isfinite(across) and math.isfinite(up) and box.contains(across, up):
                found.append(Hint(round(across * scale, 1), round((height - up) * scale, 1), text))
    return found[:MOST]


def _marks(panel: Axes) -> Iterator[Mark]:
    """Yield the marks that are found in a panel."""
    in_containers: set[Line2D] = set()
    for container in panel.containers:
        if isinstance(container, ErrorbarContainer):
            data, caps, _ = container.lines
            in_containers.update([*caps, *([data] if data is not None else [])])
            yield from _error_bars(panel, container)
        elif isinstance(container, BarContainer):
            label = _label(container)
            for bar in container.patches:
                x, y = bar.get_x() + bar.get_width() / 2, bar.get_y() + bar.get_height()
                yield x, y, _text(panel, label, x, y)
    for line in panel.lines:
        if line not in in_containers and _label(line) and line.get_transform() == panel.transData:
            xs, ys = (np.asarray(values, dtype=float) for values in (line.get_xdata(), line.get_ydata()))
            for index in _spaced(len(xs)):
                yield xs[index], ys[index], _text(panel, _label(line), xs[index], ys[index])
    for collection in panel.collections:
        if isinstance(collection, PathCollection):
            for x, y in np.asarray(collection.get_offsets(), dtype=float):
                yield x, y, _text(panel, _label(collection), x, y)
    for image in panel.images:
        values = np.ma.getdata(np.asarray(image.get_array()))
        if values.ndim == 2 and values.size <= _CELLS:
            for (row, column), value in np.ndenumerate(values):
                left, right, bottom, top = image.get_extent()
                x = left + (right - left) * (column + 0.5) / values.shape[1]
                place = (row + 0.5) / values.shape[0]
                y = top + (bottom - top) * place if image.origin == "upper" else bottom + (top - bottom) * place
                yield x, y, f"{_text(panel, '', x, y)}: {value:.6g}"


def _error_bars(panel: Axes, container: ErrorbarContainer) -> Iterator[Mark]:
    """Yield means with the length of their bars, which are the same in both directions."""
    data, _, bars = container.lines
    if data is None:
        return
    xs, ys = (np.asarray(values, dtype=float) for values in (data.get_xdata(), data.get_ydata()))
    segments: Sequence[Any] = bars[0].get_segments() if bars else []
    for index, (x, y) in enumerate(zip(xs, ys, strict=True)):
        spread = ""
        if len(segments) == len(xs) and len(segments[index]) == 2:
            half = float(np.abs(np.subtract(*segments[index])).max()) / 2
            spread = f" ± {half:.6g}" if math.isfinite(half) else ""
        yield x, y, _text(panel, _label(container), x, y) + spread


def _spaced(count: int) -> list[int]:
    """Return the indices of at most ``_POINTS`` points, evenly spaced, with the first and the last."""
    return sorted({round(index) for index in np.linspace(0, count - 1, min(count, _POINTS)).tolist()}) if count else []


def _label(artist: Any) -> str:
    """Return the label of a mark in the legend, on one line; empty if it has none."""
    label = str(artist.get_label() or "")
    return "" if label.startswith("_") else one_line(label)


def _text(panel: Axes, label: str, x: float, y: float) -> str:
    parts = [_value(panel.xaxis, x, panel.get_xlabel()), _value(panel.yaxis, y, panel.get_ylabel())]
    return "; ".join(part for part in (label, *parts) if part)


def _value(axis: Axis, value: float, name: str) -> str:
    """Return a value with the name of its axis, or the label of its tick where ticks are names."""
    name = one_line(name)
    if isinstance(axis.get_major_locator(), FixedLocator):
        ticks = np.asarray(axis.get_majorticklocs(), dtype=float)
        labels = [one_line(tick.get_text()) for tick in axis.get_majorticklabels()]
        if len(ticks) and len(ticks) == len(labels):
            return labels[int(np.abs(ticks - value).argmin())]
    return f"{name}: {value:.6g}" if name else f"{value:.6g}"


def one_line(text: str) -> str:
    """Join the lines of a wrapped text: without a space after a mark, behind which names are broken."""
    lines = text.split("\n")
    return "".join(line if line.endswith(tuple("_+./-")) else f"{line} " for line in lines).strip()
