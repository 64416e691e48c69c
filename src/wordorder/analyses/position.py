"""The share of the reference's words that are found in the translation, by where in the sentence they stand.

A reference of m words has m - n + 1 n-grams. The one that begins at word j (from 0) stands at (j + n / 2) / m, the
middle of its words, and belongs to the bin floor(bins x place). An n-gram type that the reference has r times and the
translation h times is found min(r, h) times, as BLEU's clipping counts it. Which of its r occurrences are meant is not
known, so each is found min(r, h) / r times. The recall of a bin is the sum of these over the whole test set, divided by
the number of n-grams in the bin. Words are those that sacreBLEU's BLEU counts for the target language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sacrebleu
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU

from wordorder.config.analyses import RelativePosition
from wordorder.config.models import Analysed
from wordorder.metrics.scores import build_metric
from wordorder.progress import track
from wordorder.results.translations import CELL_TEST, read_test_sets, with_spread

Floats = NDArray[np.float64]
Words = Sequence[str]


def frame(analysed: Analysed, results: Path, data: Path) -> pd.DataFrame:
    """One row for each cell x test x n x bin: begin and end of the bin (0 to 1), occurrences (n-grams of references),
    recall (0 to 1), mean, sd and seeds of the recall over seeds, status and signature (of BLEU's tokens)."""
    settings = analysed.settings.position or RelativePosition()
    edges = np.arange(settings.bins + 1) / settings.bins
    rows: list[dict[str, Any]] = []
    for test in read_test_sets(analysed, results, data):
        bleu = build_metric("bleu", analysed.target_languages[test.dataset])
        assert isinstance(bleu, BLEU)
        signature = f"tok:{bleu.tokenizer_signature}|version:{sacrebleu.__version__}"
        references = [bleu.tokenizer(line.rstrip()).split() for line in test.references]
        for translation in track(test.translations, f"Words of {test.name}", total=len(test.translations)):
            hypotheses = [bleu.tokenizer(line.rstrip()).split() for line in translation.lines]
            for n in settings.ngrams:
                found, all_of_them = recall_counts(hypotheses or [[]] * len(references), references, n, settings.bins)
                for bin_, (part, count) in enumerate(zip(found, all_of_them, strict=True)):
                    row = {"n": n, "begin": edges[bin_], "end": edges[bin_ + 1], "occurrences": count}
                    recall = part / count if hypotheses and count else float("nan")
                    status = translation.status if count or not hypotheses else "no n-grams"
                    rows.append(translation.cell | row | {"recall": recall, "status": status, "signature": signature})
    columns = ["recall", "mean", "sd", "seeds", "status", "signature"]
    return with_spread(pd.DataFrame(rows), "recall")[[*CELL_TEST, "n", "begin", "end", "occurrences", *columns]]


def recall_counts(
    hypotheses: Sequence[Words], references: Sequence[Words], n: int, bins: int
) -> tuple[Floats, NDArray[np.int64]]:
    """How many n-grams of each bin are found, and how many there are: both (bins,)."""
    found, counts = np.zeros(bins), np.zeros(bins, dtype=np.int64)
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        has, wanted = Counter(_ngrams(hypothesis, n)), Counter(grams := _ngrams(reference, n))
        for start, gram in enumerate(grams):
            # In whole numbers: an n-gram whose middle is at an edge belongs to the bin that begins there.
            place = bins * (2 * start + n) // (2 * len(reference))
            found[place] += min(wanted[gram], has[gram]) / wanted[gram]
            counts[place] += 1
    return found, counts


def _ngrams(words: Words, n: int) -> list[tuple[str, ...]]:
    return [tuple(words[start : start + n]) for start in range(len(words) - n + 1)]
