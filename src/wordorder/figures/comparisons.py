"""The comparisons of a study as a forest plot, and the variances that they must overcome."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from wordorder.comparison.verdicts import kind_of
from wordorder.config.models import Report
from wordorder.drawing.hints import hint
from wordorder.drawing.lines import handles
from wordorder.drawing.style import PALETTE, cue, panels, say, styled, wrap
from wordorder.metrics.base import metric
from wordorder.results.frames import groups
from wordorder.tables.comparisons import COMPONENTS

_BETTER, _WORSE, _EQUIVALENT, _OPEN = PALETTE[2], PALETTE[1], PALETTE[0], "#777777"
# Colour and marker of a verdict, by its first word. The figure also prints the verdict next to its interval.
_STYLES = {
    "better": (_BETTER, "^"),
    "worse": (_WORSE, "v"),
    "equivalent": (_EQUIVALENT, "D"),
    "undecided": (_OPEN, "o"),
    "untested": (_OPEN, "x"),
}
_BAND = "#E3ECF4"
# Characters per line of titles and labels: the layout of a panel makes room for their height, but not for their width.
_LONGEST = 50
# Intervals this many times as wide as the median one are cut.
_WIDE = 4.0
_FAMILY = ["dataset", "size", "test", "metric"]


@styled
def draw_forest(comparisons: pd.DataFrame, report: Report) -> Figure:
    """Draw every comparison with its simultaneous interval, the margin and the verdict; one panel per family.

    Args:
        comparisons: From :func:`.tables.comparisons.comparisons_frame`.
        report: The study.

    Returns:
        The figure.
    """
    if comparisons.empty:
        figure, axes = panels(1, 1, 4.8, 1.5)
        say(axes[0], "no comparisons were declared")
        return figure
    families = list(groups(comparisons, _FAMILY))
    most = max(len(family) for _, family in families)
    figure, axes = panels(len(families), 2 if len(families) > 1 else 1, 5.6, 1.0 + 0.26 * most)
    for panel, (place, family) in zip(axes, families, strict=True):
        panel.set_title(wrap(_title(report, comparisons, *place), _LONGEST))
        _draw_family(panel, family, metric(place[3]).label)
    figure.legend(
        handles=[Patch(facecolor=_BAND, label="margin of equivalence")],
        loc="outside lower center",
    )
    return figure


def _title(report: Report, comparisons: pd.DataFrame, dataset: str, size: str, test: str, name: str) -> str:
    return f"{_place(report, comparisons, dataset, size, test)}, {metric(name).label}"


def _place(report: Report, frame: pd.DataFrame, dataset: str, size: str, test: str) -> str:
    """Name a test set, with its dataset and size if the frame has several."""
    titles = {each.name: each.title for each in report.datasets}
    parts = [titles[dataset]] if frame["dataset"].nunique() > 1 else []
    parts += [size] if frame["size"].nunique() > 1 else []
    return ", ".join([*parts, test])


def _ends(family: pd.DataFrame) -> tuple[float, float]:
    """Return where an axis cuts intervals that are much wider than the others; infinite if none is.

    Beside such an interval, the others would be too short to be seen.
    """
    width = family["high"] - family["low"]
    wide = width > _WIDE * width.median()
    if not wide.any():
        return -math.inf, math.inf
    shown = pd.concat([family.loc[~wide, "low"], family.loc[~wide, "high"], family["difference"], pd.Series([0.0])])
    room = 0.05 * (shown.max() - shown.min())
    return float(shown.min() - room), float(shown.max() + room)


def _draw_family(panel: Axes, family: pd.DataFrame, label: str) -> None:
    rows = family.to_dict("records")
    ends = _ends(family)
    baselines = dict.fromkeys(row["baseline"] for row in rows)
    panel.axvline(0, color="#000000", linewidth=0.8, zorder=1)
    margin = rows[0]["margin"]
    if margin is not None and not pd.isna(margin):
        panel.axvspan(-margin, margin, color=_BAND, linewidth=0, zorder=0)
    for place, row in enumerate(rows):
        colour, marker = _STYLES[kind_of(row)]
        known = row["difference"] is not None and not pd.isna(row["difference"])
        if known:
            low, high = max(row["low"], ends[0]), min(row["high"], ends[1])
            panel.plot([low, high], [place, place], color=colour, linewidth=1.4, zorder=2)
            for end, cut, arrow in ((low, low > row["low"], "<"), (high, high < row["high"], ">")):
                if cut:
                    panel.plot(end, place, marker=arrow, color=colour, markersize=4.5, clip_on=False, zorder=3)
            values = f"{row['difference']:+.6g} {label}, interval {row['low']:+.6g} to {row['high']:+.6g}"
            hint(panel, row["difference"], place, f"{row['system']} − {row['baseline']}: {values}, {row['outcome']}")
            panel.plot(row["difference"], place, marker=marker, color=colour, markersize=4.5, zorder=3)
        further = ", other sentences" if row["reach"] == "and on other sentences" else ""
        if known and (low, high) != (row["low"], row["high"]):
            further += f", {row['low']:+.3g} to {row['high']:+.3g}".replace("-", "−")
        panel.annotate(
            f"{row['outcome']}{further}",
            (1.02, place),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=7,
            color=colour,
            annotation_clip=False,
        )
    names = [row["system"] if len(baselines) == 1 else f"{row['system']} − {row['baseline']}" for row in rows]
    panel.set_yticks(range(len(rows)), names)
    panel.set_ylim(len(rows) - 0.4, -0.6)
    if math.isfinite(ends[0]):
        panel.set_xlim(ends)
    panel.grid(axis="x")
    against = f" from {next(iter(baselines))}" if len(baselines) == 1 else ""
    intervals = f"simultaneous {100 * (1 - rows[0]['level']):.3g} % intervals"
    panel.set_xlabel(f"{wrap(f'difference in {label}{against}', _LONGEST)}\n{intervals}")


@styled
def draw_variance(variances: pd.DataFrame, report: Report, lost: Sequence[str]) -> Figure:
    """Draw the components of variance as standard deviations; one panel per metric, one mark per test set.

    Args:
        variances: From :func:`.tables.comparisons.variance_frame`.
        report: The study.
        lost: From :func:`.tables.comparisons.unestimated`.

    Returns:
        The figure.
    """
    if variances.empty:
        figure, axes = panels(1, 1, 4.8, 1.5)
        say(axes[0], "\n".join(wrap(line, 60) for line in lost))
        return figure
    families = list(groups(variances, ["metric"]))
    figure, axes = panels(len(families), 2, 4.6, 2.5)
    places = list(dict.fromkeys(variances[["dataset", "size", "test"]].itertuples(index=False, name=None)))
    for panel, ((name,), rows) in zip(axes, families, strict=True):
        panel.set_title(metric(name).label)
        for row in rows.to_dict("records"):
            index = places.index((row["dataset"], row["size"], row["test"]))
            shift = 0.5 * ((index + 0.5) / len(places) - 0.5)
            look = cue(index)
            label = _place(report, variances, row["dataset"], row["size"], row["test"])
            panel.plot(
                [row[component] for component in COMPONENTS],
                [place + shift for place in range(len(COMPONENTS))],
                linestyle="none",
                marker=look["marker"],
                color=look["color"],
                markersize=5,
                clip_on=False,  # a component of 0 is on the axis, which it covers
                zorder=3,
                label=label,
            )
        panel.set_yticks(range(len(COMPONENTS)), list(COMPONENTS.values()))
        panel.set_ylim(len(COMPONENTS) - 0.5, -0.5)
        panel.set_xlim(left=0)
        panel.grid(axis="x")
        panel.set_xlabel(f"standard deviation in {metric(name).label}")
    found = handles(axes)
    figure.legend(
        list(found.values()),
        list(found),
        loc="outside lower center",
        ncols=min(len(found), 3),
        title="\n".join(wrap(line, _LONGEST * min(len(families), 2)) for line in lost),
    )
    return figure
