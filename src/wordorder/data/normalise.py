"""Normalisation of a sentence: one form for each character, plain punctuation, single spaces."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping

from wordorder.data.subword import SPACE
from wordorder.data.tokenise import UNSPACED_LANGUAGES, WIDE, base_language

_SEGMENTED = re.compile(f"(?<=[{WIDE}]) +(?=[{WIDE}])")


def normaliser(
    language: str, *, punctuation: bool, replace: Mapping[str, str] | None = None, join: bool = False
) -> Callable[[str], str]:
    """Create a function that converts a line to Unicode NFC and normalises its white space.

    The character U+2581 becomes a space, because the subword model interprets it as one. With ``punctuation``, the
    function also applies the Moses punctuation rules (``normalize-punctuation.perl``, through sacremoses). They have
    special rules for English, German, French, Spanish and Czech, and common rules for other languages. Chinese and
    Japanese keep their punctuation, because there are no rules for it.

    Args:
        language: The language code.
        punctuation: Whether to normalise punctuation.
        replace: Characters with their replacements.
        join: Whether to remove the spaces between characters of text that comes segmented.

    Returns:
        The function.
    """
    replacements = str.maketrans(dict(replace or {}))
    moses = None
    if punctuation and base_language(language) not in UNSPACED_LANGUAGES:
        from sacremoses import MosesPunctNormalizer

        moses = MosesPunctNormalizer(lang=base_language(language))

    def normalise(line: str) -> str:
        line = unicodedata.normalize("NFC", line).replace(SPACE, " ").translate(replacements)
        if moses is not None:
            line = moses.normalize(line)
        line = " ".join(line.split())
        return _SEGMENTED.sub("", line) if join else line

    return normalise
