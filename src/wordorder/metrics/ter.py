"""TER (Snover et al. 2006) as sacreBLEU computes it."""

from __future__ import annotations

from sacrebleu.metrics.base import Metric as Scorer
from sacrebleu.metrics.ter import TER as SacreTER

from wordorder.data.tokenise import UNSPACED_LANGUAGES
from wordorder.metrics.base import register
from wordorder.metrics.sacrebleu_metric import SacreBLEUMetric


@register("ter")
class TER(SacreBLEUMetric):
    """Translation edit rate, in per cent of the reference's words; it may exceed 100."""

    label = "TER"
    lower_is_better = True

    def make_scorer(self, *, sentence: bool) -> Scorer:
        unspaced = self.language in UNSPACED_LANGUAGES  # else a sentence would count as one word
        return SacreTER(normalized=unspaced, asian_support=unspaced)
