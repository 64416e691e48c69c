from __future__ import annotations

from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread

from wordorder.drawing.style import PALETTE, cue, panels, save, styled, wrap
from wordorder.errors import WordorderError
from wordorder.integrity import is_note

DATA = pd.DataFrame({"x": [1, 2], "y": [0.1 + 0.2, 1 / 3]})


@styled
def plot() -> Figure:
    figure, (axes, *_) = panels(3, 2, 3.0, 2.0)
    axes.plot(DATA["x"], DATA["y"], label="a name")
    axes.legend()
    return figure


def test_same_data_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save(plot(), tmp_path / name / "figure", DATA)
    names = {path.name for path in (tmp_path / "a").iterdir() if not is_note(path)}
    assert names == {"figure.svg", "figure.pdf", "figure.png", "figure.csv"}
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def test_users_own_settings_change_nothing(tmp_path: Path) -> None:
    save(plot(), tmp_path / "a", DATA)
    with mpl.rc_context({"font.size": 30, "savefig.dpi": 20, "lines.linewidth": 9, "svg.fonttype": "path"}):
        save(plot(), tmp_path / "b", DATA)
        assert mpl.rcParams["font.size"] == 30
    for suffix in ("svg", "png"):
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_sizes_and_data(tmp_path: Path) -> None:
    save(plot(), tmp_path / "a", DATA)
    assert imread(tmp_path / "a.png").shape[:2] == (2 * 2.0 * 200, 2 * 3.0 * 200)
    assert (tmp_path / "a.csv").read_text() == "x,y\n1,0.3\n2,0.333333\n"


def test_dollars_in_a_title_are_no_formula(tmp_path: Path) -> None:
    @styled
    def titled() -> Figure:
        figure, (axes,) = panels(1, 1, 3.0, 2.0)
        axes.set_title("from 5 $ to 9 $")
        axes.set_xlabel("$x$ with $")
        return figure

    save(titled(), tmp_path / "a", DATA)
    drawn = (tmp_path / "a.svg").read_text()
    assert ">from 5 $ to 9 $<" in drawn and ">$x$ with $<" in drawn


def test_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WordorderError):
        save(plot(), tmp_path / "file" / "a", DATA)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_no_two_lines_look_the_same() -> None:
    looks = [(cue(i)["color"], str(cue(i)["linestyle"])) for i in range(28)]
    assert len(set(looks)) == 28
    # Also without colour, lines that share one have other markers.
    for i, j in combinations(range(28), 2):
        if cue(i)["color"] == cue(j)["color"]:
            assert cue(i)["marker"] != cue(j)["marker"]


def _luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def test_palette_can_be_seen_on_white() -> None:
    assert all(1.05 / (_luminance(colour) + 0.05) > 2 for colour in PALETTE)


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("short", 10, ["short"]),
        ("two words", 6, ["two", "words"]),
        ("lower-cased talks", 12, ["lower-cased", "talks"]),
        ("relative_keys_and_values", 14, ["relative_keys_", "and_values"]),
        ("opr+relative", 6, ["opr+", "relati", "ve"]),
        ("", 5, [""]),
    ],
)
def test_wrap(text: str, width: int, lines: list[str]) -> None:
    assert wrap(text, width).split("\n") == lines
    assert wrap(text, width).replace("\n", "").replace(" ", "") == text.replace(" ", "")
