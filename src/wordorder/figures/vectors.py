"""The position vectors of encodings, and their similarities."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from wordorder.config.models import Report, Untrained
from wordorder.drawing.style import cue, panels, say, styled, wrap
from wordorder.encodings.base import Shape, Stack
from wordorder.encodings.registry import build
from wordorder.errors import WordorderError
from wordorder.results.frames import cell_folders

Vectors = NDArray[np.float64]
# A panel has either vectors (L, d), or a text with the reason why there are none.
Panels = dict[str, Vectors | str]

_POSITIONS = 64  # number of positions by default
_HEAD_DIM = 64


def load(
    report: Report, results: Path, *, dataset: str, size: str, seed: int, stack: Stack, length: int | None
) -> Panels:
    """Read the vectors (length, d) of each encoding from its trained model, or the reason why there are none.

    A report with encodings that are drawn without models needs no results.

    Raises:
        WordorderError: There is no such model of any encoding, or ``length`` is not positive.
    """
    import torch

    from wordorder.model.checkpoint import load_model

    length = length if length is not None else report.shown_positions or _POSITIONS
    if length < 1:
        raise WordorderError(
            f"--length must be at least 1 position, not {length}.", code="wrong-option", key="--length", found=length
        )
    if report.untrained is not None:
        return {name: untrained(report.untrained, name, stack, length) for name in report.encodings}
    chosen = {"dataset": dataset, "size": size, "seed": seed}
    models = {
        cell["encoding"]: files.model
        for cell, files in cell_folders(report, results)
        if chosen.items() <= cell.items() and files.model.is_file()
    }
    if not models:
        raise WordorderError(
            f"There is no trained model of dataset '{dataset}', size '{size}' and seed {seed} in {results}. "
            "Train one, or choose others with --dataset, --size and --seed.",
            code="no-model",
            path=results,
        )
    found: Panels = {}
    for encoding in report.encodings_of(size):
        if encoding not in models:
            found[encoding] = f"no trained model of seed {seed}"
            continue
        learned = load_model(models[encoding]).encoding
        limit = learned.limit(stack)  # A learned table has a limited length.
        with torch.no_grad():
            table = learned.table(length if limit is None else min(length, limit), stack)
        if table is None:
            found[encoding] = f"no vector for a position in the {stack}"
        elif not bool(table.isfinite().all()):
            found[encoding] = f"the training of seed {seed} diverged"
        else:
            found[encoding] = table.double().cpu().numpy()
    return found


def untrained(asked: Untrained, name: str, stack: Stack, length: int) -> Vectors | str:
    """Compute the vectors (length, d) of an encoding that no training changes, or the reason why there are none.

    Args:
        asked: The model size and the encodings.
        name: The name of one of them.
        stack: The stack.
        length: Number of positions.
    """
    import torch

    encoding = build(asked.encodings[name], Shape(asked.dim, max(1, asked.dim // _HEAD_DIM), 1, 1))
    limit = encoding.limit(stack)  # A learned table has a limited length.
    length = length if limit is None else min(length, limit)
    with torch.no_grad():
        table = encoding.table(length, stack)
        if table is None:
            return f"no vector for a position in the {stack}"
        fixed = table.clone()
        for parameter in encoding.parameters():
            parameter.add_(1.0)  # as training may
        changed = encoding.table(length, stack)
    if changed is None or not torch.equal(fixed, changed):
        return "its vectors are learned, and this figure is drawn without models"
    return fixed.double().cpu().numpy()


def _alike(encodings: Panels) -> list[tuple[int, str, Vectors | str]]:
    """Group encodings with equal vectors: (index of the first, names, vectors or text).

    An encoding that is also composed with relative positions would otherwise be drawn twice.
    """
    found: list[tuple[int, list[str], Vectors | str]] = []
    for index, (name, value) in enumerate(encodings.items()):
        same = (names for _, names, other in found if not isinstance(value, str) and np.array_equal(value, other))
        names = next(same, None)
        if names is None:
            found.append((index, [name], value))
        else:
            names.append(name)
    return [(index, ", ".join(names), value) for index, names, value in found]


def similarity(vectors: Vectors) -> Vectors:
    """Compute cos(P_i, P_j), (L, d) to (L, L). A zero vector is similar to nothing."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return np.asarray(unit @ unit.T)


@styled
def draw_similarity(encodings: Panels) -> Figure:
    """Draw a heat map of :func:`similarity` per encoding, on one common scale from -1 to 1."""
    figure, drawn = _panels(encodings, 4, 2.6, 2.5)
    for panel, vectors in drawn:
        image = heatmap(panel, similarity(vectors), ("position j", "position i"), limit=1.0)
    if drawn:
        figure.set_figwidth(figure.get_figwidth() + 0.8)  # the colour bar
        axes = [panel for panel, _ in drawn]
        figure.colorbar(image, ax=axes, label="cosine similarity of i and j", fraction=0.05, shrink=0.8)
    return figure


@styled
def draw_matrix(encodings: Panels) -> Figure:
    """Draw the vectors of each encoding, positions x dimensions, each with its own range of values around zero."""
    figure, drawn = _panels(encodings, 3, 3.6, 2.5)
    for panel, vectors in drawn:
        image = heatmap(panel, vectors, ("dimension", "position"), square=False)
        figure.colorbar(image, ax=panel, label="value")
    return figure


@styled
def draw_products(encodings: Panels) -> Figure:
    """Draw P_i · P_j of all positions, one heat map per encoding, each with its own range (Figure 3 of the article)."""
    figure, drawn = _panels(encodings, 3, 3.4, 2.6)
    for panel, vectors in drawn:
        image = heatmap(panel, vectors @ vectors.T, ("position j", "position i"))
        figure.colorbar(image, ax=panel, label="dot product of i and j", shrink=0.8)
    return figure


@styled
def draw_profile(encodings: Panels) -> Figure:
    """Draw cosine similarities of the middle position to all others, one line per encoding (OPR paper, Figure 6)."""
    figure, panel = _lines(encodings, profile, "cosine similarity")
    panel.set_xlabel("distance from the middle position")
    panel.axhline(0, color="#BBBBBB", linewidth=0.7, zorder=0)
    return figure


@styled
def draw_ranges(encodings: Panels) -> Figure:
    """Draw the range of each dimension over the positions, one line per encoding (Figure 4 of the OPR paper)."""
    figure, panel = _lines(encodings, _ranges, "largest less smallest value")
    panel.set_xlabel("dimension")
    panel.set_ylim(bottom=0)
    return figure


def profile(vectors: Vectors) -> pd.Series:
    """Compute cos(P_m, P_j) by j - m, where m is the position in the middle, L // 2."""
    middle = len(vectors) // 2
    return pd.Series(similarity(vectors)[middle], index=np.arange(len(vectors)) - middle)


def _ranges(vectors: Vectors) -> pd.Series:
    return pd.Series(np.ptp(vectors, axis=0))


def _lines(encodings: Panels, series: Callable[[Vectors], pd.Series], what: str) -> tuple[Figure, Axes]:
    """Draw one panel with the series of each encoding; the legend also names encodings without vectors."""
    figure, (panel,) = panels(1, 1, 5.2, max(3.0, 0.8 + 0.18 * len(encodings)))
    for index, name, value in _alike(encodings):
        if isinstance(value, str):
            panel.plot([], [], linestyle="", label=wrap(f"{name} (no vectors)", 24))
            continue
        values = series(value)
        panel.plot(values.index, values, label=wrap(name, 24), linewidth=1, markersize=3, markevery=0.1, **cue(index))
    panel.set_ylabel(what)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.grid(axis="y")
    figure.set_figwidth(figure.get_figwidth() + 1.8)
    figure.legend(loc="outside right upper")
    if all(isinstance(value, str) for value in encodings.values()):
        say(panel, "no encoding has vectors")
    return figure, panel


def _panels(encodings: Panels, columns: int, width: float, height: float) -> tuple[Figure, list[tuple[Axes, Vectors]]]:
    """Create one panel per encoding with vectors, and list below which encodings have none, and why."""
    found = {name: value for _, name, value in _alike(encodings) if not isinstance(value, str)}
    figure, axes = panels(max(1, len(found)), columns, width, height)
    reasons: dict[str, list[str]] = {}
    for name, value in encodings.items():
        if isinstance(value, str):
            reasons.setdefault(value, []).append(name)
    if reasons:
        letters = int(13 * figure.get_figwidth())
        lines = "\n".join(wrap(f"{', '.join(names)}: {reason}", letters) for reason, names in reasons.items())
        figure.supxlabel(lines, fontsize=8)
        figure.set_figheight(figure.get_figheight() + 0.15 * (lines.count("\n") + 1))
    if not found:
        say(axes[0], "no encoding has vectors")
        return figure, []
    for name, panel in zip(found, axes, strict=True):
        panel.set_title(wrap(name, 26))
    return figure, list(zip(axes, found.values(), strict=True))


def heatmap(
    panel: Axes,
    values: Vectors,
    labels: tuple[str, str],
    *,
    limit: float | None = None,
    square: bool = True,
    signed: bool = True,
) -> AxesImage:
    """Draw ``values`` from -``limit`` (0 if not ``signed``) to ``limit``, by default the largest absolute value."""
    limit = limit or float(np.abs(values).max()) or 1.0
    image = panel.imshow(
        values,
        cmap="RdBu_r" if signed else "cividis",
        vmin=-limit if signed else 0,
        vmax=limit,
        aspect="equal" if square else "auto",
        interpolation="nearest",
    )
    panel.set_xlabel(labels[0])
    panel.set_ylabel(labels[1])
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(MaxNLocator(5, integer=True, steps=[1, 2, 5, 10]))
    return image


def as_frame(encodings: Panels, drawn: Callable[[Vectors], Vectors]) -> pd.DataFrame:
    """Return the plotted data: encoding, position, and one column per number that ``drawn`` returns for a position."""
    return _frame(encodings, lambda vectors: pd.DataFrame(drawn(vectors)).rename_axis("position"))


def profile_frame(encodings: Panels) -> pd.DataFrame:
    """Return the columns encoding, distance, similarity."""
    return _frame(encodings, lambda vectors: profile(vectors).rename("similarity").rename_axis("distance").to_frame())


def range_frame(encodings: Panels) -> pd.DataFrame:
    """Return the columns encoding, dimension, smallest, largest."""
    return _frame(
        encodings,
        lambda vectors: pd.DataFrame({"smallest": vectors.min(0), "largest": vectors.max(0)}).rename_axis("dimension"),
    )


def _frame(encodings: Panels, rows: Callable[[Vectors], pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of each encoding, and a note for encodings without vectors."""
    frames = [
        pd.DataFrame({"encoding": [name], "note": [value]})
        if isinstance(value, str)
        else rows(value).reset_index().assign(encoding=name)
        for name, value in encodings.items()
    ]
    found = pd.concat(frames, ignore_index=True)
    numbers = [column for column in found if column not in ("encoding", "note")]
    return found[["encoding", *numbers, *(["note"] if "note" in found else [])]]


# The drawing function of each figure of vectors, and its data.
FIGURES: dict[str, tuple[Callable[[Panels], Figure], Callable[[Panels], pd.DataFrame]]] = {
    "similarity": (draw_similarity, partial(as_frame, drawn=similarity)),
    "encoding_matrix": (draw_matrix, partial(as_frame, drawn=lambda each: each)),
    "dot_product": (draw_products, partial(as_frame, drawn=lambda each: np.asarray(each @ each.T))),
    "similarity_profile": (draw_profile, profile_frame),
    "value_range": (draw_ranges, range_frame),
}
