"""A figure of one encoding: its vectors, their similarity, and the attention of equal tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from wordorder.drawing.style import panels, say, styled
from wordorder.figures.vectors import heatmap, similarity

Array = NDArray[np.float64]


@styled
def draw_inspection(vectors: Array | None, weights: Array | None) -> Figure:
    """Draw an encoding.

    Args:
        vectors: The vectors of positions, (L, d), or None if it has none.
        weights: Attention weights of equal tokens, (H, L, L), or None if they cannot be computed outside a model.
    """
    drawn: list[tuple[str, Array, tuple[str, str], dict[str, Any]]] = []
    if vectors is not None:
        drawn.append(("vectors", vectors, ("dimension", "position"), {"square": False}))
        drawn.append(("cosine similarity", similarity(vectors), ("position j", "position i"), {"limit": 1.0}))
    if weights is not None:
        # One scale for both heads. It exceeds the weights of even attention, 1 / L, so that these look small and even.
        limit = max(float(weights.max()), 4 / weights.shape[-1])
        shown: dict[str, Any] = {"limit": limit, "signed": False}
        for head in dict.fromkeys((0, len(weights) - 1)):
            drawn.append((f"attention of equal tokens, head {head + 1}", weights[head], ("key", "query"), shown))
    figure, axes = panels(max(1, len(drawn)), 4, 2.8, 2.5)
    if not drawn:
        say(axes[0], "no vectors, and no attention outside a model")
    for panel, (title, values, labels, settings) in zip(axes, drawn, strict=False):
        panel.set_title(title)
        image = heatmap(panel, values, labels, **settings)
        figure.colorbar(image, ax=panel, shrink=0.8)
    return figure
