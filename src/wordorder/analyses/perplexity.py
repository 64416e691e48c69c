"""Perplexity of references: exp of the mean negative log-likelihood, without label smoothing.

    per subword    over target subwords and the end of each sentence, as training reports on the validation set
    per word       over the words between the spaces of the raw target, and the end of each sentence
    per character  over the characters of the raw target, including spaces between words, and the end of each sentence

The total likelihood is the same; only its divisor differs. Models with different vocabularies can be compared by word
or character (Mielke 2019), provided that no vocabulary covers fewer characters: an unknown character is too easy to
predict, so ``unknown`` counts them. Chinese and Japanese, written without spaces, are compared by character.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import override

from wordorder.analyses.base import Input, MeasuredSet, ModelAnalysis, raw_file
from wordorder.config.models import Analysed
from wordorder.errors import WordorderError

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from wordorder.model.architectures.base import Translator

UNITS = ("subword", "word", "character")


class Perplexity(ModelAnalysis):
    """Perplexity of the test sets' references, per subword, word and character."""

    name: ClassVar[str] = "perplexity"
    caption: ClassVar[str] = (
        "Perplexity of the test sets' references per subword, for every seed: how well each model predicts them, "
        "without a search. Models with different vocabularies compare by word or character, which the CSV has, too."
    )

    @override
    def set_inputs(self, name: str) -> list[Input]:
        return [Input("file", raw_file(name, "target"))]

    def measure(self, model: Translator, sentences: MeasuredSet) -> dict[str, Any]:
        """Measure the negative log-likelihood of a set, in nats, and its perplexity by each unit.

        Args:
            model: The model.
            sentences: The set.

        Returns:
            The measurements. A perplexity that is not finite is None.
        """
        from wordorder.decoding.forced import force
        from wordorder.model.batch import UNKNOWN

        corpus, references = sentences.corpus, sentences.references
        if len(references) != len(corpus):
            raise WordorderError(
                f"{corpus.directory} has {len(corpus)} sentence pairs, but there are {len(references)} references. "
                "Give the raw target from which it was made.",
                code="different-lengths",
            )
        total, unknown, tokens = 0.0, 0, 0
        for forced in force(model, corpus):
            total -= forced.log_probabilities.double().sum().item()
            tokens += forced.batch.target_tokens
            unknown += int((forced.batch.target_output == UNKNOWN).sum())
        counts = {
            "subword": tokens,
            "word": sum(len(line.split()) + 1 for line in references),
            "character": sum(len(" ".join(line.split())) + 1 for line in references),
        }
        return {
            "status": "measured" if math.isfinite(total) else "not a number",
            "sentences": len(corpus),
            "unknown": unknown,
            "negative_log_likelihood": total if math.isfinite(total) else None,
            "units": {
                unit: {"count": count, "perplexity": _perplexity(total, count)} for unit, count in counts.items()
            },
        }

    def frame(self, asked: Analysed, results: Path, data: Path) -> DataFrame:
        """Compute one row per cell, test set and unit: CELL, test, unit, perplexity (NaN if missing), status."""
        import pandas as pd

        from wordorder.results.measured import load_measures

        rows = [
            cell | {"unit": unit, "perplexity": measured.get("units", {}).get(unit, {}).get("perplexity")}
            for cell, measured in load_measures(asked.report, results, self.name)
            for unit in UNITS
        ]
        return pd.DataFrame(rows).astype({"perplexity": float})

    def draw(self, frame: DataFrame, asked: Analysed) -> Figure:
        """Draw the perplexity per subword."""
        from wordorder.drawing import seeds

        shown = {"perplexity": "perplexity per subword\n(lower is better)"}
        return seeds.draw(frame[frame["unit"] == "subword"], asked.report, shown)


def _perplexity(total: float, count: int) -> float | None:
    loss = total / count if count else math.nan
    return math.exp(loss) if loss < 700 else None
