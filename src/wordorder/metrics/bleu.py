"""BLEU (Papineni et al. 2002) as sacreBLEU computes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from typing_extensions import override

from wordorder.metrics.agreement import Agreement
from wordorder.metrics.base import register
from wordorder.metrics.sacrebleu_metric import SacreBLEUMetric
from wordorder.statistics.resampling import Array

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as Scorer


@register("bleu")
class BLEU(SacreBLEUMetric):
    """BLEU, tokenised with 13a or with the tokeniser that sacreBLEU prescribes for Chinese, Japanese and Korean.

    Scores of single sentences omit the n-gram orders that a short sentence does not have.
    """

    label = "BLEU"
    ratio_scale = True
    is_smoothed: ClassVar[bool] = True
    """Whether sacreBLEU smooths the scores of corpora."""

    @override
    def make_scorer(self, *, sentence: bool) -> Scorer:
        from sacrebleu.metrics.bleu import BLEU

        return BLEU(trg_lang=self.language, effective_order=sentence)

    @override
    def scores(self, sums: Array) -> Array:
        length, reference = sums[:, 0], sums[:, 1]
        correct, total = sums[:, 2:6], sums[:, 6:]  # (B, 4): of each order of n-grams
        unmatched = correct == 0
        # Smoothing halves the precision of each further order without a match.
        halvings = np.cumsum(unmatched, axis=1) * (self.is_smoothed)
        numerator = np.where(unmatched & (halvings > 0), 0.5**halvings, correct)
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = np.exp(np.log(numerator / total).mean(axis=1))
            score = 100 * precision * np.exp(np.minimum(0.0, 1 - reference / length))
        return np.where((total == 0).any(axis=1) | unmatched.all(axis=1), 0.0, score)

    @property
    @override
    def agreement(self) -> Agreement | None:
        return Agreement(88.33333333333225, 0.9663926931178954)

    @property
    @override
    def margin(self) -> float:
        return 0.5
