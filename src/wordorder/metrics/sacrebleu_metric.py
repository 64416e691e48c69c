"""The base class of metrics that sacreBLEU (Post 2018) computes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from wordorder.config.base import Model
from wordorder.errors import WordorderError
from wordorder.metrics.base import TextMetric
from wordorder.statistics.resampling import Array

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as Scorer

_DETAILS = ("precisions", "bp", "sys_len", "ref_len", "counts", "totals", "num_edits", "ref_length")


class SacreBLEUMetric(TextMetric):
    """A metric of sacreBLEU on detokenised text.

    Attributes:
        scorer: sacreBLEU's object for corpora.
    """

    def __init__(self, language: str, settings: Model) -> None:
        super().__init__(language, settings)
        try:
            self.scorer = self.make_scorer(sentence=False)
        except (RuntimeError, ImportError) as error:
            raise WordorderError(
                f"The tokeniser that sacreBLEU prescribes for the target language '{self.language}' is not installed. "
                f"Install it with: pip install 'sacrebleu[{self.language}]'.",
                code="missing-tokeniser",
                found=self.language,
            ) from error
        self._sentence_scorer = self.make_scorer(sentence=True)

    @abstractmethod
    def make_scorer(self, *, sentence: bool) -> Scorer:
        """Create sacreBLEU's object for corpora or for single sentences.

        Args:
            sentence: Whether the object scores single sentences.

        Returns:
            sacreBLEU's object.
        """

    @property
    @override
    def signature(self) -> str:
        return str(self.scorer.get_signature())

    @property
    @override
    def segment_signature(self) -> str:
        return str(self._sentence_scorer.get_signature())

    @override
    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> Array:
        self.scorer._ref_cache = self.scorer._cache_references([references])
        return np.asarray(self.scorer._extract_corpus_statistics(hypotheses, None), dtype=float)

    @override
    def score(self, sums: Array) -> float:
        return float(self.scorer._compute_score_from_stats(sums.tolist()).score)

    @override
    def corpus_score(self, hypotheses: Sequence[str], references: Sequence[str]) -> tuple[float, dict[str, Any]]:
        result = self.scorer.corpus_score(hypotheses, [references])
        return result.score, {name: getattr(result, name) for name in _DETAILS if hasattr(result, name)}

    @override
    def segment_scores(self, hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
        pairs = zip(hypotheses, references, strict=True)
        return [self._sentence_scorer.sentence_score(line, [reference]).score for line, reference in pairs]
