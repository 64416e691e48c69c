"""Moses tokenisation and its inverse, through sacremoses.

For an unknown language, sacremoses uses the English list of abbreviations. It does not split unspaced Chinese and
Japanese; a segmenter (:mod:`wordorder.data.segment`) or the subword model does. Nothing is escaped (``&`` stays ``&``).

Sacremoses takes half a second to import. It is imported inside functions, so that other modules can query which
languages are written without spaces.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from wordorder.data.text import read_lines, write_lines

UNSPACED_LANGUAGES = ("ja", "zh")

# Characters without surrounding spaces: Han, kana and their marks, full-width letters and punctuation.
WIDE = (
    "\u2e80-\u303f\u3040-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff01-\uffef\U00020000-\U0003ffff"
)
_CLOSE = f"{WIDE}\u2014\u2018\u2019\u201c\u201d\u2026"  # includes the dashes and quotes that Latin script shares
_SPACE_AT_WIDE = re.compile(f"(?<=[{_CLOSE}]) +| +(?=[{_CLOSE}])")


def base_language(language: str) -> str:
    """Return 'zh' for 'zh-TW'."""
    return re.split("[-_]", language.lower())[0]


def tokeniser(language: str, *, aggressive_dash_splits: bool = False) -> Callable[[str], str]:
    """Create a function that separates the tokens of a line by single spaces.

    With ``aggressive_dash_splits``, the dash of ``word-word`` becomes a separate token, ``@-@``.
    """
    moses = _moses_tokeniser(language)

    def tokenise(line: str) -> str:
        return " ".join(moses.tokenize(line, aggressive_dash_splits=aggressive_dash_splits, escape=False))

    return tokenise


@cache
def _moses_tokeniser(language: str) -> Any:
    """Create the tokeniser of a language once, because it reads long lists of characters."""
    from sacremoses import MosesTokenizer

    return MosesTokenizer(lang=base_language(language))


def detokeniser(language: str) -> Callable[[str], str]:
    """Create a function that reverses :func:`tokeniser`, as far as the Moses rules for ``language`` can.

    In Chinese and Japanese it also removes all spaces next to Han, kana and full-width characters; spaces between Latin
    words stay.
    """
    from sacremoses import MosesDetokenizer

    moses = MosesDetokenizer(lang=base_language(language))

    def detokenise(line: str) -> str:
        return str(moses.detokenize(line.split(), unescape=False))

    if base_language(language) not in UNSPACED_LANGUAGES:
        return detokenise
    return lambda line: _SPACE_AT_WIDE.sub("", detokenise(line))


def detokenise(*, language: str, input: Path, output: Path) -> None:
    """Detokenise text that is distributed tokenised, so that scores are comparable.

    Example:
        wordorder stage detokenise --language de --input test.tokenised --output test.txt

    Args:
        language: The language of the text, for the Moses rules.
        input: The tokenised text.
        output: The text to write.
    """
    write_lines(output, map(detokeniser(language), read_lines(input)))
