"""Word-order probes: what moved words do to encoder output, translation and BLEU; a row of panels a test set."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from wordorder.config.models import Analysed, Report
from wordorder.drawing.grid import Grid, crowded, draw_grids
from wordorder.drawing.lines import at, error_line, legend, places, title
from wordorder.drawing.style import panels, say, styled, wrap

_WIDTH = 3.7
_VALUES = {
    "cosine_distance": "cosine distance of encoder outputs",
    "chrf": "chrF against the original's translation",
    "bleu_loss": "BLEU lost",
}
_KINDS = {"swap": "swap, distance", "window": "shuffle, window", "permute": "all"}


@styled
def draw(frame: pd.DataFrame, analysed: Analysed) -> Figure:
    """Draw what ``probes`` gives: means over seeds, encodings as lines with standard deviations or as rows."""
    report = analysed.report
    where = places(frame)
    if crowded(report):
        grids = [[_grid(at(frame, place), value, place, report) for value in _VALUES] for place in where]
        return draw_grids(grids, frame, report, "")
    figure, axes = panels(len(where) * len(_VALUES), len(_VALUES), _WIDTH, 2.8)
    for index, panel in enumerate(axes):
        place, value = where[index // len(_VALUES)], list(_VALUES)[index % len(_VALUES)]
        panel.set_title(wrap(title(report, place), int(_WIDTH * 11)))
        panel.set_ylabel(_VALUES[value])
        _panel(panel, at(frame, place), value, report)
    legend(figure, axes, frame, report, "mean ± standard deviation over seeds")
    return figure


def _asked(rows: pd.DataFrame) -> list[tuple[str, int]]:
    """Each kind of probe with each of its amounts."""
    kinds = [kind for kind in _KINDS if kind in set(rows["kind"])]
    return [(kind, amount) for kind in kinds for amount in sorted(set(rows.loc[rows["kind"] == kind, "amount"]))]


def _grid(rows: pd.DataFrame, value: str, place: tuple[str, str, str], report: Report) -> Grid:
    asked = _asked(rows)
    means = rows.pivot_table(value, "encoding", ["kind", "amount"], dropna=False).reindex(columns=asked)
    ticks = [f"{kind}\n{amount}" if amount else "all" for kind, amount in asked]
    begins = [column for column in range(1, len(asked)) if asked[column][0] != asked[column - 1][0]]
    form = "{:.3f}" if value == "cosine_distance" else "{:.1f}"
    name = f"{title(report, place)}: {_VALUES[value]}"
    return Grid(name, "", means.set_axis(ticks, axis=1), form, begins)


def _panel(panel: Axes, rows: pd.DataFrame, value: str, report: Report) -> None:
    asked = _asked(rows)
    kinds = list(dict.fromkeys(kind for kind, _ in asked))
    panel.grid(axis="y")
    if rows[value].isna().all():
        say(panel, "nothing measured")
        return
    # A gap between the kinds, which are different scales.
    place = {pair: number + kinds.index(pair[0]) * 0.7 for number, pair in enumerate(asked)}
    panel.set_xticks(list(place.values()), [str(amount) if amount else "all" for _, amount in asked])
    shift = 0.5 / max(len(report.encodings), 1)
    for number, encoding in enumerate(report.encodings):
        own = rows[rows["encoding"] == encoding].dropna(subset=value)
        aside = shift * (number - (len(report.encodings) - 1) / 2)
        for kind in kinds:
            means = own[own["kind"] == kind].groupby("amount")[value].agg(mean="mean", sd="std").reset_index()
            if len(means):
                x = [place[kind, amount] + aside for amount in means["amount"]]
                error_line(panel, x, means, report, encoding)
    for kind in kinds:
        middle = [where for (own_kind, _), where in place.items() if own_kind == kind]
        text = "permute" if kind == "permute" else _KINDS[kind]
        panel.annotate(
            text,
            (sum(middle) / len(middle), 0),
            xycoords=("data", "axes fraction"),
            xytext=(0, -20),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=7.5,
        )
