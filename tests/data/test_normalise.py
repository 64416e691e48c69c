"""Normalisation of sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordorder.data.normalise import normaliser


@pytest.mark.parametrize(
    ("language", "raw", "normal"),
    [
        ("en", "  two\u00a0\u2003 spaces ", "two spaces"),
        ("en", "Cafe\u0301", "Caf\u00e9"),
        ("en", "\u201cquoted\u201d \u2013 it\u2019s\u2026", '"quoted" - it\'s...'),
        ("de", "\u201eZitat\u201c", '"Zitat"'),
        ("de", "1\u00a0000", "1,000"),
        ("ro", "1\u00a0000", "1.000"),
        ("tlh", "\u201cx\u201d", '"x"'),
        ("en", "", ""),
        ("en", "\u3000 ", ""),
        ("en", "\u2581the \u2581 c\u2581at\u2581", "the c at"),
    ],
)
def test_punctuation_and_spaces(language: str, raw: str, normal: str) -> None:
    assert normaliser(language, punctuation=True)(raw) == normal


def test_without_punctuation_only_form_and_spaces_change() -> None:
    normalise = normaliser("en", punctuation=False)
    assert normalise(" \u201ce\u0301\u201d  \u2013 ") == "\u201c\u00e9\u201d \u2013"
    assert normalise("a\u2581b \u2581 c") == "a b c"


@given(st.text(), st.booleans())
def test_any_text_becomes_one_line_with_single_spaces(line: str, punctuation: bool) -> None:
    normal = normaliser("de", punctuation=punctuation)(line)
    assert normal == " ".join(normal.split())
    assert len((normal + "x").splitlines()) == 1


def test_characters_are_replaced_and_segmented_text_is_joined() -> None:
    replace = {"ş": "ș", "ţ": "ț"}
    assert normaliser("ro", punctuation=True, replace=replace)("aceşti cetăţeni ș") == "acești cetățeni ș"
    assert normaliser("ro", punctuation=True, replace=replace)("s\u0327i") == "și"  # composed first
    joined = normaliser("zh", punctuation=True, join=True)
    assert joined("我们 喜欢 GitHub 网站 。") == "我们喜欢 GitHub 网站。"
    assert normaliser("zh", punctuation=True)("我们 喜欢") == "我们 喜欢"
