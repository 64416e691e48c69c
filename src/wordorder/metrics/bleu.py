"""BLEU (Papineni et al. 2002) as sacreBLEU computes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wordorder.metrics.agreement import Agreement
from wordorder.metrics.base import register
from wordorder.metrics.sacrebleu_metric import SacreBLEUMetric

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as Scorer


@register("bleu")
class BLEU(SacreBLEUMetric):
    """BLEU, tokenised with 13a or with what sacreBLEU prescribes for Chinese, Japanese and Korean.

    Scores of single sentences omit the n-gram orders that a short sentence does not have.
    """

    label = "BLEU"

    def make_scorer(self, *, sentence: bool) -> Scorer:
        from sacrebleu.metrics.bleu import BLEU

        return BLEU(trg_lang=self.language, effective_order=sentence)

    @property
    def agreement(self) -> Agreement | None:
        return Agreement(88.33333333333225, 0.9663926931178954)

    @property
    def margin(self) -> float:
        return 0.5
