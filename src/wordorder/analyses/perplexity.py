"""Perplexity of references: exp of the mean negative log-likelihood, without label smoothing.

    per subword    over target subwords and the end of each sentence: what training reports on the validation set
    per word       over the words between the spaces of the raw target, and the end of each sentence
    per character  over the characters of the raw target, a space between two words too, and the end of each sentence

The total likelihood is the same; only what it is shared out over differs. Models with different vocabularies compare by
word or character (Mielke 2019), as long as neither knows fewer characters: an unknown one is too easy to predict,
therefore ``unknown`` counts them. Chinese and Japanese, written without spaces, compare by character.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from wordorder.config.models import Analysed
from wordorder.data.binary import ParallelCorpus
from wordorder.decoding.forced import force
from wordorder.errors import WordorderError
from wordorder.model.batch import UNKNOWN
from wordorder.model.translator import Translator
from wordorder.results.measured import load_measures

UNITS = ("subword", "word", "character")


def measure(model: Translator, corpus: ParallelCorpus, references: Sequence[str]) -> dict[str, Any]:
    """Negative log-likelihood of a corpus, in nats, and its perplexity by each unit.

    references: the raw target, a line a sentence. A perplexity is None where it is no finite number.
    """
    if len(references) != len(corpus):
        raise WordorderError(
            f"{corpus.directory} has {len(corpus)} sentence pairs, but there are {len(references)} references. Give "
            "the raw target from which it was made."
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
        "units": {unit: {"count": count, "perplexity": _perplexity(total, count)} for unit, count in counts.items()},
    }


def _perplexity(total: float, count: int) -> float | None:
    loss = total / count if count else math.nan
    return math.exp(loss) if loss < 700 else None


def frame(analysed: Analysed, results: Path, data: Path) -> pd.DataFrame:
    """A row for each cell, test set and unit: CELL, test, unit, perplexity (NaN where there is none), status."""
    rows = [
        cell | {"unit": unit, "perplexity": measured.get("units", {}).get(unit, {}).get("perplexity")}
        for cell, measured in load_measures(analysed.report, results, "perplexity")
        for unit in UNITS
    ]
    return pd.DataFrame(rows).astype({"perplexity": float})
