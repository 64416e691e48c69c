"""Tests of figures of many encodings, which show rows of numbers instead of lines."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import analysis_runs
from analysis_samples import analysed, write_sample
from index_samples import index_cells
from wordorder.config.models import Analysed
from wordorder.drawing.grid import LINES

MORE = [f"encoding_{number}" for number in range(LINES - 2)]


def crowd(encodings: list[str], **settings: Any) -> Analysed:
    slice_ = analysed(**settings)
    return slice_.model_copy(update={"report": slice_.report.model_copy(update={"encodings": encodings})})


def drawn(slice_: Analysed, frame: pd.DataFrame) -> Figure:
    figure = analysis_runs.drawn(slice_, frame)
    FigureCanvasAgg(figure).draw()
    return figure


def computed(slice_: Analysed, folder: Path) -> pd.DataFrame:
    results, data = write_sample(folder)
    index_cells(results, slice_.report)
    return analysis_runs.computed(slice_, results, data)


def numbers(panel: Axes) -> dict[tuple[int, int], str]:
    """(row, column) -> what is printed there."""
    return {(round(text.get_position()[1]), round(text.get_position()[0])): text.get_text() for text in panel.texts}


def probe_rows(encodings: list[str]) -> pd.DataFrame:
    """Two seeds of each encoding; the third encoding is less, the fourth more than the first, the baseline."""
    kinds = [("swap", 1), ("swap", 2), ("window", 2), ("permute", 0)]
    return pd.DataFrame(
        [
            {"dataset": "pair", "test": "test", "size": "tiny", "encoding": encoding, "seed": seed, "kind": kind}
            | {"amount": amount, "status": "measured", "chrf": 50 + shift + seed, "bleu_loss": np.nan}
            | {"cosine_distance": 0.1 + shift / 1000}
            for encoding, shift in zip(encodings, [0, 0, -8, 8, *[1] * len(encodings)], strict=False)
            for seed in (1, 2)
            for kind, amount in kinds
        ]
    )


@pytest.mark.parametrize(
    ("name", "settings", "panels"),
    [("length", {"edges": [5, 10, 20]}, ["BLEU", "chrF++"]), ("position", {"bins": 4}, ["words", "2-grams"])],
)
def test_more_encodings_than_lines_are_rows(
    name: str, settings: dict[str, Any], panels: list[str], tmp_path: Path
) -> None:
    encodings = ["opr", "sinusoidal", "none", *MORE]
    slice_ = crowd(encodings, **{name: settings})
    frame = computed(slice_, tmp_path)
    figure = drawn(slice_, frame)
    assert [panel.get_title() for panel in figure.axes] == [f"test: {panel}" for panel in panels]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == encodings
    key, groups, scale = ("bucket", "metric", 1) if name == "length" else ("begin", "n", 100)
    for panel, (_, rows) in zip(figure.axes, frame.groupby(groups, sort=False), strict=True):
        columns = list(rows[key].drop_duplicates())
        assert len(panel.get_xticklabels()) == len(columns)
        expected = {
            (encodings.index(row["encoding"]), columns.index(row[key])): f"{scale * row['mean']:.1f}"
            for row in rows.dropna(subset="mean").to_dict("records")
        }
        assert len(expected) >= 8 and numbers(panel) == expected
    below = figure.get_supxlabel().replace("\n", " ")
    assert "No scores: encoding_0, 2 of 2 cells (missing)" in below
    assert "No scores: none, 1 of 2 cells (diverged)" in below


def test_as_many_encodings_as_lines_are_lines(tmp_path: Path) -> None:
    slice_ = crowd(["opr", "sinusoidal", *MORE], length={"edges": [5]})
    figure = drawn(slice_, computed(slice_, tmp_path))
    assert not any(panel.images for panel in figure.axes) and figure.axes[0].lines


def test_colour_is_the_difference_from_the_baseline() -> None:
    encodings = ["sinusoidal", "same", "less", "more", *MORE]
    figure = drawn(crowd(encodings, probes={}), probe_rows(encodings))
    for panel in figure.axes[:2]:
        (image,) = panel.images
        colours = image.cmap(image.norm(image.get_array()))[:, 0]
        assert (colours[0] == colours[1]).all() and colours[0, :3].min() > 0.9, "white"
        assert colours[2, 0] > colours[2, 2] + 0.2 and colours[3, 2] > colours[3, 0] + 0.1, "orange and violet"
    assert numbers(figure.axes[0])[2, 0] == "0.092" and numbers(figure.axes[1])[3, 3] == "59.5"
    assert [text.get_text() for text in figure.axes[2].texts] == ["nothing measured"]
    ticks = [label.get_text() for label in figure.axes[1].get_xticklabels()]
    assert ticks == ["swap\n1", "swap\n2", "window\n2", "all"]
    assert sorted(line.get_xdata()[0] for line in figure.axes[1].lines) == [1.5, 2.5], "where a kind begins"
    bold = [text.get_text() for text in figure.axes[0].get_yticklabels() if text.get_fontweight() == "bold"]
    assert bold == ["sinusoidal"]


def test_without_the_baseline_there_are_numbers_and_no_colours() -> None:
    encodings = ["sinusoidal", "same", "less", "more", *MORE]
    frame = probe_rows(encodings)
    frame.loc[frame["encoding"] == "sinusoidal", ["chrf", "cosine_distance"]] = np.nan
    figure = drawn(crowd(encodings, probes={}), frame)
    panel = figure.axes[1]
    shown = panel.images[0].get_array()
    assert shown.mask[1:].all() and not shown.mask[0].any(), "grey, which is not the white of equal scores"
    assert "grey where sinusoidal has no score" in figure.get_supxlabel().replace("\n", " ")
    assert len(numbers(panel)) == 4 * (len(encodings) - 1)


@pytest.mark.parametrize(("name", "settings"), [("length", {"edges": [5]}), ("position", {"bins": 4})])
def test_a_crowd_without_translations_says_so(name: str, settings: dict[str, Any], tmp_path: Path) -> None:
    slice_ = crowd(["opr", "sinusoidal", *MORE, "none"], **{name: settings})
    results, data = write_sample(tmp_path)
    index_cells(results, slice_.report)
    shutil.rmtree(results / "cells")
    frame = analysis_runs.computed(slice_, results, data)
    for panel in drawn(slice_, frame).axes:
        assert [text.get_text() for text in panel.texts] == ["nothing measured"]


@pytest.mark.parametrize("name", ["an_encoding_with_a_long_name", "e"])
def test_nothing_lies_over_another(name: str, tmp_path: Path) -> None:
    encodings = ["opr", "sinusoidal", "none", *(f"{name}_{number}" for number in range(20))]
    slice_ = crowd(encodings, length={"edges": [5, 10, 20], "unit": "subword"})
    figure = drawn(slice_, computed(slice_, tmp_path))
    boxes = [text.get_window_extent() for text in figure.axes[0].get_yticklabels()]
    boxes += [panel.get_window_extent() for panel in figure.axes]
    boxes += [panel.xaxis.label.get_window_extent() for panel in figure.axes]
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])
    assert min(box.x0 for box in boxes) >= 0
    (said,) = (text for text in figure.texts if "No scores" in text.get_text())
    assert said.get_window_extent().y0 >= 0 and said.get_window_extent().x0 >= 0
