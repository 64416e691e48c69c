"""Common parts of the figures of analyses: panels, titles, one line per encoding, and notes on missing cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from wordorder.config.models import Report
from wordorder.drawing.style import cue, wrap

PLACE = ["dataset", "test", "size"]


def places(frame: pd.DataFrame) -> list[tuple[str, str, str]]:
    """List each dataset x test x size, in the order of the rows."""
    return list(frame[PLACE].drop_duplicates().itertuples(index=False, name=None))


def at(frame: pd.DataFrame, place: Sequence[str]) -> pd.DataFrame:
    """Return the rows of one place."""
    return frame[(frame[PLACE] == list(place)).all(axis=1)]


def title(report: Report, place: Sequence[str]) -> str:
    """Return the test set, and everything else in which the panels differ."""
    dataset, test, size = place
    titles = {data.name: data.title for data in report.datasets}
    return ", ".join(
        ([titles[dataset]] if len(report.datasets) > 1 else []) + [test] + ([size] if len(report.sizes) > 1 else [])
    )


def where_scored(frame: pd.DataFrame) -> pd.DataFrame:
    """Return all rows but those of panels in which the metric scored nothing, such as COMET without its model.

    These panels say so themselves; their cells are not missing otherwise.
    """
    panel = [frame[name] for name in (*PLACE, "metric")]
    absent = (frame["status"] == "not scored").groupby(panel).transform("any")
    return frame[~(absent & frame["score"].isna().groupby(panel).transform("all"))]


def no_scores(rows: pd.DataFrame) -> str:
    """Return what a panel without scores says."""
    return "not scored" if "not scored" in set(rows["status"]) else "no scores"


def look(report: Report, encoding: str) -> dict[str, Any]:
    """Return the style of an encoding, which is the same in all figures of a study."""
    return cue(report.encodings.index(encoding))


def error_line(panel: Axes, x: Sequence[float], means: pd.DataFrame, report: Report, encoding: str) -> None:
    """Draw means with standard deviations: the columns ``mean`` and ``sd`` at ``x``."""
    style: dict[str, Any] = {"markersize": 3.5, "linewidth": 1, "elinewidth": 0.8, "capsize": 1.5}
    panel.errorbar(x, means["mean"], yerr=means["sd"], label=encoding, **style, **look(report, encoding))


def handles(axes: Iterable[Axes]) -> dict[str, Any]:
    """Return what a legend of all panels shows, by its labels."""
    return {label: handle for panel in axes for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)}


def legend(
    figure: Figure,
    axes: Iterable[Axes],
    frame: pd.DataFrame,
    report: Report,
    note: str,
    names: Sequence[str] | None = None,
) -> None:
    """Draw one legend for all panels at their side, and below it the meaning of marks and the missing cells.

    ``names`` are the labels in their order; the encodings if missing.
    """
    found = handles(axes)
    names = [name for name in names or report.encodings if name in found]
    title_ = wrap(note, 30)
    missing = missing_cells(frame, report)
    if missing:
        title_ += "\n\n" + "\n".join(wrap(line, 30) for line in missing)
    labels = [wrap(name, 24) for name in names]
    lines = title_.count("\n") + 1 + sum(label.count("\n") + 1.2 for label in labels)
    # Reserve room for the legend at the side of the panels, and between panels for their labels.
    figure.set_size_inches(figure.get_figwidth() + 2.2, max(figure.get_figheight(), 0.3 + 0.16 * lines))
    figure.set_layout_engine("constrained", w_pad=0.12, h_pad=0.08)
    figure.legend(
        [found[name] for name in names],
        labels,
        loc="outside right upper",
        title=title_,
        alignment="left",
    )


def missing_cells(frame: pd.DataFrame, report: Report) -> list[str]:
    """Describe missing scores, such as "No scores: opr, 1 of 3 seeds (diverged)", one line per encoding."""
    ours = frame[~frame["status"].isin(["scored", "measured", "no sentences", "no n-grams"])]
    lines = []
    for encoding in report.encodings:
        rows = ours[ours["encoding"] == encoding]
        cells = rows[["dataset", "size", "seed"]].drop_duplicates()
        if len(cells):
            sizes = [size for size in report.sizes if encoding in report.encodings_of(size)]
            asked = len(report.datasets) * len(sizes) * len(report.seeds)
            why = ", ".join(sorted(rows["status"].unique()))
            lines.append(f"No scores: {encoding}, {len(cells)} of {asked} cells ({why})")
    return lines
