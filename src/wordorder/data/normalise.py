"""Normalisation of a sentence: one form for each character, plain punctuation, single spaces."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from wordorder.data.subword import SPACE
from wordorder.data.tokenise import UNSPACED_LANGUAGES, base_language


def normaliser(language: str, *, punctuation: bool) -> Callable[[str], str]:
    """A function that brings a line to Unicode NFC and squeezes its white space.

    The character U+2581 becomes a space, because the subword model takes it for one.
    With ``punctuation`` it also applies the Moses punctuation rules (``normalize-punctuation.perl``, through
    sacremoses). They know English, German, French, Spanish and Czech; other languages get the rules common to all.
    Chinese and Japanese keep their punctuation, for which there are no such rules.
    """
    moses = None
    if punctuation and base_language(language) not in UNSPACED_LANGUAGES:
        from sacremoses import MosesPunctNormalizer

        moses = MosesPunctNormalizer(lang=language)

    def normalise(line: str) -> str:
        line = unicodedata.normalize("NFC", line).replace(SPACE, " ")
        if moses is not None:
            line = moses.normalize(line)
        return " ".join(line.split())

    return normalise
