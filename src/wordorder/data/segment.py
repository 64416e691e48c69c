"""Word segmentation of Chinese and Japanese, which are written without spaces.

'mecab' is MeCab with the IPA dictionary (Kudo, Yamamoto and Matsumoto 2004), which sacreBLEU uses to score Japanese.
'jieba' is the Chinese segmenter of that name, whose package includes its dictionary. Both work without a network and
are deterministic. They are optional: ``pip install 'wordorder[ja]'`` and ``'wordorder[zh]'``.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Literal

from wordorder.data.tokenise import WIDE
from wordorder.errors import WordorderError

Segmenter = Literal["mecab", "jieba"]

_EXTRAS = {"mecab": "ja", "jieba": "zh"}
_RUNS = re.compile(f"([{WIDE}]+)")


def segmenter(name: Segmenter, tokenise: Callable[[str], str]) -> Callable[[str], str]:
    """Create a function that separates the words in runs of wide characters by spaces; ``tokenise`` handles other text.

    A segmenter sees only such runs, so that it cannot split numbers, addresses and Latin words.
    """
    try:
        words = _mecab() if name == "mecab" else _jieba()
    except ImportError as error:
        raise WordorderError(
            f"The segmenter '{name}' is not installed. Install it with: pip install 'wordorder[{_EXTRAS[name]}]'.",
            code="missing-package",
            found=name,
        ) from error

    def segment(line: str) -> str:
        runs = _RUNS.split(line)  # other text and wide runs alternate
        texts = [" ".join(words(run)) if number % 2 else tokenise(run) for number, run in enumerate(runs)]
        return " ".join(" ".join(texts).split())

    return segment


def _mecab() -> Callable[[str], list[str]]:
    import ipadic
    import MeCab

    tagger = MeCab.Tagger(f"{ipadic.MECAB_ARGS} -Owakati")
    return lambda run: str(tagger.parse(run)).split()


def _jieba() -> Callable[[str], list[str]]:
    import jieba

    jieba.setLogLevel(logging.WARNING)
    return lambda run: [str(word) for word in jieba.lcut(run)]
