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
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from wordorder.alignment.error_rate import error_rate
from wordorder.alignment.gold_sets import word_pieces
from wordorder.alignment.links import GoldLinks, Links, Pair, read_gold
from wordorder.analyses.base import Input, MeasuredSet, ModelAnalysis, StudiedDataset, StudyView, raw_file
from wordorder.config.alignments import gold_split
from wordorder.config.base import Name
from wordorder.config.models import Analysed
from wordorder.data.binary import ParallelCorpus
from wordorder.errors import WordorderError, nearest

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from wordorder.model.architectures.base import Translator

Weights = NDArray[np.floating[Any]]


class AttentionAlignment(ModelAnalysis):
    """Alignment error rate, precision and recall of the decoder's attention against gold links."""

    name: ClassVar[str] = "alignment"
    caption: ClassVar[str] = (
        "Alignment error rate, precision and recall of the decoder's attention to the source, read as word alignment, "
        "against gold links; every seed is shown. Each target word is linked to the source word that gets most of its "
        "attention."
    )
    not_measured: ClassVar[frozenset[str]] = frozenset({"sets"})

    layer: int = Field(
        default=-2,
        description="Of the decoder, from 0, or from behind: -2 is the penultimate. The first where there are too few.",
    )
    heads: Literal["mean"] | Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] = Field(
        default="mean", description="'mean' of all, or the numbers, from 0, of those whose mean is taken."
    )
    step: Literal["produce", "read"] = Field(
        default="produce",
        description="Attention of a target piece from the step that produces it, or that reads it (Chen et al. 2020).",
    )
    sets: Annotated[list[Name], Field(min_length=1)] = Field(
        default=["gold"],
        description="Names in gold_alignments.yaml; 'gold' are the links of a generated dataset's test sets.",
    )

    def inputs(self, dataset: StudiedDataset) -> list[Input]:
        links = [Input("file", raw_file(name, "alignments")) for name in self.measured_sets(dataset)]
        return [Input("measures"), *links]

    def check(self, view: StudyView) -> None:
        """Refuse unknown sets, sets of other languages than the datasets', and datasets without a set."""
        known, fitting = ["gold", *view.gold_sets], {data.dataset.name: _fitting(data) for data in view.datasets}
        for name in self.sets:
            if name not in known:
                hint = nearest(name, known, "gold sets")
                raise view.error(f"names the unknown set '{name}'{hint}", "alignment.sets")
            if not any(name in names for names in fitting.values()):
                raise view.error(
                    f"names '{name}', which is of other languages than the study's datasets.", "alignment.sets"
                )
        for dataset, names in fitting.items():
            if not set(names) & set(self.sets):
                raise view.error(
                    f"names no gold links for the dataset '{dataset}'. Of its languages there "
                    f"{'is: ' + ', '.join(names) if names else 'are none in gold_alignments.yaml'}.",
                    "alignment.sets",
                )

    def measured_sets(self, dataset: StudiedDataset) -> list[str]:
        """List the chosen gold sets of a dataset's languages; 'gold' stands for the test sets of a generated one."""
        chosen = [name for name in _fitting(dataset) if name in self.sets]
        own = dataset.tests if "gold" in chosen else []
        return own + [gold_split(name) for name in chosen if name != "gold"]

    def set_inputs(self, name: str) -> list[Input]:
        files = [raw_file(name, what) for what in ("source", "target", "alignments")]
        return [Input("file", file) for file in [*files, "subword/model.model"]]

    def measure(self, model: Translator, sentences: MeasuredSet) -> dict[str, Any]:
        """Align a set by a model's attention and compare with the gold links of its words."""
        preparation, subword = sentences.preparation, sentences.subword
        source, target = ([line.split() for line in sentences.lines(what)] for what in ("source", "target"))
        words = Words(
            word_pieces(source, preparation.source_language, preparation, subword),
            word_pieces(target, preparation.target_language, preparation, subword),
        )
        links = sentences.data / raw_file(sentences.name, "alignments")
        gold = read_gold(links, source_lengths=[*map(len, source)], target_lengths=[*map(len, target)])
        check_words(sentences.corpus, words, gold)
        return self.align(model, sentences.corpus, words, gold)

    def align(self, model: Translator, corpus: ParallelCorpus, words: Words, gold: GoldLinks) -> dict[str, Any]:
        """Align a corpus by a model's attention and compare with gold links between words."""
        from wordorder.decoding.forced import force

        found: list[list[Pair]] = [[] for _ in range(len(corpus))]
        layers, number, finite = 0, 0, True
        for forced in force(model, corpus, attention=("cross",)):
            layers = len(forced.attention["cross"])
            number = layer_number(self.layer, layers)
            chosen = forced.attention["cross"][number]
            chosen = chosen if self.heads == "mean" else chosen[:, _heads(self.heads, chosen.size(1))]
            batch_weights = chosen.mean(1).cpu().numpy()
            finite = finite and bool(np.isfinite(batch_weights).all())
            for sentence, weights in zip(forced.sentences.tolist(), batch_weights, strict=True):
                source, target = words.source[sentence], words.target[sentence]
                first = 0 if self.step == "produce" else 1
                rows = weights[first : first + sum(target), : sum(source)]
                found[sentence] = strongest(rows, source, target)
        rate = error_rate(Links.of(found), gold)
        numbers = {"aer": rate.aer, "precision": rate.precision, "recall": rate.recall}
        return {
            "status": "measured" if finite else "not a number",
            "sentences": len(corpus),
            "layer": number,
            "layers": layers,
            "heads": self.heads,
            "step": self.step,
            **{name: value if finite else None for name, value in numbers.items()},
            "links": {
                "found": rate.found,
                "sure": rate.sure,
                "found_sure": rate.found_sure,
                "found_possible": rate.found_possible,
            },
        }

    def frame(self, asked: Analysed, results: Path, data: Path) -> DataFrame:
        """Return a row for each cell and gold set: CELL, test, status, aer, precision, recall (NaN without them) …

        A dataset has those sets whose gold links lie among its data, because they are of its languages.
        """
        import pandas as pd

        from wordorder.results.measured import load_measures

        tests = {dataset.name: dataset.tests for dataset in asked.report.datasets}

        def sets(dataset: str) -> list[str]:
            folder = data / dataset
            generated = [name for name in tests[dataset] if (folder / "raw" / f"{name}.alignments").is_file()]
            others = [name for name in self.sets if (folder / "gold" / f"{name}.alignments").is_file()]
            return (generated if "gold" in self.sets else []) + [gold_split(name) for name in others]

        names = ("aer", "precision", "recall", "layer", "layers", "step")
        rows = [
            cell | {name: found.get(name) for name in names}
            for cell, found in load_measures(asked.report, results, self.name, sets)
        ]
        if not rows:
            raise WordorderError(
                f"{data} has no gold links of the sets {', '.join(self.sets)} for a dataset of the study. Import them "
                "('wordorder stage import-gold --help'), or correct 'analyses.alignment.sets'.",
                code="missing-gold-links",
            )
        return pd.DataFrame(rows).astype(dict.fromkeys(("aer", "precision", "recall"), float))

    def draw(self, frame: DataFrame, asked: Analysed) -> Figure:
        """Draw the three rates, a row of panels for each set."""
        from wordorder.drawing import seeds

        shown = {"aer": "alignment error rate\n(lower is better)", "precision": "precision", "recall": "recall"}
        return seeds.draw(frame, asked.report, shown, shares=True)


def _fitting(dataset: StudiedDataset) -> list[str]:
    """List the gold sets of a dataset; 'gold' stands for the links of a generated one."""
    return (["gold"] if dataset.dataset.generator else []) + dataset.gold_sets


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
            f"'layer' a number up to {layers - 1}, or count from behind: -1 is the last layer, -2 the one before.",
            code="out-of-range",
        )
    return max(0, layer + layers if layer < 0 else layer)


def _heads(heads: list[int], count: int) -> list[int]:
    if max(heads) >= count:
        raise WordorderError(
            f"The alignment is to be read off head {max(heads)}, but there are heads 0 to {count - 1}.",
            code="out-of-range",
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
            "must treat each of them by itself: make the corpus again with 'wordorder stage import-gold'.",
            code="another-corpus",
        )
