"""Exact values of marks: they are found in a figure, and lie on their marks."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from wordorder.drawing import hints, style
from wordorder.drawing.hints import hint, one_line
from wordorder.drawing.marks import Hint, with_hints, without_hints
from wordorder.drawing.small_svg import small_svg


def saved(figure: Figure, folder: Path) -> str:
    style.save(figure, folder / "figure", pd.DataFrame({"x": [1]}))
    return (folder / "figure.svg").read_text(encoding="utf-8")


def texts(svg: str) -> list[str]:
    return [mark.text for mark in without_hints(svg)[1]]


def test_points_of_labelled_lines_have_their_values_in_place(tmp_path: Path) -> None:
    figure = Figure(figsize=(4, 3))
    panel = figure.subplots()
    panel.plot([1, 2.5], [1 / 3, 7], marker="o", label="opr <&>")
    panel.plot([1, 2], [3, 4])
    panel.set_xlabel("updates")
    panel.set_ylabel("loss")
    svg = saved(figure, tmp_path)
    assert texts(svg) == ["opr <&>; updates: 1; loss: 0.333333", "opr <&>; updates: 2.5; loss: 7"]
    # Matplotlib writes each marker as a 'use' at its place.
    drawn = {
        (round(float(x), 1), round(float(y), 1)) for x, y in re.findall(r'<use [^>]*x="([\d.]+)" y="([\d.]+)"', svg)
    }
    for mark in without_hints(svg)[1]:
        assert any(abs(mark.x - x) <= 0.11 and abs(mark.y - y) <= 0.11 for x, y in drawn)


def test_error_bars_scatters_bars_and_images_are_found(tmp_path: Path) -> None:
    figure = Figure(figsize=(6, 6), layout="constrained")
    panels = figure.subplots(2, 2).flat
    first = next(panels)
    first.errorbar([0, 1], [5.0, np.nan], yerr=[0.25, np.nan], label="mean", fmt="o")
    first.set_xticks([0, 1], ["a_\nb", "c"])
    next(panels).scatter([0.1, 3], [2, 4], label="score of one seed")
    next(panels).bar([1, 2], [3, 4], label="bars")
    next(panels).imshow([[1.5, 2.5]], aspect="auto")
    assert texts(saved(figure, tmp_path)) == [
        "mean; a_b; 5 ± 0.25",
        "score of one seed; 0.1; 2",
        "score of one seed; 3; 4",
        "bars; 1; 3",
        "bars; 2; 4",
        "0; 0: 1.5",
        "1; 0: 2.5",
    ]


def test_own_values_replace_those_that_are_found(tmp_path: Path) -> None:
    figure = Figure()
    panel = figure.subplots()
    panel.plot([1, 2], [1, 2], label="line")
    hint(panel, 1, 1, "said")
    hint(panel, 50, 50, "outside of the panel")
    panel.set_xlim(0, 3)
    panel.set_ylim(0, 3)
    assert texts(saved(figure, tmp_path)) == ["said"]


def test_long_lines_large_images_and_invisible_panels_stay_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = Figure()
    line, image, hidden = figure.subplots(1, 3)
    line.plot(range(1000), range(1000), label="line")
    image.imshow(np.zeros((100, 100)))
    hidden.plot([1, 2], [1, 2], label="hidden")
    hidden.set_visible(False)
    found = texts(saved(figure, tmp_path))
    assert len(found) == 60 and found[0] == "line; 0; 0" and found[-1] == "line; 999; 999"
    monkeypatch.setattr(hints, "MOST", 10)
    assert len(texts(saved(figure, tmp_path))) == 10


def test_a_drawing_and_its_values_are_separated_again() -> None:
    drawing = '<svg width="1pt"><g id="a"><path/></g>\n</svg>\n'
    marks = [Hint(1.5, 20, "a < b & c\nd"), Hint(0, 0.1, "±")]
    assert without_hints(with_hints(drawing, marks)) == (drawing, marks)
    assert with_hints(drawing, []) == drawing and without_hints(drawing) == (drawing, [])


def test_small_files_have_no_values(tmp_path: Path) -> None:
    figure = Figure()
    figure.subplots().plot([1, 2], [1, 2], label="line")
    svg = saved(figure, tmp_path)
    assert "<title>" in svg and "<title>" not in small_svg(svg)


def test_lines_of_names_are_joined_as_they_were_broken() -> None:
    assert one_line("opr_\nrelative") == "opr_relative" and one_line("a longer\nname") == "a longer name"
