"""Word alignments derived from the decoder's attention to the source, and their errors.

The model is forced to produce the reference. The alignment uses the attention of one layer, the penultimate by default,
averaged over its heads (Garg et al. 2019; Table 3 of the cross-lingual paper). From subwords to words: the attention of
a word's subwords is summed over a source word and averaged over a target word (Koehn and Knowles 2017, section 3.5).
Each target word is then linked to the source word with the most attention. Attention to the end of the source belongs
to no word.

A target subword is produced in one step and read in the next. Most papers take its attention from the step that
produces it. Chen et al. 2020 (Shift-Att) found that the step that reads it aligns better. ``step`` selects one of them.

The links are compared with gold ones by the alignment error rate of Och and Ney 2003 (:mod:`.alignment.error_rate`).

Notation: T target and S source subwords.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from wordorder.alignment.error_rate import error_rate
from wordorder.alignment.gold_sets import word_pieces
from wordorder.alignment.links import GoldLinks, Links, Pair, read_gold
from wordorder.analyses.base import Input, MeasuredSet, ModelAnalysis, StudiedDataset, StudyView, raw_file
from wordorder.config.alignments import gold_split
from wordorder.config.base import Name
from wordorder.config.models import Analysed
from wordorder.data.binary import ParallelCorpus
from wordorder.data.units import words
from wordorder.errors import WordorderError, nearest
from wordorder.wording import count_of

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
        description="Layer of the decoder, from 0, or from the end: -2 is the penultimate. A shallower decoder "
        "uses its first.",
    )
    heads: Literal["mean"] | Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] = Field(
        default="mean", description="Heads to average: 'mean' for all, or a list of numbers from 0."
    )
    step: Literal["produce", "read"] = Field(
        default="produce",
        description="Step whose attention counts for a target subword: the one that produces it, or reads it (Chen "
        "et al. 2020).",
    )
    sets: Annotated[list[Name], Field(min_length=1)] = Field(
        default=["gold"],
        description="Names in gold_alignments.yaml; 'gold' means the links of the test sets of a generated dataset.",
    )

    @override
    def inputs(self, dataset: StudiedDataset) -> list[Input]:
        links = [Input("file", raw_file(name, "alignments")) for name in self.measured_sets(dataset)]
        return [Input("measures"), *links]

    def check(self, view: StudyView) -> None:
        """Reject unknown sets, sets of languages that no dataset has, and datasets without a set."""
        known, fitting = ["gold", *view.gold_sets], {data.dataset.name: _fitting(data) for data in view.datasets}
        for name in self.sets:
            if name not in known:
                hint = nearest(name, known, "gold sets")
                raise view.error(f"names the unknown set '{name}'{hint}", "alignment.sets")
            if not any(name in names for names in fitting.values()):
                raise view.error(
                    f"names '{name}', whose languages are not those of the study's datasets.", "alignment.sets"
                )
        for dataset, names in fitting.items():
            if not set(names) & set(self.sets):
                raise view.error(
                    f"names no gold links for the dataset '{dataset}'. Of its languages there "
                    f"{'is: ' + ', '.join(names) if names else 'are none in gold_alignments.yaml'}.",
                    "alignment.sets",
                )

    def measured_sets(self, dataset: StudiedDataset) -> list[str]:
        """List the chosen gold sets of a dataset's languages; 'gold' means the test sets of a generated one."""
        chosen = [name for name in _fitting(dataset) if name in self.sets]
        own = dataset.tests if "gold" in chosen else []
        return own + [gold_split(name) for name in chosen if name != "gold"]

    @override
    def set_inputs(self, name: str) -> list[Input]:
        files = [raw_file(name, what) for what in ("source", "target", "alignments")]
        return [Input("file", file) for file in [*files, "subword/model.model"]]

    def measure(self, model: Translator, sentences: MeasuredSet) -> dict[str, Any]:
        """Align a set by a model's attention and compare with the gold links of its words."""
        preparation, subword = sentences.preparation, sentences.subword
        source, target = (list(map(words, sentences.lines(what))) for what in ("source", "target"))
        pieces = Words(
            word_pieces(source, preparation.source_language, preparation, subword),
            word_pieces(target, preparation.target_language, preparation, subword),
        )
        links = sentences.data / raw_file(sentences.name, "alignments")
        gold = read_gold(links, source_lengths=[*map(len, source)], target_lengths=[*map(len, target)])
        check_words(sentences.corpus, pieces, gold)
        return self.align(model, sentences.corpus, pieces, gold)

    def align(self, model: Translator, corpus: ParallelCorpus, pieces: Words, gold: GoldLinks) -> dict[str, Any]:
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
                source, target = pieces.source[sentence], pieces.target[sentence]
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
        """Compute one row per cell and gold set: CELL, test, status, aer, precision, recall (NaN if missing), ….

        A dataset has those sets whose gold links are among its data, because their languages are its own.
        """
        import pandas as pd

        from wordorder.results.measured import load_measures

        tests = asked.report.tests

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
        """Draw the three rates, one row of panels per set."""
        from wordorder.drawing import seeds

        shown = {"aer": "alignment error rate\n(lower is better)", "precision": "precision", "recall": "recall"}
        return seeds.draw(frame, asked.report, shown, shares=True)


def _fitting(dataset: StudiedDataset) -> list[str]:
    """List the gold sets of a dataset; 'gold' means the links of a generated one."""
    return (["gold"] if dataset.dataset.generator else []) + dataset.gold_sets


@dataclass(frozen=True)
class Words:
    """The number of subwords of each word, for each sentence pair. Gold links refer to these words."""

    source: Sequence[Sequence[int]]
    target: Sequence[Sequence[int]]


def word_weights(weights: Weights, source: Sequence[int], target: Sequence[int]) -> Weights:
    """Convert attention between subwords to attention between words.

    Args:
        weights: Attention of subwords, (T, S).
        source: Number of subwords of each source word; 0 for a word that cleaning has removed.
        target: The same for target words.

    Returns:
        Attention of words, (target words, source words).
    """
    summed = weights @ np.repeat(np.eye(len(source)), source, axis=0)
    pieces = np.repeat(np.eye(len(target)), target, axis=0)
    return (pieces / np.maximum(target, 1)).T @ summed


def strongest(weights: Weights, source: Sequence[int], target: Sequence[int]) -> list[Pair]:
    """Link each target word to the source word with the most attention, the first of equal ones.

    Args:
        weights: Attention of subwords, (T, S).
        source: Number of subwords of each source word.
        target: Number of subwords of each target word.

    Returns:
        Pairs (source, target). A word without subwords has no link.
    """
    readable = np.flatnonzero(source)
    if not len(readable):
        return []
    linked = word_weights(weights, source, target)[:, readable]
    return [(int(readable[row.argmax()]), j) for j, row in enumerate(linked) if target[j]]


def layer_number(layer: int, layers: int) -> int:
    """Convert a layer, counted from 0 or if negative from the end, to its number from 0; at least the first."""
    if layer >= layers:
        raise WordorderError(
            f"'analyses.alignment.layer' is the decoder layer {layer}, counted from 0, but the model has "
            f"{count_of(layers, 'decoder layer')}. Give a number up to {layers - 1}, or count from the end: -1 is the "
            "last layer, -2 the penultimate one.",
            code="out-of-range",
            key="analyses.alignment.layer",
            found=layer,
            expected=layers - 1,
        )
    return max(0, layer + layers if layer < 0 else layer)


def _heads(heads: list[int], count: int) -> list[int]:
    if max(heads) >= count:
        raise WordorderError(
            f"'analyses.alignment.heads' contains the head {max(heads)}, counted from 0, but the model has "
            f"{count_of(count, 'head')} per layer. Give numbers up to {count - 1}, or 'mean' for all heads.",
            code="out-of-range",
            key="analyses.alignment.heads",
            found=max(heads),
            expected=count - 1,
        )
    return heads


def check_words(corpus: ParallelCorpus, pieces: Words, gold: GoldLinks) -> None:
    """Reject words or links of another text than that of the corpus."""
    same = len(corpus) == len(pieces.source) == len(gold.sure)
    for lengths, side in ((corpus.source_lengths, pieces.source), (corpus.target_lengths, pieces.target)):
        same = same and list(lengths) == [sum(counts) for counts in side]
    if not same:
        raise WordorderError(
            f"The words with gold links are not those from which {corpus.directory} was made: they are cut into other "
            "subwords. Gold links count the words between the spaces of the raw text, so the dataset's preprocessing "
            "must treat each of them by itself: make the corpus again with 'wordorder stage import-gold'.",
            code="another-corpus",
        )
