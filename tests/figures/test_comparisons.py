"""Tests of the forest plot and of the figure of variances, on generated comparisons."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

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


def test_an_interval_much_wider_than_the_others_is_cut_and_named() -> None:
    frame = comparisons()
    frame.loc[3, ["low", "high"]] = [-160.0, 190.0]
    (panel,) = draw_forest(frame, REPORT).axes
    low, high = panel.get_xlim()
    assert -2.5 < low < -2 and 3 < high < 3.5, "the ends of the other intervals"
    assert "undecided, −160 to +190" in [text.get_text() for text in panel.texts]
    assert [low, high] in [list(line.get_xdata()) for line in panel.lines]
    arrows = {(line.get_marker(), line.get_xdata()[0]) for line in panel.lines if line.get_marker() in ("<", ">")}
    assert arrows == {("<", low), (">", high)}


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


def shown_texts(figure: Figure) -> list[Text]:
    """Return the texts of a drawn figure, without the labels of ticks that are outside their axis."""
    hidden = set()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        hidden |= {tick.label1 for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high}
    return [text for text in figure.findobj(Text) if text.get_text() and text.get_visible() and text not in hidden]


@pytest.mark.parametrize("outcome", ["undecided", "worse, within the margin"])
@pytest.mark.parametrize("name", ["opr", "inxl_predicted_without_reordering_{}"])
@pytest.mark.parametrize("tests", [("news",), ("newstest_2016_of_the_shared_task", "newstest_2017_of_the_shared_task")])
def test_every_text_of_the_forest_is_inside_the_picture(outcome: str, name: str, tests: tuple[str, ...]) -> None:
    """Long names of the metric, the baseline, the systems and the test sets widen texts, short ones the axes."""
    changes = {"outcome": outcome, "reach": "and on other sentences", "difference": 0.1}
    frame = comparisons(tests, metric="bleu_legacy", baseline="sinusoidal_in_the_decoder_only", **changes)
    frame["system"] = [name.format(i) for i in range(len(frame))]
    figure = draw_forest(frame, REPORT)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer, picture = canvas.get_renderer(), figure.bbox.padded(1)
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in shown_texts(figure)]
    assert len(boxes) > 10
    outside = [text for text, box in boxes if not (picture.contains(*box.min) and picture.contains(*box.max))]
    assert outside == []
    for get in (lambda axes: axes.xaxis.label, lambda axes: axes.title):
        own = [get(axes).get_window_extent() for axes in figure.axes]
        assert not any(one.overlaps(other) for i, one in enumerate(own) for other in own[:i])


def test_variances_are_drawn_for_each_metric_and_test_set() -> None:
    rows = [
        {"dataset": "pair", "size": "tiny", "test": test, "metric": metric}
        | {name: scale * (i + 1) for i, name in enumerate(COMPONENTS)}
        for scale, test in ((0.1, "news"), (0.2, "web"))
        for metric in ("bleu", "ter")
    ]
    figure = draw_variance(pd.DataFrame(rows), REPORT, [])
    assert [panel.get_title() for panel in figure.axes] == ["BLEU", "TER"]
    for panel in figure.axes:
        news, web = (list(line.get_xdata()) for line in panel.lines)
        assert news == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5]) and web == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
        assert not any(line.get_clip_on() for line in panel.lines), "a mark at 0 is drawn whole"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["news", "web"]


def test_the_legend_of_variances_names_test_sets_without_the_metric() -> None:
    place = {"dataset": "pair", "size": "tiny", "test": "news", "metric": "bleu_legacy"}  # its label has a comma
    figure = draw_variance(pd.DataFrame([place | dict.fromkeys(COMPONENTS, 0.1)]), REPORT, [])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["news"]


def test_the_legend_of_variances_names_a_test_set_without_the_first_metric_and_says_why() -> None:
    rows = [
        {"dataset": "pair", "size": "tiny", "test": test, "metric": metric} | dict.fromkeys(COMPONENTS, 0.1)
        for test, metric in (("news", "bleu"), ("news", "ter"), ("web", "ter"))
    ]
    lost = [f"not estimated (no score above the margin): {'; '.join(['pair/tiny on web, BLEU'] * 4)}"]
    figure = draw_variance(pd.DataFrame(rows), REPORT, lost)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["news", "web"]
    assert legend.get_title().get_text().replace("\n", " ") == lost[0]
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    box = legend.get_window_extent(canvas.get_renderer())
    assert box.x0 >= 0 and box.x1 <= figure.bbox.x1
    assert not any(box.overlaps(panel.get_tightbbox()) for panel in figure.axes)


def test_a_study_without_comparisons_says_so() -> None:
    (panel,) = draw_forest(pd.DataFrame(), REPORT).axes
    assert len(panel.texts) == 1


def test_a_study_without_variances_says_why() -> None:
    (panel,) = draw_variance(pd.DataFrame(), REPORT, ["not estimated: no variance"]).axes
    assert [text.get_text() for text in panel.texts] == ["not estimated: no variance"]
