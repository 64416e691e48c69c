"""The papers' mathematics: descent of theorem 3.1, similarity of positions, permuted words, shifted sinusoids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from wordorder.drawing import style
from wordorder.drawing.style import PALETTE, cue, panels, styled
from wordorder.errors import WordorderError
from wordorder.files import write_text
from wordorder.published import stated
from wordorder.published.claims import (
    EPSILONS,
    OFFSETS,
    Claim,
    Measurements,
    as_text,
    claims_frame,
    similarity_frame,
    theorem_frame,
)

_GREY = "#444444"
_SMALLEST = 1e-17  # position of a difference of exactly 0 on a logarithmic axis
_ROUNDING = 2.0**-53
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def write_claims(folder: Path, seed: int) -> None:
    """Measure the claims, write them with their figure into a folder, and print them.

    Raises:
        WordorderError: A claim does not hold. Everything is written and printed before.
    """
    found = Measurements.measure(seed)
    checked = [*found.claims(), *stated.claims()]
    for name, frame in (
        ("claims", claims_frame(checked)),
        ("theorem", theorem_frame(found.theorem.descent)),
        ("opr", similarity_frame()),
    ):
        write_text(folder / f"{name}.csv", frame.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    drawn = as_frame(found)
    style.save(draw(drawn), folder / "mathematics", drawn)
    print(as_text(checked))
    check(checked, f"See {folder / 'claims.csv'}.")


def check(claims: Sequence[Claim], hint: str) -> None:
    """Raise WordorderError if a claim does not have its known outcome; ``hint`` says where to find all of them."""
    failed = [
        f"'{claim.claim}' ({claim.source}: {claim.measured:.3g}, {claim.bound})"
        for claim in claims
        if not claim.as_known
    ]
    if failed:
        raise WordorderError(
            f"{len(failed)} of {len(claims)} claims are not as known: {'; '.join(failed)}. {hint}", code="claims-failed"
        )


def as_frame(found: Measurements) -> pd.DataFrame:
    """Return all plotted data: panel, series, x, y."""
    theorem, sinusoid = found.theorem, found.sinusoid
    descents = {
        "every word differs from zero": theorem.descent,
        "one word is zero: stays at its ‖m‖": theorem.zero_word,
    }
    parts = [_rows("theorem", name, range(len(each.norms)), each.norms) for name, each in descents.items()]
    similarities = similarity_frame()
    names = similarities["encoding"].where(similarities["k"].isna(), "OPR, k = " + similarities["k"].map("{:g}".format))
    for name, rows in similarities.groupby(names, sort=False):
        parts.append(_rows("similarity", str(name), rows["offset"], rows["similarity"]))
    for name, changes in found.word_order.changes.items():
        parts.append(_rows("permutation", name, range(1, len(changes) + 1), changes.tolist()))
    parts += [
        _rows("shift", "P(pos + φ) against Mᵩ P(pos)", OFFSETS, sinusoid.shifts.tolist()),
        _rows("shift", "Mᵩ Mᵩᵀ against I", OFFSETS, sinusoid.rotations.tolist()),
        _rows("shift", "spread of Pᵢ · Pⱼ, |i - j| = φ", range(len(sinusoid.spreads)), sinusoid.spreads.tolist()),
    ]
    return pd.concat(parts, ignore_index=True)


def _rows(panel: str, series: str, x: object, y: object) -> pd.DataFrame:
    return pd.DataFrame({"x": x, "y": y}).assign(panel=panel, series=series)[["panel", "series", "x", "y"]]


@styled
def draw(frame: pd.DataFrame) -> Figure:
    """Draw one panel per group of claims; ``frame`` comes from :func:`as_frame`."""
    figure, axes = panels(4, 2, 4.4, 3.1)
    paints = {"theorem": _theorem, "similarity": _similarity, "permutation": _permutation, "shift": _shift}
    for panel, (name, paint) in zip(axes, paints.items(), strict=True):
        shown = frame[frame["panel"] == name].groupby("series", sort=False)
        paint(panel, {str(series): rows for series, rows in shown})
    return figure


def _theorem(panel: Axes, series: dict[str, pd.DataFrame]) -> None:
    panel.set_title("Theorem 3.1: gradient descent on the kernels Φ")
    for index, (name, rows) in enumerate(series.items()):
        panel.plot(rows["x"], rows["y"], label=name, markersize=3.5, markevery=4, **cue(index))
    last = max(float(rows["x"].max()) for rows in series.values())
    for epsilon in EPSILONS:
        panel.axhline(epsilon, color="#BBBBBB", linewidth=0.7, zorder=0)
        panel.annotate(
            f"ε = {_power(epsilon)}", (1, epsilon), xycoords=("axes fraction", "data"), xytext=(3, 0),
            textcoords="offset points", va="center", fontsize=7, color=_GREY,
        )  # fmt: skip
    panel.set_xlim(0, last)
    _log(panel)
    panel.set_xlabel("gradient steps")
    panel.set_ylabel("‖X ⊗ Φ - (X + M)‖")
    panel.set_ylim(top=1e4)
    panel.legend(loc="upper right")


def _similarity(panel: Axes, series: dict[str, pd.DataFrame]) -> None:
    panel.set_title("Similarity of positions, d = 512")
    panel.axhline(0, color="#BBBBBB", linewidth=0.7, zorder=0)
    for index, (name, rows) in enumerate(series.items()):
        panel.plot(rows["x"], rows["y"], label=name, linewidth=1.2, markersize=3, markevery=(index, 8), **cue(index))
    panel.set_xlabel("distance of two positions")
    panel.set_ylabel("cosine similarity")
    panel.set_xlim(left=0)
    panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02))


def _permutation(panel: Axes, series: dict[str, pd.DataFrame]) -> None:
    panel.set_title("What a word receives when the words are permuted")
    for index, (name, rows) in enumerate(series.items()):
        look = cue(index) | {"linestyle": ""}
        panel.plot(rows["x"], rows["y"].clip(lower=_SMALLEST), label=name, markersize=3.5, **look)
    _log(panel)
    panel.set_ylim(1e-18, 1e2)
    panel.set_xlabel("random permutation")
    panel.set_ylabel("largest relative change")
    panel.legend(loc="center left", bbox_to_anchor=(0.0, 0.55))
    _rounding(panel)


def _shift(panel: Axes, series: dict[str, pd.DataFrame]) -> None:
    panel.set_title("Sinusoid: a shift by φ is a rotation, d = 512")
    for index, (name, rows) in enumerate(series.items()):
        look = cue(index) | {"linestyle": ""}
        panel.plot(rows["x"], rows["y"].clip(lower=_SMALLEST), label=name, markersize=3, **look)
    _log(panel)
    panel.set_ylim(1e-18, 1e-8)
    panel.set_xlabel("offset φ")
    panel.set_ylabel("largest difference")
    panel.legend(loc="upper left")
    _rounding(panel)


def _rounding(panel: Axes) -> None:
    panel.axhline(_ROUNDING, color=PALETTE[-1], linewidth=0.7, linestyle=":", zorder=0)
    panel.annotate(
        "rounding", (1, _ROUNDING), xycoords=("axes fraction", "data"), xytext=(3, 0),
        textcoords="offset points", va="center", fontsize=7, color=_GREY,
    )  # fmt: skip


def _log(panel: Axes) -> None:
    panel.set_yscale("log")
    panel.yaxis.set_major_locator(LogLocator(numticks=7))
    # Plain text, because typesetting formulas takes longer than the rest of the figure.
    panel.yaxis.set_major_formatter(FuncFormatter(_power))
    panel.minorticks_off()


def _power(value: float, _: object = None) -> str:
    """Format a power of ten, such as 10⁻³."""
    return "10" + f"{math.log10(value):.0f}".translate(_SUPERSCRIPTS)
