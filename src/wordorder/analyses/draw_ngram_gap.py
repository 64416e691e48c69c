"""Gap to the baseline by n: a row of panels a test set; chrF by characters, chrF by words, BLEU; a line an encoding."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from wordorder.config.analyses import NgramGap
from wordorder.config.models import Analysed, Report
from wordorder.drawing.lines import at, legend, look, places, title
from wordorder.drawing.style import panels, say, styled, wrap

_WIDTH = 3.4


@styled
def draw(frame: pd.DataFrame, analysed: Analysed) -> Figure:
    report, settings = analysed.report, analysed.settings.ngram_gap or NgramGap()
    words = settings.character_words
    axis = {
        "chrf_characters": f"chrF{'+' * words}: longest character n-gram",
        "chrf_words": "chrF: longest word n-gram",
        "bleu": "BLEU: longest word n-gram",
    }
    where = places(frame)
    figure, axes = panels(len(where) * len(axis), len(axis), _WIDTH, 2.5)
    for index, panel in enumerate(axes):
        place, name = where[index // len(axis)], list(axis)[index % len(axis)]
        rows = at(frame, place)
        panel.set_title(wrap(title(report, place), int(_WIDTH * 11)))
        panel.set_xlabel(axis[name])
        panel.set_ylabel(wrap(f"difference from {report.baseline}", 28))
        _panel(panel, rows[rows["panel"] == name], report)
    legend(figure, axes, frame, report, "mean over seeds; band: ± standard deviation")
    return figure


def _panel(panel: Axes, rows: pd.DataFrame, report: Report) -> None:
    if rows.loc[rows["encoding"] != report.baseline, "gap"].isna().all():
        say(panel, "nothing to compare")
        return
    panel.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    panel.grid(axis="y")
    panel.axhline(0, color="#444444", linewidth=1, zorder=1)
    for encoding in report.encodings:
        means = rows[rows["encoding"] == encoding].drop_duplicates("n").dropna(subset="mean")
        if encoding == report.baseline or means.empty:
            continue
        style = look(report, encoding)
        every = max(1, len(means) // 8)
        panel.plot(means["n"], means["mean"], label=encoding, linewidth=1.2, markersize=3.5, markevery=every, **style)
        band = means["mean"] - means["sd"], means["mean"] + means["sd"]
        panel.fill_between(means["n"], *band, color=style["color"], alpha=0.15, linewidth=0)
