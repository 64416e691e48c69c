"""Scores by the length of the source sentence (as Table 7 of the OPR paper).

Words are Moses tokens of the raw source with dashes split off. Counted this way, the English side of newstest2014 En-De
has 1339, 1396, 254 and 14 sentences of 0-19, 20-39, 40-59 and 60-91 words, as in that table. The dataset's own
preprocessing is not involved.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from typing_extensions import override

from wordorder.analyses.base import Input, StudiedDataset, StudyView
from wordorder.analyses.buckets import Bucket, BucketAnalysis
from wordorder.config.base import Positive
from wordorder.config.models import Analysed
from wordorder.data.binary import ParallelCorpus
from wordorder.data.text import read_lines
from wordorder.data.tokenise import UNSPACED_LANGUAGES, base_language, tokeniser

if TYPE_CHECKING:
    from wordorder.results.translations import TranslatedSet


class Length(BucketAnalysis):
    """Scores by the length of the source sentence."""

    name: ClassVar[str] = "length"
    caption: ClassVar[str] = "Scores of the sentences of each range of source lengths, means over seeds."

    edges: Annotated[list[Positive], Field(min_length=1)] = Field(
        default=[20, 40, 60], description="Lengths at which buckets begin: [20, 40] gives 0-19, 20-39 and 40 or more."
    )
    unit: Literal["word", "subword"] = Field(
        default="word",
        description="Unit of length: 'word' counts Moses tokens of the raw text with dashes split off, 'subword' the "
        "model's input.",
    )

    @model_validator(mode="after")
    def _edges_rise(self) -> Length:
        if sorted(set(self.edges)) != self.edges:
            raise ValueError(f"the edges must increase, but are {self.edges}")
        return self

    @override
    def inputs(self, dataset: StudiedDataset) -> list[Input]:
        if self.unit == "word":
            return dataset.translations("raw/{test}.source")
        return [*dataset.translations(), *dataset.corpora()]

    @override
    def check(self, view: StudyView) -> None:
        for dataset in view.datasets:
            if self.unit == "word" and base_language(dataset.dataset.source_language) in UNSPACED_LANGUAGES:
                raise view.error(
                    "has a source without spaces between words, which 'analyses.length' cannot count. "
                    "Set 'analyses.length.unit' to 'subword'.",
                    "length.unit",
                    dataset,
                )

    @override
    def buckets(self, test: TranslatedSet, asked: Analysed, data: Path) -> list[Bucket]:
        from wordorder.results.translations import check_count, raw

        if self.unit == "subword":
            return length_buckets(subword_lengths(data, test), self.edges)
        path = raw(data, test.dataset, test.name, "source")
        lengths = word_lengths(path, asked.source_languages[test.dataset])
        check_count(len(lengths), test, path, "lines")
        return length_buckets(lengths, self.edges)

    @override
    def axis(self) -> str:
        return f"{self.unit}s of the source sentence"


def word_lengths(path: Path, language: str) -> NDArray[np.int64]:
    """Count the words of each line, (lines,)."""
    tokenise = tokeniser(language, aggressive_dash_splits=True)
    return np.array([len(tokenise(line).split()) for line in read_lines(path)], dtype=np.int64)


def subword_lengths(data: Path, test: TranslatedSet) -> NDArray[np.int32]:
    """Count the subwords of each source sentence of a test set as the model reads it, without the end, (pairs,)."""
    from wordorder.results.index import text_of
    from wordorder.results.translations import check_count

    path = data / test.dataset / "binary" / text_of(test.name)
    lengths = ParallelCorpus.open(path).source_lengths
    check_count(len(lengths), test, path, "sentences")
    return lengths


def length_buckets(lengths: NDArray[np.int64] | NDArray[np.int32], edges: list[int]) -> list[Bucket]:
    """Create buckets that begin at 0 and at each edge and end before the next; the last ends with the longest one."""
    begins = [0, *edges]
    buckets = []
    for begin, end in zip(begins, [*edges, None], strict=True):
        members = lengths >= begin if end is None else (begin <= lengths) & (lengths < end)
        last = int(lengths[members].max()) if end is None and members.any() else None
        label = f"≥ {begin}" if end is None else f"{begin}–{end - 1}"
        buckets.append(Bucket(label, begin, last if end is None else end - 1, members))
    return buckets
