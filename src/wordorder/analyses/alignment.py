"""Word alignments read off the decoder's attention to the source, and how wrong they are.

The model is made to produce the reference, and of its attention one layer is taken, the penultimate by default, and the
mean of its heads (Garg et al. 2019; table 3 of the cross-lingual paper). From subwords to words: what a word's pieces
get is added up over a source word and averaged over a target word (Koehn and Knowles 2017, section 3.5). Each target
word is then linked to the source word with the most attention; attention to the end of the source belongs to no word.

A target piece is produced in one step and read in the next. Papers take its attention from the step that produces it,
except Chen et al. 2020 (Shift-Att), who found that the step that reads it aligns better: ``step`` says which.

The links are compared with gold ones by the alignment error rate of Och and Ney 2003 (:mod:`.alignment.error_rate`).

T target and S source pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from wordorder.alignment.error_rate import error_rate
from wordorder.alignment.links import GoldLinks, Links, Pair
from wordorder.config.alignments import gold_split
from wordorder.config.analyses import AttentionReading
from wordorder.config.models import Analysed
from wordorder.data.binary import ParallelCorpus
from wordorder.decoding.forced import force
from wordorder.errors import WordorderError
from wordorder.model.translator import Translator
from wordorder.results.measured import load_measures

Weights = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Words:
    """Of each sentence pair, how many pieces each word has: the words that gold links number."""

    source: Sequence[Sequence[int]]
    target: Sequence[Sequence[int]]


def word_weights(weights: Weights, source: Sequence[int], target: Sequence[int]) -> Weights:
    """Attention of pieces (T, S) -> of words (target words, source words).

    source, target: how many pieces each word has; 0 for a word of which cleaning has left nothing.
    """
    summed = weights @ np.repeat(np.eye(len(source)), source, axis=0)
    pieces = np.repeat(np.eye(len(target)), target, axis=0)
    return (pieces / np.maximum(target, 1)).T @ summed


def strongest(weights: Weights, source: Sequence[int], target: Sequence[int]) -> list[Pair]:
    """Each target word linked to the source word that gets most of its attention (T, S), as (source, target).

    Of equal ones the first. A word without pieces has no link.
    """
    readable = np.flatnonzero(source)
    if not len(readable):
        return []
    words = word_weights(weights, source, target)[:, readable]
    return [(int(readable[row.argmax()]), j) for j, row in enumerate(words) if target[j]]


def layer_number(layer: int, layers: int) -> int:
    """The number, from 0, of a layer counted from 0 or, if negative, from behind; the first where there are too few."""
    if layer >= layers:
        raise WordorderError(
            f"The alignment is to be read off decoder layer {layer}, counted from 0, but the model has {layers}. Give "
            f"'layer' a number up to {layers - 1}, or count from behind: -1 is the last layer, -2 the one before."
        )
    return max(0, layer + layers if layer < 0 else layer)


def measure(
    model: Translator, corpus: ParallelCorpus, words: Words, gold: GoldLinks, settings: AttentionReading
) -> dict[str, Any]:
    """Align a corpus by a model's attention and compare with gold links, whose words have these numbers of pieces."""
    found: list[list[Pair]] = [[] for _ in range(len(corpus))]
    layers, number, finite = 0, 0, True
    for forced in force(model, corpus, attention=("cross",)):
        layers = len(forced.attention["cross"])
        number = layer_number(settings.layer, layers)
        chosen = forced.attention["cross"][number]
        chosen = chosen if settings.heads == "mean" else chosen[:, _heads(settings.heads, chosen.size(1))]
        batch_weights = chosen.mean(1).cpu().numpy()
        finite = finite and bool(np.isfinite(batch_weights).all())
        for sentence, weights in zip(forced.sentences.tolist(), batch_weights, strict=True):
            source, target = words.source[sentence], words.target[sentence]
            first = 0 if settings.step == "produce" else 1
            rows = weights[first : first + sum(target), : sum(source)]
            found[sentence] = strongest(rows, source, target)
    rate = error_rate(Links.of(found), gold)
    numbers = {"aer": rate.aer, "precision": rate.precision, "recall": rate.recall}
    return {
        "status": "measured" if finite else "not a number",
        "sentences": len(corpus),
        "layer": number,
        "layers": layers,
        "heads": settings.heads,
        "step": settings.step,
        **{name: value if finite else None for name, value in numbers.items()},
        "links": {
            "found": rate.found,
            "sure": rate.sure,
            "found_sure": rate.found_sure,
            "found_possible": rate.found_possible,
        },
    }


def _heads(heads: list[int], count: int) -> list[int]:
    if max(heads) >= count:
        raise WordorderError(
            f"The alignment is to be read off head {max(heads)}, but there are heads 0 to {count - 1}."
        )
    return heads


def check_words(corpus: ParallelCorpus, words: Words, gold: GoldLinks) -> None:
    """Refuse words or links of another text than the corpus was made of."""
    same = len(corpus) == len(words.source) == len(gold.sure)
    for lengths, side in ((corpus.source_lengths, words.source), (corpus.target_lengths, words.target)):
        same = same and list(lengths) == [sum(counts) for counts in side]
    if not same:
        raise WordorderError(
            f"The words with gold links are not those from which {corpus.directory} was made: they are cut into other "
            "subwords. Gold links count the words between the spaces of the raw text, so the dataset's preprocessing "
            "must treat each of them by itself: make the corpus again with 'wordorder import-gold'."
        )


def frame(analysed: Analysed, results: Path, data: Path) -> pd.DataFrame:
    """A row for each cell and gold set: CELL, test, status, aer, precision, recall (NaN where there are none) …

    A dataset has those sets whose gold links lie among its data, because they are of its languages.
    """
    settings = analysed.settings.alignment
    assert settings is not None
    tests = {dataset.name: dataset.tests for dataset in analysed.report.datasets}

    def sets(dataset: str) -> list[str]:
        folder = data / dataset
        generated = [name for name in tests[dataset] if (folder / "raw" / f"{name}.alignments").is_file()]
        others = [name for name in settings.sets if (folder / "gold" / f"{name}.alignments").is_file()]
        return (generated if "gold" in settings.sets else []) + [gold_split(name) for name in others]

    names = ("aer", "precision", "recall", "layer", "layers", "step")
    rows = [
        cell | {name: found.get(name) for name in names}
        for cell, found in load_measures(analysed.report, results, "alignment", sets)
    ]
    if not rows:
        raise WordorderError(
            f"{data} has no gold links of the sets {', '.join(settings.sets)} for a dataset of the study. Import them "
            "('wordorder import-gold --help'), or correct 'analyses.alignment.sets'."
        )
    return pd.DataFrame(rows).astype(dict.fromkeys(("aer", "precision", "recall"), float))
