"""Moses tokenisation and its inverse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordorder.data.normalise import normaliser
from wordorder.data.tokenise import detokeniser, tokeniser

SENTENCES = [
    ("en", "He isn't here, is he?", "He isn 't here , is he ?"),
    ("en", 'Mr. Smith paid $5,300.50 for "it" (twice).', 'Mr. Smith paid $ 5,300.50 for " it " ( twice ) .'),
    ("en", "R&D <b> [x] |", "R & D < b > [ x ] |"),
    ("de", "Das ist z.B. gut, oder?", "Das ist z.B. gut , oder ?"),
    ("fr", "L'homme n'est pas là.", "L' homme n' est pas là ."),
    ("tlh", "nuqneH, tera'ngan?", "nuqneH , tera ' ngan ?"),
    ("ja", "これは本です。", "これは本です。"),
]


@pytest.mark.parametrize(("language", "line", "tokens"), SENTENCES)
def test_tokens(language: str, line: str, tokens: str) -> None:
    assert tokeniser(language)(line) == tokens


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "He isn't here, is he?"),
        ("en", 'Mr. Smith paid $5,300.50 for "it" (twice).'),
        ("de", "Der Mann – groß, alt – schläft."),
        ("fr", "L'homme n'est pas là."),
        ("ja", "これは本です。"),
        ("zh", "两个人在滑雪。"),
    ],
)
def test_detokenising_undoes_it(language: str, line: str) -> None:
    assert detokeniser(language)(tokeniser(language)(line)) == line


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("fr-CA", "L'homme n'a pas d'argent : 5 % !"),
        ("en-GB", "I don't know, it's Mr. Smith's."),
        ("pt-BR", "Sra. Silva, olá!"),
    ],
)
def test_a_region_has_the_rules_of_its_language(language: str, line: str) -> None:
    base = language[:2]
    tokens = tokeniser(base)(line)
    assert tokeniser(language)(line) == tokens
    assert detokeniser(language)(tokens) == detokeniser(base)(tokens)
    assert normaliser(language, punctuation=True)(line) == normaliser(base, punctuation=True)(line)


def test_entities_are_text() -> None:
    assert detokeniser("en")("fish &amp; chips &#91;") == "fish &amp; chips &#91;"


def test_aggressive_dash_splits() -> None:
    tokens = tokeniser("en", aggressive_dash_splits=True)("a well-known two-year-old")
    assert tokens == "a well @-@ known two @-@ year @-@ old"
    assert detokeniser("en")(tokens) == "a well-known two-year-old"
    assert tokeniser("en")("a well-known one") == "a well-known one"


@given(st.text(), st.sampled_from(["en", "de", "fr", "ja", "zh", "ko", "tlh", ""]), st.booleans())
def test_any_text_becomes_one_line_with_single_spaces(line: str, language: str, dashes: bool) -> None:
    tokens = tokeniser(language, aggressive_dash_splits=dashes)(line)
    for result in (tokens, detokeniser(language)(tokens)):
        assert len((result + "x").splitlines()) == 1
    assert tokens == " ".join(tokens.split())
