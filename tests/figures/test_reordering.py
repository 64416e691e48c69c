"""Tests of the figures of reordering on generated sentences and scores: content, and that nothing overlaps."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle, StepPatch
from numpy.typing import NDArray

from wordorder.data.trees import parse_tree
from wordorder.drawing.style import save
from wordorder.figures.reordering import brackets, draw_matrix, draw_tau, matrix_frame, printable, tau_frame

SOURCE = ["he", "has", "$the$", "book", "read"]
TARGET = ["er", "hat", "gelesen", "das", "Buch"]
LINKS = np.array([(0, 0), (1, 1), (2, 3), (3, 4), (4, 2)], dtype=np.int32)
TREE = parse_tree("[ [ 0 1 ] < [ 2 3 ] 4 > ]")
NOWHERE = "\U0010fffd"  # for private use: no font shows it


def squares(panel: Axes) -> set[tuple[float, float]]:
    """Column and row of each link."""
    return {(patch.get_x() + 0.5, patch.get_y() + 0.5) for patch in panel.patches if isinstance(patch, Rectangle)}


def labels(panel: Axes, side: str) -> list[str]:
    axis = panel.xaxis if side == "x" else panel.yaxis
    return [label.get_text() for label in axis.get_ticklabels()]


def boxes(figure: Figure) -> dict[str, Any]:
    """Return the position of each drawn text in pixels."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    written = [text for legend in figure.legends for text in legend.get_texts()]
    for axes in figure.axes:
        written += [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts, *axes.get_xticklabels()]
        written += axes.get_yticklabels() if axes.yaxis.get_tick_params()["labelleft"] else []
    shown = [text for text in written if text.get_text() and text.get_visible()]
    return {f"{i} {text.get_text()}": text.get_window_extent(renderer) for i, text in enumerate(shown)}


def nothing_covers_another_thing(figure: Figure) -> None:
    found = boxes(figure)
    for name, box in found.items():
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1
        assert inside, f"{name} leaves the page"
    for (first, one), (second, other) in combinations(found.items(), 2):
        shared = min(one.x1, other.x1) - max(one.x0, other.x0), min(one.y1, other.y1) - max(one.y0, other.y0)
        assert min(shared) < 1.5, f"{first} covers {second}"


# --------------------------------------------------------------------------------------------------- one sentence


def test_links_before_and_after() -> None:
    left, right = draw_matrix(SOURCE, TARGET, LINKS, TREE).axes
    assert squares(left) == {(0, 0), (1, 1), (2, 3), (3, 4), (4, 2)}
    assert squares(right) == {(number, number) for number in range(5)}, "the tree brings them to the diagonal"
    assert labels(left, "x") == SOURCE and labels(left, "y") == TARGET
    assert labels(right, "x") == ["he", "has", "read", "$the$", "book"]
    # 2 of 10 pairs are swapped: 'the' and 'book' with 'read'.
    assert left.get_title() == "source order, τ = 0.80" and right.get_title() == "order of the tree, τ = 1.00"


def test_brackets_of_a_tree() -> None:
    """[ 0 1 < ... > ] is one run; halves are at the middle of what they hold."""
    assert brackets(TREE) == [
        (False, 1, [(2.0, 0), (3.0, 0)]),
        (True, 2, [(2.5, 1), (4.0, 0)]),
        (False, 3, [(0.0, 0), (1.0, 0), (3.25, 2)]),
    ]
    assert brackets(0) == []
    assert [len(node.parts) for node in brackets(parse_tree("[ [ 0 1 ] [ 2 3 ] ]"))] == [4]
    assert [node.inverted for node in brackets(parse_tree("< [ 0 1 ] < 2 3 > >"))] == [False, True]


def test_nodes_are_drawn_above_the_words_they_hold() -> None:
    left = draw_matrix(SOURCE, TARGET, LINKS, TREE).axes[0]
    bars = [(line.get_xdata(), line.get_ydata(), line.get_linewidth()) for line in left.lines]
    # Each node has a bar and a leg to each of its parts.
    across = [(tuple(x), y[0], width) for x, y, width in bars if y[0] == y[1]]
    assert len(bars) == len(across) + 2 + 2 + 3
    assert [x for x, _, _ in across] == [(2.0, 3.0), (2.5, 4.0), (0.0, 3.25)]
    heights = [y for _, y, _ in across]
    assert heights == sorted(heights, reverse=True) and heights[0] < -0.7, "upwards from the matrix"
    assert [width > 1.5 for _, _, width in across] == [False, True, False], "the inverted one is thick"


def test_links_without_an_order_have_no_tau() -> None:
    links = np.array([(0, 0), (0, 2), (1, 1)], dtype=np.int32)
    panels = draw_matrix(["a", "b"], ["x", "y", "z"], links, parse_tree("[ 0 1 ]")).axes
    assert [panel.get_title() for panel in panels] == ["source order", "order of the tree"]


@pytest.mark.parametrize(("source", "target"), [([], ["a"]), (["a"], []), ([], [])])
def test_an_empty_side_is_said(source: list[str], target: list[str]) -> None:
    links = np.zeros((0, 2), dtype=np.int32)
    tree = 0 if source else None
    (panel,) = draw_matrix(source, target, links, tree).axes
    assert [text.get_text() for text in panel.texts] == ["one side of this sentence is empty"]
    assert len(matrix_frame(source, target, links, tree)) == len(source) + len(target)


def tall_tree(words: int) -> str:
    """Straight and inverted nodes alternate, which gives the largest possible number of levels."""
    text = str(words - 1)
    for word in range(words - 2, -1, -1):
        text = f"[ {word} {text} ]" if word % 2 else f"< {word} {text} >"
    return text


@pytest.mark.parametrize("words", [1, 2, 7, 30, 120])
def test_nothing_covers_another_thing(words: int) -> None:
    source = [("preposterously", "a", "of", "$", "x_1")[number % 5] for number in range(words)]
    target = ["donaudampfschifffahrt", *source[1:], "."]
    links = np.array([(number, number) for number in range(words)], dtype=np.int32)
    nothing_covers_another_thing(draw_matrix(source, target, links, parse_tree(tall_tree(words))))


def test_five_hundred_words_with_a_tree_of_as_many_levels(tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(500)]
    links = np.array([(number, 499 - number) for number in range(500)], dtype=np.int32)
    tree = parse_tree(tall_tree(500))
    figure = draw_matrix(words, words, links, tree)
    assert max(figure.get_size_inches()) < 16
    assert len(labels(figure.axes[0], "x")) <= 20, "numbers instead of words"
    assert brackets(tree)[-1].level == 499


def test_words_that_no_font_shows_are_numbers() -> None:
    target = ["er", NOWHERE, "Buch" + NOWHERE]
    left, _ = draw_matrix(["he"], target, np.array([(0, 0)], dtype=np.int32), 0).axes
    assert labels(left, "y") == ["er", "1", "2"]
    assert "numbers: no font" in left.get_ylabel() and left.get_xlabel() == "source"
    family, shown = printable(["naïve", "ру", "λ"], range(3))
    assert family == ["DejaVu Sans"] and shown == ["naïve", "ру", "λ"]
    family, shown = printable(["書", "book"], [7, 8])
    assert shown in (["書", "book"], ["7", "book"]) and (len(family) == 2) == (shown[0] == "書")


def test_the_data_of_a_matrix(tmp_path: Path) -> None:
    frame = matrix_frame(SOURCE, TARGET, LINKS, TREE)
    save(draw_matrix(SOURCE, TARGET, LINKS, TREE), tmp_path / "matrix", frame)
    lines = (tmp_path / "matrix.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "drawn,source,target,place,word,from,to,level"
    assert "source word,4,,2,read,,," in lines and "target word,,2,,gelesen,,," in lines
    assert "link,4,2,,,,," in lines and "inverted node,,,,,2.5,4,2" in lines
    assert len(lines) == 1 + 5 + 5 + 5 + 3
    assert all((tmp_path / f"matrix.{suffix}").stat().st_size > 1000 for suffix in ("svg", "pdf", "png"))


# ---------------------------------------------------------------------------------------------------------- corpus


def scores() -> dict[str, NDArray[np.float64]]:
    return {
        "source order": np.array([0.0, 1 - 0.9, 0.5, 1.0]),  # 1 - 0.9 is less than 0.1 by a rounding
        "predicted order": np.array([0.95, 0.96, 1.0, 1.0]),
    }


def test_the_distribution_of_tau() -> None:
    figure = draw_tau(scores())
    (panel,) = figure.axes
    before, after = (patch.get_data() for patch in panel.patches if isinstance(patch, StepPatch))
    np.testing.assert_allclose(before.edges, np.linspace(0, 1, 21))
    assert before.values.tolist() == [0.25, 0, 0.25, *[0] * 7, 0.25, *[0] * 8, 0.25]
    assert after.values.tolist() == [*[0] * 19, 1.0]
    means = [line.get_xdata()[0] for line in panel.lines]
    assert means == pytest.approx([0.4, 0.9775])
    written = [text.get_text() for text in figure.legends[0].get_texts()]
    assert written == ["source order, mean 0.400", "predicted order, mean 0.978"]
    nothing_covers_another_thing(figure)


def test_the_data_of_the_distribution() -> None:
    frame = tau_frame(scores())
    assert list(frame.columns) == ["order", "from", "to", "sentences", "mean"] and len(frame) == 40
    before = frame[frame["order"] == "source order"]
    assert before.loc[before["sentences"] > 0, "from"].tolist() == pytest.approx([0, 0.1, 0.5, 0.95])
    assert before["sentences"].sum() == 4 and set(before["mean"]) == {0.4}
    np.testing.assert_allclose(frame["to"] - frame["from"], 0.05)


def test_a_corpus_without_ranks_is_said() -> None:
    nothing = {"source order": np.zeros(0), "predicted order": np.zeros(0)}
    (panel,) = draw_tau(nothing).axes
    assert [text.get_text() for text in panel.texts] == ["no sentence has links that give an order"]
    frame = tau_frame(nothing)
    assert frame["sentences"].sum() == 0 and bool(pd.isna(frame["mean"]).all())
