"""Tests of translations side by side: which sentences are shown, and which words are marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordorder.report.translations import Piece, choose, differences


def marked(reference: str, translation: str, language: str = "de") -> str:
    signs = {"same": "{}", "other": "[{}]", "missing": "<{}>"}
    return "".join(signs[piece.kind].format(piece.text) for piece in differences(reference, translation, language))


@pytest.mark.parametrize(
    ("reference", "translation", "shown"),
    [
        ("ein Hund läuft.", "ein Hund läuft.", "ein Hund läuft."),
        ("ein Hund läuft.", "ein Mann läuft.", "ein [Mann] läuft."),
        ("ein Hund läuft.", "ein Hund läuft", "ein Hund läuft<.>"),
        ("ein roter Hund läuft", "ein Hund läuft", "ein <roter>Hund läuft"),
        ("ein Hund läuft", "ein Hund läuft sehr schnell", "ein Hund läuft [sehr schnell]"),
        ("Tom's Hund", "Tims Hund", "[Tims] Hund"),
        ("ein Hund", "", "<ein Hund>"),
        ("", "ein Hund", "[ein Hund]"),
        ("a b c d", "c d a b", "[c d] a b<c d>"),
    ],
)
def test_words_that_differ_are_marked(reference: str, translation: str, shown: str) -> None:
    assert marked(reference, translation) == shown


@pytest.mark.parametrize("language", ["ja", "zh", "zh-TW"])
def test_characters_are_where_there_are_no_spaces(language: str) -> None:
    assert marked("犬が走る。", "猫が走る", language) == "[猫]が走る<。>"
    assert marked("犬が走る。", "猫が走る", "de") == "[猫が走る]"


@given(st.text(), st.text(), st.sampled_from(["de", "ja"]))
def test_nothing_of_a_translation_is_lost(reference: str, translation: str, language: str) -> None:
    pieces = differences(reference, translation, language)
    text = "".join(piece.text for piece in pieces if piece.kind != "missing")
    assert text == translation.lstrip() if translation.strip() else text == ""
    if reference == translation:
        assert all(piece.kind == "same" for piece in pieces)


def test_the_sentences_on_which_most_differ_come_first() -> None:
    pairs = [(str(i), "x") for i in range(5)]
    # One far from the others; all far from each other; nothing; both, less.
    scores = [[0, 0, 50, 30, 50], [100, 50, 50, 40, 50], [100, 100, 50, 50, 50], [100, 30, 50, 60, 50]]
    assert choose(pairs, scores, 5) == [1, 0, 3, 2, 4]
    assert choose(pairs, scores, 2) == [1, 0]


def test_without_scores_the_first_sentences_are_chosen_and_none_twice() -> None:
    pairs = [("a", "b"), ("a", "b"), ("c", "d"), ("e", "f")]
    assert choose(pairs, [], 2) == choose(pairs, [[1.0, 2.0, 3.0, 4.0]], 2) == [0, 2]


def test_the_space_behind_marked_words_is_not_marked() -> None:
    assert differences("a b", "c b", "de") == [Piece("other", "c"), Piece("same", " "), Piece("same", "b")]
