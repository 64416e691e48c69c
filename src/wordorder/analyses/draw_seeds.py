"""Perplexity, and how well attention aligns: a column for each encoding, a dot for each seed, the mean ± sd."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from wordorder.config.models import Analysed
from wordorder.drawing.lines import at, places, title
from wordorder.drawing.style import panels, styled, wrap
from wordorder.figures.scores import halve, seed_columns

# The columns of a frame that are drawn, each in a column of panels.
_PERPLEXITY = {"perplexity": "perplexity per subword\n(lower is better)"}
_ALIGNMENT = {"aer": "alignment error rate\n(lower is better)", "precision": "precision", "recall": "recall"}


@styled
def draw(frame: pd.DataFrame, analysed: Analysed) -> Figure:
    """Draw what ``perplexity`` (of its units, the subword) and ``alignment`` give; a row of panels a test set."""
    report = analysed.report
    perplexity = analysed.settings.perplexity is not None
    values = _PERPLEXITY if perplexity else _ALIGNMENT
    rows = frame[frame["unit"] == "subword"] if perplexity else frame
    names = [halve(name) for name in report.encodings]
    longest = max(len(line) for name in names for line in name.split("\n"))
    width = max(3.4, 0.9 + 0.45 * len(names))
    where = places(rows)
    columns = len(values) if len(values) > 1 else max(1, int(11 // width))
    figure, axes = panels(len(where) * len(values), columns, width, 2.4 + 0.045 * longest)
    for index, panel in enumerate(axes):
        place = where[index // len(values)]
        value = list(values)[index % len(values)]
        panel.set_title(wrap(title(report, place), int(width * 11)))
        own = at(rows, place).rename(columns={value: "score"})
        seed_columns(panel, own, report.encodings, report.baseline)
        panel.set_xticks(range(len(names)), names, rotation=40, ha="right", rotation_mode="anchor")
        panel.set_ylabel(values[value])
        if not perplexity:
            panel.yaxis.set_major_formatter(PercentFormatter(1, decimals=None))
    handles, labels = axes[0].get_legend_handles_labels()
    labels = ["one seed" if label == "score of one seed" else label for label in labels]
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels) if figure.get_figwidth() > 6 else 1)
    return figure
