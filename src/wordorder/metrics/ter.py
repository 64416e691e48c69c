"""TER (Snover et al. 2006) as sacreBLEU computes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from typing_extensions import override

from wordorder.data.tokenise import UNSPACED_LANGUAGES
from wordorder.metrics.base import register
from wordorder.metrics.sacrebleu_metric import SacreBLEUMetric
from wordorder.statistics.resampling import Array

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as Scorer


@register("ter")
class TER(SacreBLEUMetric):
    """Translation edit rate in per cent of the words of the reference; it may exceed 100."""

    label = "TER"
    lower_is_better = True

    @override
    def make_scorer(self, *, sentence: bool) -> Scorer:
        from sacrebleu.metrics.ter import TER

        unspaced = self.language in UNSPACED_LANGUAGES  # Otherwise a sentence would count as one word.
        return TER(normalized=unspaced, asian_support=unspaced)

    @override
    def scores(self, sums: Array) -> Array:
        edits, words = sums[:, 0], sums[:, 1]
        # If the references have no words, one edit is an error rate of 100 %.
        return 100 * np.where(words > 0, edits / np.where(words > 0, words, 1.0), edits > 0)

    @property
    @override
    def margin(self) -> float:
        return 0.5  # that of BLEU, because human agreement with TER has not been measured
