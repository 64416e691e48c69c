"""BLEU as papers before sacreBLEU computed it, on tokens with compounds split: to be read beside such papers alone.

Both sides are tokenised with the Moses rules and put together again as the scripts behind Vaswani et al. (2017) do:
``word-word`` becomes the three tokens ``word ##AT##-##AT## word``, which are easier to match than one. It is worth up
to a BLEU point, and no test against sacreBLEU's numbers means anything. Case counts, and as in multi-bleu.perl nothing
is smoothed: a corpus without a common 4-gram has 0.
"""

from __future__ import annotations

import re
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.bleu import BLEUScore as Score
from sacrebleu.tokenizers.tokenizer_base import BaseTokenizer

from wordorder.data.tokenise import tokeniser

_COMPOUND = re.compile(r"(\S)-(\S)")


def split_compounds(line: str) -> str:
    """``Rock-Band`` -> ``Rock ##AT##-##AT## Band``; a dash between spaces stays.

    As in those scripts one pass from left to right decides: of ``a-b-c``, whose ``b`` is one character, the second
    dash stays.
    """
    return _COMPOUND.sub(r"\1 ##AT##-##AT## \2", line)


class _Tokens(BaseTokenizer):
    def __init__(self, language: str) -> None:
        self._tokenise = tokeniser(language)
        self._language = language

    def signature(self) -> str:
        return f"moses-{self._language}-compounds"

    def __call__(self, line: str) -> str:
        return split_compounds(self._tokenise(line))


class LegacyBLEU(BLEU):
    """sacreBLEU's counts over those tokens. ``sentence`` smooths, as a sentence without a common 4-gram is no 0."""

    def __init__(self, language: str, *, sentence: bool = False) -> None:
        smooth = "exp" if sentence else "none"
        super().__init__(force=True, tokenize="none", smooth_method=smooth, effective_order=sentence)
        self.tokenizer = _Tokens(language)
        self.tokenizer_signature = self.tokenizer.signature()

    def _compute_score_from_stats(self, stats: list[Any]) -> Score:
        # sacreBLEU's tests file their results under the name of the score: it must differ from that of BLEU.
        score = super()._compute_score_from_stats(stats)
        score.name = "BLEU-legacy"
        return score
