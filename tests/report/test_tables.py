"""Tests of tables: what cells show, how they are sorted, and which column of the page remains visible."""

from __future__ import annotations

import pandas as pd
import pytest

from wordorder.report.tables import show, show_block
from wordorder.tables.table import Block, Cell, Table, mean_and_sd, missing, number, p_values, text


@pytest.mark.parametrize(
    ("cell", "printed", "key"),
    [
        (mean_and_sd([24.0, 24.5, 24.25], 3, mark="c"), "24.25 ± 0.25 (n = 3) c", 24.25),
        (mean_and_sd([24.0, float("nan")], 2), "24.00 (n = 1 of 2)", 24.0),
        (mean_and_sd([float("nan")], 3), "– (n = 0 of 3)", None),
        (number(-54.548, 2), "-54.55", -54.548),
        (number(0.07, 2, sign="+"), "+0.07", 0.07),
        (number(7922.4), "7,922", 7922.4),
        (number(40.81, 2, mark="++"), "40.81++", 40.81),
        (number(88.2, unit=" %"), "88 %", 88.2),
        (number(None), "–", None),
        (number(float("nan"), 2), "–", None),
        (p_values(0.002, 0.0004, None), "0.002, <0.001, –", 0.002),
        (p_values(None, 0.5), "–, 0.500", 0.5),
        (p_values(None), "–", None),
        (text("3 finished", key=3), "3 finished", 3),
        (text("2016_Flickr"), "2016_Flickr", "2016_flickr"),
        (text(""), "–", None),
        (missing("not scored"), "not scored", None),
    ],
)
def test_a_cell_prints_its_value_and_sorts_by_it(cell: Cell, printed: str, key: float | str | None) -> None:
    assert (cell.text, cell.key) == (printed, key)


BLOCK = Block(
    "A caption",
    [
        {
            "Size": text("tiny"),
            "Encoding": text("Null"),
            "Test": text("2016_flickr"),
            "BLEU": mean_and_sd([24.0, 24.5], 2, mark="ab"),
            "p": p_values(0.0004),
            "Order": text("1 of 3 run", key=1),
            "Verdict": text("short"),
        },
        {
            "Size": text("tiny"),
            "Encoding": text("opr"),
            "Test": text("2017_flickr"),
            "BLEU": mean_and_sd([], 3),
            "p": p_values(None),
            "Order": text("not run"),
            "Verdict": text("a sentence that is longer than forty characters, as verdicts are"),
        },
    ],
)


def test_columns_know_how_they_are_sorted_and_set() -> None:
    shown = show_block(BLOCK)
    assert [(heading.text, heading.numeric, heading.style) for heading in shown.headings] == [
        ("Encoding", False, ""),
        ("Size", False, ""),
        ("Test", False, ""),
        ("BLEU", True, ""),
        ("p", True, "number"),
        ("Order", False, ""),
        ("Verdict", False, "words"),
    ]
    first, second = shown.rows
    assert [cell.key for cell in first][:6] == ["null", "tiny", "2016_flickr", 24.25, 0.0004, "1 of 3 run"]
    assert (first[3].main, first[3].rest, first[3].mark) == ("24.25", "± 0.35 (n = 2)", "ab")
    assert second[3].key is None and second[4].key is None and second[4].text == "–"


def test_a_column_that_a_row_lacks_is_a_dash() -> None:
    block = Block("", [{"a": text("x")}, {"b": text("y")}])
    assert block.columns == ["a", "b"] and block.texts == [["x", "–"], ["–", "y"]]


def test_a_table_has_its_caption_notes_and_all_data() -> None:
    shown = show(Table("scores", pd.DataFrame({"a": [1.25], "b": ["x,y"]}), [BLOCK], ["A note."]))
    assert shown.title == "Scores" and shown.notes == ["A note."] and len(shown.blocks) == 1
    assert "mean ± standard deviation" in shown.caption
    assert shown.file.name == "scores.csv" and shown.file.address.endswith(",a,b%0A1.25,%22x,y%22%0A")
