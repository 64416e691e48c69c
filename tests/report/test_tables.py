"""Tables of the page: by which numbers they are sorted, and which column stays in sight."""

from __future__ import annotations

import pandas as pd
import pytest

from wordorder.report.tables import block, is_missing, show, sort_number
from wordorder.tables.study import Table


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("24.28 ± 0.27 (n = 3) c", 24.28),
        ("-54.55", -54.55),
        ("−54.55", -54.55),
        ("+0.07", 0.07),
        ("40.81++", 40.81),
        ("29.05↑", 29.05),
        ("7,922", 7922),
        ("88 %", 88),
        ("[-56.08, -53.03]", -56.08),
        ("0.002, <0.001, 0.189", 0.002),
        ("3 finished", 3),
        ("2016_flickr", None),
        ("1e", None),
        ("opr8", None),
        ("–", None),
        ("", None),
    ],
)
def test_the_number_of_a_cell(text: str, number: float | None) -> None:
    assert sort_number(text) == number


def test_less_than_a_thousandth_comes_before_a_thousandth() -> None:
    below, exactly = sort_number("<0.001"), sort_number("0.001")
    assert below is not None and exactly is not None and 0.0009 < below < exactly


@pytest.mark.parametrize(
    ("text", "missing"),
    [("–", True), ("– (n = 0 of 3)", True), ("not scored", True), ("", True), ("0", False), ("-1", False)],
)
def test_what_says_that_there_is_nothing(text: str, missing: bool) -> None:
    assert is_missing(text) == missing


FRAME = pd.DataFrame(
    {
        "Size": ["tiny", "tiny"],
        "Encoding": ["Null", "opr"],
        "Test": ["2016_flickr", "2017_flickr"],
        "BLEU": ["24.28 ± 0.27 (n = 3) ab", "– (n = 0 of 3)"],
        "p": ["<0.001", None],
        "Verdict": ["short", "a sentence that is longer than forty characters, as verdicts are"],
    }
)


def test_columns_know_how_they_are_sorted_and_set() -> None:
    shown = block("A caption", FRAME)
    assert [(heading.text, heading.numeric, heading.style) for heading in shown.headings] == [
        ("Encoding", False, ""),
        ("Size", False, ""),
        ("Test", False, ""),
        ("BLEU", True, ""),
        ("p", True, "number"),
        ("Verdict", False, "words"),
    ]
    first, second = shown.rows
    assert [cell.key for cell in first][:4] == ["null", "tiny", "2016_flickr", "24.28"]
    assert (first[3].main, first[3].rest, first[3].letters) == ("24.28", "± 0.27 (n = 3)", "ab")
    assert second[3].key is None and second[4].key is None and second[4].text == "–"


def test_marks_of_significance_leave_a_number_a_number() -> None:
    shown = block(
        "", pd.DataFrame({"Published": ["40.46", "40.81++"], "Ours": ["1.0 ± 0.1 (n = 2) ++", "2.0 (n = 1) ↑"]})
    )
    assert [(heading.numeric, heading.style) for heading in shown.headings] == [(True, "number"), (True, "")]
    (_, first), (_, second) = shown.rows
    assert (first.main, first.rest, first.letters) == ("1.0", "± 0.1 (n = 2)", "++")
    assert (second.main, second.rest, second.letters) == ("2.0", "(n = 1)", "↑")


def test_a_table_brings_its_caption_notes_and_whole_data() -> None:
    shown = show(Table("scores", pd.DataFrame({"a": [1.25], "b": ["x,y"]}), [("First", FRAME)], ["A note."]))
    assert shown.title == "Scores" and shown.notes == ["A note."] and len(shown.blocks) == 1
    assert "mean ± standard deviation" in shown.caption
    assert shown.file.name == "scores.csv" and shown.file.address.endswith(",a,b%0A1.25,%22x,y%22%0A")
