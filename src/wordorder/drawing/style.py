"""One style for all figures: colours that colour-blind readers can distinguish, and a second cue besides colour."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from wordorder.drawing.hints import hints
from wordorder.drawing.marks import with_hints
from wordorder.files import atomic, write_text

P = ParamSpec("P")
T = TypeVar("T")

# Okabe and Ito (2008), "Color universal design", without yellow, which is invisible as a line on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))

STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 200,
    # A "$" in a title or a sentence is a "$".
    "text.parse_math": False,
    # Text stays text, so that figures are searchable; equal data give equal bytes.
    "svg.fonttype": "none",
    "svg.hashsalt": "wordorder",
    "pdf.fonttype": 42,
}
# Files contain neither date nor version, so that the same data give the same bytes.
_METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def styled(draw: Callable[P, T]) -> Callable[P, T]:
    """Run a function that draws or saves in the project's style, independent of the user's matplotlib settings."""

    @wraps(draw)
    def inside(*args: P.args, **kwargs: P.kwargs) -> T:
        with mpl.rc_context():
            mpl.rcdefaults()
            for name, value in STYLE.items():
                mpl.rcParams[name] = value
            return draw(*args, **kwargs)

    return inside


@styled
def save(figure: Figure, prefix: str | Path, data: pd.DataFrame) -> None:
    """Write ``prefix`` + .svg, .pdf and .png, and the plotted data as .csv, each of them atomically.

    The SVG file shows the exact values of marks (:mod:`wordorder.drawing.marks`).
    """
    for suffix, metadata in _METADATA.items():
        with atomic(f"{prefix}.{suffix}") as temporary:
            figure.savefig(temporary, format=suffix, metadata=metadata)
            if suffix == "svg":
                drawing = temporary.read_text(encoding="utf-8")
                temporary.write_text(with_hints(drawing, hints(figure)), encoding="utf-8")
    write_text(f"{prefix}.csv", data.to_csv(index=False, float_format="%.6g", lineterminator="\n"))


def cue(index: int) -> dict[str, Any]:
    """Return colour, marker and dashes of the ``index``-th line; the first 28 lines look different."""
    return {
        "color": PALETTE[index % len(PALETTE)],
        "marker": MARKERS[index % len(MARKERS)],
        "linestyle": DASHES[(index + 2 * (index // len(PALETTE))) % len(DASHES)],
    }


def panels(count: int, columns: int, width: float, height: float, **options: Any) -> tuple[Figure, list[Axes]]:
    """Create a figure with ``count`` panels of ``width`` x ``height`` inches in at most ``columns`` columns."""
    columns = min(count, columns)
    rows = -(-count // columns)
    figure = Figure(figsize=(width * columns, height * rows))
    axes = list(figure.subplots(rows, columns, squeeze=False, **options).flat)
    for unused in axes[count:]:
        unused.set_visible(False)
    return figure, axes[:count]


def wrap(text: str, width: int) -> str:
    """Break a title or name into lines of at most ``width`` characters: at spaces, and in a long name after a mark."""
    pieces = [piece for word in text.split(" ") for piece in [*_breakable(word, width), " "]][:-1]
    lines = [""]
    for piece in pieces:
        if len(lines[-1]) + len(piece.rstrip()) > width and lines[-1]:
            lines.append("")
        lines[-1] += piece if lines[-1] else piece.lstrip()
    return "\n".join(line.rstrip() for line in lines)


def _breakable(word: str, width: int) -> list[str]:
    """Split a long word after _ - + . and /, and anywhere if that is not enough."""
    if len(word) <= width:
        return [word]
    return [part for piece in re.findall(r"[^_+./-]*[_+./-]?", word) for part in textwrap.wrap(piece, width)]


def say(axes: Axes, text: str) -> None:
    """Write text in the middle of a panel that has nothing to draw."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", fontsize=8, color="#444444")
    axes.set_facecolor("#F4F4F4")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
