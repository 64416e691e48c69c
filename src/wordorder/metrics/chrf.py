"""chrF (Popović 2015) and chrF++ (Popović 2017) as sacreBLEU computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from typing_extensions import override

from wordorder.metrics.agreement import NOTICED, Agreement
from wordorder.metrics.base import register
from wordorder.metrics.sacrebleu_metric import SacreBLEUMetric
from wordorder.statistics.resampling import Array

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as Scorer


@register("chrf")
class ChrF(SacreBLEUMetric):
    """F-score of character n-grams of up to 6 characters."""

    label = "chrF"
    ratio_scale = True
    rates_sentences = True
    word_order: ClassVar[int] = 0
    beta: ClassVar[int] = 2

    @override
    def make_scorer(self, *, sentence: bool) -> Scorer:
        from sacrebleu.metrics.chrf import CHRF

        return CHRF(char_order=6, word_order=self.word_order, beta=self.beta)

    @override
    def scores(self, sums: Array) -> Array:
        counts = sums.reshape(len(sums), -1, 3)
        of_both = counts[:, :, :2]  # (B, orders, 2): n-grams of the hypotheses and of the references
        present = (of_both > 0).all(axis=2, keepdims=True)
        # The means of precision and of recall exclude orders without n-grams on one side.
        shares = np.where(present, counts[:, :, 2:] / np.where(present, of_both, 1.0), 0.0)
        precision, recall = (shares.sum(axis=1) / np.maximum(present.sum(axis=1), 1)).T
        factor = self.beta**2
        weighted = factor * precision + recall
        scores: Array = 100 * (1 + factor) * precision * recall / np.where(weighted > 0, weighted, 1.0)
        return scores

    @property
    @override
    def agreement(self) -> Agreement | None:
        return Agreement(92.999999999972, 1.1142732157139852)


@register("chrf++")
class ChrFPlusPlus(ChrF):
    """chrF with additional n-grams of up to 2 words."""

    label = "chrF++"
    word_order = 2

    @property
    @override
    def agreement(self) -> Agreement | None:
        return None  # Agreement was measured only for chrF without words.

    @property
    @override
    def margin(self) -> float | None:
        of_chrf = super().agreement
        return None if of_chrf is None else of_chrf.difference(NOTICED)
