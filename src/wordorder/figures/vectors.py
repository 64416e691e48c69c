"""The vectors that encodings give to positions: their similarity to one another, and the vectors themselves."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from wordorder.figures.style import panels, say, styled, wrap

Vectors = NDArray[np.float64]
# A panel has either vectors (L, d), or words that say why there are none.
Panels = dict[str, Vectors | str]


def similarity(vectors: Vectors) -> Vectors:
    """cos(P_i, P_j): (L, d) -> (L, L). A zero vector is similar to nothing."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return np.asarray(unit @ unit.T)


@styled
def draw_similarity(encodings: Panels) -> Figure:
    """A heat map of :func:`similarity` for each encoding, on one common scale from -1 to 1."""
    figure, axes = panels(len(encodings), 4, 2.6, 2.5)
    figure.set_figwidth(figure.get_figwidth() + 0.8)  # the colour bar
    images = [
        _heatmap(panel, name, value if isinstance(value, str) else similarity(value), limit=1.0)
        for panel, (name, value) in zip(axes, encodings.items(), strict=True)
    ]
    for panel, image in zip(axes, images, strict=True):
        if image is not None:
            panel.set_xlabel("position j")
            panel.set_ylabel("position i")
    shown = next((image for image in images if image is not None), None)
    if shown is not None:
        figure.colorbar(shown, ax=axes, label="cosine similarity of i and j", fraction=0.05, shrink=0.8)
    return figure


@styled
def draw_matrix(encodings: Panels) -> Figure:
    """The vectors of each encoding, positions x dimensions, each with its own range of values around zero."""
    figure, axes = panels(len(encodings), 3, 3.6, 2.5)
    for panel, (name, value) in zip(axes, encodings.items(), strict=True):
        limit = 1.0 if isinstance(value, str) else float(np.abs(value).max()) or 1.0
        image = _heatmap(panel, name, value, limit=limit, square=False)
        if image is not None:
            panel.set_xlabel("dimension")
            panel.set_ylabel("position")
            figure.colorbar(image, ax=panel, label="value")
    return figure


def _heatmap(panel: Axes, name: str, value: Vectors | str, *, limit: float, square: bool = True) -> AxesImage | None:
    panel.set_title(wrap(name, 26))
    if isinstance(value, str):
        say(panel, wrap(value, 26))
        panel.set_box_aspect(1 if square else None)
        return None
    image = panel.imshow(
        value,
        cmap="RdBu_r",
        vmin=-limit,
        vmax=limit,
        aspect="equal" if square else "auto",
        interpolation="nearest",
    )
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(MaxNLocator(5, integer=True, steps=[1, 2, 5, 10]))
    return image


def as_frame(encodings: Panels, *, similarities: bool) -> pd.DataFrame:
    """What is drawn: encoding, position, then a column for each other position (similarities) or each dimension."""
    frames: list[pd.DataFrame] = []
    for name, value in encodings.items():
        if isinstance(value, str):
            frames.append(pd.DataFrame({"encoding": [name], "position": [None], "note": [value]}))
            continue
        frame = pd.DataFrame(similarity(value) if similarities else value)
        frame.insert(0, "position", range(len(frame)))
        frame.insert(0, "encoding", name)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)
