"""Tests of the forest plot and of the figure of variances, on generated comparisons."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from evaluation_samples import report
from wordorder.figures.comparisons import draw_forest, draw_variance
from wordorder.tables.comparisons import COMPONENTS

REPORT = report(["sinusoidal", "opr"], [1, 2], ("news", "web"))
OUTCOMES = [
    ("better", "and on other sentences"),
    ("worse, within the margin", "on this test set"),
    ("equivalent", "on this test set"),
    ("undecided", "on this test set"),
    ("untested", None),
]


def comparisons(tests: tuple[str, ...] = ("news",), **changes: Any) -> pd.DataFrame:
    rows = [
        {"dataset": "pair", "size": "tiny", "test": test, "metric": "bleu", "system": f"system_{i}"}
        | {"baseline": "sinusoidal", "outcome": outcome, "reach": reach, "margin": 0.5, "level": 0.05}
        | {"difference": None if reach is None else i - 1.5, "low": i - 2.0, "high": i - 1.0}
        for test in tests
        for i, (outcome, reach) in enumerate(OUTCOMES)
    ]
    return pd.DataFrame([row | changes for row in rows])


def test_the_forest_has_every_interval_its_verdict_and_the_margin() -> None:
    figure = draw_forest(comparisons(), REPORT)
    (panel,) = figure.axes
    drawn = [list(line.get_xdata()) for line in panel.lines]
    for i, (_, reach) in enumerate(OUTCOMES):
        assert ([i - 2.0, i - 1.0] in drawn) == (reach is not None)
        assert ([i - 1.5] in drawn) == (reach is not None)
    assert [text.get_text() for text in panel.texts] == [
        "better, other sentences",
        "worse, within the margin",
        "equivalent",
        "undecided",
        "untested",
    ]
    (band,) = panel.patches
    assert band.get_window_extent().x0 == pytest.approx(panel.transData.transform((-0.5, 0))[0])
    assert [label.get_text() for label in panel.get_yticklabels()] == [f"system_{i}" for i in range(5)]
    assert panel.yaxis_inverted(), "the first comparison is above"
    assert "sinusoidal" in panel.get_xlabel()


def test_without_a_margin_there_is_no_band_and_pairs_name_both_sides() -> None:
    frame = comparisons(margin=None)
    frame.loc[0, "baseline"] = "none"
    (panel,) = draw_forest(frame, REPORT).axes
    assert not panel.patches
    assert panel.get_yticklabels()[0].get_text() == "system_0 − none"


def test_each_family_has_its_panel_and_all_stays_on_the_page() -> None:
    figure = draw_forest(comparisons(("news", "web")), REPORT)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    assert [panel.get_title() for panel in figure.axes] == ["news, BLEU", "web, BLEU"]
    for panel in figure.axes:
        for text in panel.texts:
            box = text.get_window_extent(canvas.get_renderer())
            assert box.x1 <= figure.bbox.x1 + 1
            assert not any(box.overlaps(other.get_window_extent()) for other in figure.axes if other is not panel)


def test_variances_are_drawn_for_each_metric_and_test_set() -> None:
    rows = [
        {"dataset": "pair", "size": "tiny", "test": test, "metric": metric}
        | {name: scale * (i + 1) for i, name in enumerate(COMPONENTS)}
        for scale, test in ((0.1, "news"), (0.2, "web"))
        for metric in ("bleu", "ter")
    ]
    figure = draw_variance(pd.DataFrame(rows), REPORT)
    assert [panel.get_title() for panel in figure.axes] == ["BLEU", "TER"]
    for panel in figure.axes:
        news, web = (list(line.get_xdata()) for line in panel.lines)
        assert news == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5]) and web == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["news", "web"]


@pytest.mark.parametrize("draw", [draw_forest, draw_variance])
def test_a_study_without_comparisons_says_so(draw: Any) -> None:
    figure = draw(pd.DataFrame(), REPORT)
    assert len(figure.axes[0].texts) == 1
