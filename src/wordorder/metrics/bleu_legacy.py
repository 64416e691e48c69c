"""BLEU as papers before sacreBLEU computed it, on tokens with split compounds: only for comparison with such papers.

Both sides are tokenised with the Moses rules, and compounds are split as in the scripts behind Vaswani et al. (2017):
``word-word`` becomes the three tokens ``word ##AT##-##AT## word``, which are easier to match than one. This adds up to
one BLEU point, so scores cannot be compared with sacreBLEU's. Case matters. As in multi-bleu.perl, nothing is smoothed:
a corpus without a common 4-gram has the score 0. The rules find no words in text without spaces between words, so that
Chinese and Japanese are not supported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from wordorder.config.base import Model
from wordorder.data.tokenise import UNSPACED_LANGUAGES, tokeniser
from wordorder.metrics.base import register, unsupported
from wordorder.metrics.bleu import BLEU

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as Scorer

_COMPOUND = re.compile(r"(\S)-(\S)")


def split_compounds(line: str) -> str:
    """Split compounds: ``Rock-Band`` becomes ``Rock ##AT##-##AT## Band``. A dash between spaces stays.

    As in the original scripts, one pass runs from left to right: in ``a-b-c``, with ``b`` one character, the second
    dash stays.
    """
    return _COMPOUND.sub(r"\1 ##AT##-##AT## \2", line)


class _Tokens:
    """The tokeniser that sacreBLEU calls."""

    def __init__(self, language: str) -> None:
        self._tokenise = tokeniser(language)
        self._language = language

    def signature(self) -> str:
        return f"moses-{self._language}-compounds"

    def __call__(self, line: str) -> str:
        return split_compounds(self._tokenise(line))


@register("bleu_legacy")
class LegacyBLEU(BLEU):
    """Tokenised BLEU with compounds split."""

    label = "BLEU (tokenised, compounds split)"
    is_smoothed = False
    legacy = (
        "legacy, to compare only with papers that print tokenised BLEU with compounds split; "
        "its tokens usually make it higher than sacreBLEU's."
    )

    def __init__(self, language: str, settings: Model) -> None:
        super().__init__(language, settings)
        if self.language in UNSPACED_LANGUAGES:
            raise unsupported(self.name, language, ", whose words are not separated by spaces")

    def make_scorer(self, *, sentence: bool) -> Scorer:
        """Create sacreBLEU's object over those tokens.

        Sentence scores are smoothed, because a sentence without a common 4-gram does not deserve 0.

        Args:
            sentence: Whether the object scores single sentences.

        Returns:
            sacreBLEU's object.
        """
        from sacrebleu.metrics.bleu import BLEU, BLEUScore

        class Renamed(BLEU):
            def _compute_score_from_stats(self, stats: list[Any]) -> BLEUScore:
                # sacreBLEU's tests file their results under the name of the score: it must differ from that of BLEU.
                score = super()._compute_score_from_stats(stats)
                score.name = "BLEU-legacy"
                return score

        smooth = "exp" if sentence or self.is_smoothed else "none"
        scorer = Renamed(force=True, tokenize="none", smooth_method=smooth, effective_order=sentence)
        scorer.tokenizer = _Tokens(self.language)
        scorer.tokenizer_signature = scorer.tokenizer.signature()
        return scorer

    @property
    @override
    def agreement(self) -> None:
        return None  # Agreement was measured only for sacreBLEU's BLEU.

    @property
    @override
    def margin(self) -> float:
        return 0.5  # that of BLEU
