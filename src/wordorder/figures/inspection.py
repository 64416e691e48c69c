"""A figure of one encoding: its vectors, their similarity, and the attention of equal tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from wordorder.drawing.style import panels, say, styled
from wordorder.figures.vectors import heatmap, similarity

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Matrix:
    """A matrix that is drawn as one panel.

    Attributes:
        name: What its values are.
        values: The values, (rows, columns).
        labels: The names of columns and rows.
        head: The attention head, from 1, if it belongs to one.
        settings: Arguments of :func:`wordorder.figures.vectors.heatmap`.
    """

    name: str
    values: Array
    labels: tuple[str, str]
    head: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)


def matrices(vectors: Array | None, weights: Array | None) -> list[Matrix]:
    """List what is drawn of an encoding.

    Args:
        vectors: The vectors of positions, (L, d), or None if it has none.
        weights: Attention weights of equal tokens, (H, L, L), or None if they cannot be computed outside a model.
    """
    found: list[Matrix] = []
    if vectors is not None:
        found.append(Matrix("vectors", vectors, ("dimension", "position"), settings={"square": False}))
        labels = ("position j", "position i")
        found.append(Matrix("cosine similarity", similarity(vectors), labels, settings={"limit": 1.0}))
    if weights is not None:
        # One scale for both heads. It exceeds the weights of even attention, 1 / L, so that these look small and even.
        limit = max(float(weights.max()), 4 / weights.shape[-1])
        for head in dict.fromkeys((1, len(weights))):
            settings = {"limit": limit, "signed": False}
            found.append(Matrix("attention of equal tokens", weights[head - 1], ("key", "query"), head, settings))
    return found


@styled
def draw_inspection(drawn: Sequence[Matrix]) -> Figure:
    """Draw an encoding, one panel per matrix."""
    figure, axes = panels(max(1, len(drawn)), 4, 2.8, 2.5)
    if not drawn:
        say(axes[0], "no vectors, and no attention outside a model")
    for panel, matrix in zip(axes, drawn, strict=False):
        panel.set_title(matrix.name + (f", head {matrix.head}" if matrix.head else ""))
        image = heatmap(panel, matrix.values, matrix.labels, **matrix.settings)
        figure.colorbar(image, ax=panel, shrink=0.8)
    return figure


def inspection_frame(drawn: Sequence[Matrix]) -> pd.DataFrame:
    """Return one row per value drawn: drawn (the name of its matrix), head (empty for vectors), row, column, value.

    Rows and columns count from 0, as in the figure: positions and dimensions, or queries and keys.
    """
    columns = ["drawn", "head", "row", "column", "value"]
    rows = [
        (matrix.name, matrix.head, row, column, value)
        for matrix in drawn
        for (row, column), value in np.ndenumerate(matrix.values)
    ]
    return pd.DataFrame(rows, columns=columns).astype({"head": "Int64"})
