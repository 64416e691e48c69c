"""Moses tokenisation and its inverse, through sacremoses.

Sacremoses falls back to the English list of abbreviations for a language that it does not know, and leaves unspaced
Chinese and Japanese as they are: segment those before, or leave their words to the subword model. Nothing is escaped
(``&`` stays ``&``).
"""

from __future__ import annotations

from collections.abc import Callable

from sacremoses import MosesDetokenizer, MosesTokenizer


def tokeniser(language: str, *, aggressive_dash_splits: bool = False) -> Callable[[str], str]:
    """A function that puts single spaces between the tokens of a line.

    With ``aggressive_dash_splits`` the dash of ``word-word`` becomes a token of its own, ``@-@``.
    """
    moses = MosesTokenizer(lang=language)

    def tokenise(line: str) -> str:
        return " ".join(moses.tokenize(line, aggressive_dash_splits=aggressive_dash_splits, escape=False))

    return tokenise


def detokeniser(language: str) -> Callable[[str], str]:
    """A function that undoes :func:`tokeniser`, as far as the Moses rules for ``language`` can."""
    moses = MosesDetokenizer(lang=language)

    def detokenise(line: str) -> str:
        return str(moses.detokenize(line.split(), unescape=False))

    return detokenise
