"""A user's metric: how far the length of a translation is from that of its reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from wordorder.config.base import Model
from wordorder.metrics.base import TextMetric, register
from wordorder.statistics.resampling import Array


class LengthErrorSettings(Model):
    """Settings in a study: ``metrics: [bleu, {length_error: {unit: characters}}]``."""

    unit: Literal["words", "characters"] = "words"


@register("length_error")
class LengthError(TextMetric):
    """Difference of the lengths of translation and reference, in per cent of the references' length."""

    label = "Length error"
    lower_is_better = True
    digits = 1
    Settings = LengthErrorSettings
    settings: LengthErrorSettings

    @property
    def signature(self) -> str:
        return f"length_error|unit:{self.settings.unit}|version:1"

    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> Array:
        pairs = zip(hypotheses, references, strict=True)
        lengths = np.array([(self._length(line), self._length(reference)) for line, reference in pairs], dtype=float)
        return np.stack([np.abs(lengths[:, 0] - lengths[:, 1]), lengths[:, 1]], axis=1)

    def score(self, sums: Array) -> float:
        return float(100 * sums[0] / sums[1]) if sums[1] else 0.0

    def _length(self, line: str) -> int:
        return len(line.split()) if self.settings.unit == "words" else len(line)
