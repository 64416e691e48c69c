"""Scores by the amount of reordering between source and target.

The amount is Kendall's tau of the source's own order (:mod:`wordorder.reordering.metrics`): 1 if the target keeps it, 0
if the target reverses it. The target order comes from the gold trees of a generated dataset, or from the word alignment
with the reference.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from wordorder.alignment.links import read_links
from wordorder.analyses.base import Input, StudiedDataset, StudyView
from wordorder.analyses.buckets import Bucket, BucketAnalysis
from wordorder.config.base import Name
from wordorder.config.models import Analysed
from wordorder.data.ragged import Ragged
from wordorder.data.text import read_lines
from wordorder.data.trees import parse_tree, tree_order
from wordorder.errors import WordorderError

if TYPE_CHECKING:
    from wordorder.results.translations import TranslatedSet

Floats = NDArray[np.float64]


class ReorderingAmount(BucketAnalysis):
    """Scores by the distance between source and target order (Kendall's tau)."""

    name: ClassVar[str] = "reordering"
    caption: ClassVar[str] = (
        "Scores of the sentences with similar amounts of reordering (Kendall's tau of the source order against the "
        "target's), means over seeds."
    )

    by: Literal["gold", "links"] = Field(
        default="links",
        description="Source of the order: 'gold', the trees of a generated dataset, or 'links', the word alignment "
        "with the reference.",
    )
    aligner: Name = Field(default="hmm", description="Name of an aligner in aligners.yaml, for 'links'.")
    bins: Annotated[int, Field(ge=2)] = Field(
        default=4,
        description="Number of bins, about equal in size; sentences with the same tau stay together.",
    )

    @override
    def inputs(self, dataset: StudiedDataset) -> list[Input]:
        return dataset.translations(
            "raw/{test}.trees" if self.by == "gold" else f"alignment/{self.aligner}/{{test}}.links"
        )

    @override
    def check(self, view: StudyView) -> None:
        for dataset in view.datasets:
            if self.by == "gold" and dataset.dataset.generator is None:
                raise view.error(
                    "has no gold trees, which 'analyses.reordering.by: gold' requires; only generated datasets have. "
                    "Set it to 'links'.",
                    "reordering.by",
                    dataset,
                )
        if self.by == "links" and self.aligner not in view.aligners:
            raise view.error(
                f"is '{self.aligner}', but aligners.yaml defines {', '.join(view.aligners) or 'no aligner'}.",
                "reordering.aligner",
            )

    @override
    def buckets(self, test: TranslatedSet, asked: Analysed, data: Path) -> list[Bucket]:
        from wordorder.results.index import text_of
        from wordorder.results.translations import check_count, raw

        if self.by == "gold":
            path = raw(data, test.dataset, test.name, "trees")
            tau = tree_tau(path)
        else:
            path = data / test.dataset / "alignment" / self.aligner / f"{text_of(test.name)}.links"
            tau = links_tau(path)
        check_count(len(tau), test, path, "lines")
        return tau_buckets(tau, self.bins)

    @override
    def axis(self) -> str:
        return "Kendall's τ of the source's order"

    @override
    def note(self) -> str:
        return "; τ is 1 where the target keeps the order, 0 where it reverses it"


def tree_tau(path: Path) -> Floats:
    """Compute tau of each tree of a file, (lines,)."""
    from wordorder.reordering.metrics import identity_orders, score_orders

    ranks = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            ranks.append(np.argsort(tree_order(parse_tree(line))).tolist())
        except WordorderError as error:
            raise WordorderError(f"{path}, line {number}: {error}", code="malformed-line", path=path) from error
    ragged = Ragged.of(ranks)
    return score_orders(identity_orders(ragged.offsets), ragged).tau


def links_tau(path: Path) -> Floats:
    """Compute tau of each line of links, (lines,); NaN if the links imply no order. Unlinked words are excluded."""
    from wordorder.reordering.metrics import identity_orders, score_orders
    from wordorder.reordering.ranks import corpus_ranks

    links = read_links(path)
    # Tokens beyond the last linked one have no links and change nothing, so the text is not needed.
    lengths = np.array([pair[:, 0].max(initial=-1) + 1 for pair in links], dtype=np.int64)
    ranks, ranked = corpus_ranks(links, lengths)
    tau = np.full(len(links), np.nan)
    tau[ranked] = score_orders(identity_orders(ranks.offsets), ranks, ranked).tau
    return tau


def tau_buckets(tau: Floats, bins: int) -> list[Bucket]:
    """Create at most ``bins`` buckets of about equal numbers of sentences, from the most to the least reordered.

    Sentences of the same tau stay together, so there are fewer buckets if many have the same. Sentences without a tau
    have a separate bucket, if there are any.
    """
    from scipy.stats import rankdata

    known = ~np.isnan(tau)
    # Rounding makes the same share of pairs, computed in two ways, one value. Equal values share their mean rank.
    places = (rankdata(tau[known].round(9)) - 0.5) / max(known.sum(), 1)
    numbers = np.full(len(tau), -1)
    numbers[known] = np.floor(places * bins)
    members = [numbers == number for number in np.unique(numbers[known])]
    ends = [(float(tau[own].min()), float(tau[own].max())) for own in members]
    # The fewest digits, at least two, with which no two buckets have one label.
    several = ([_label(*each, digits) for each in ends] for digits in range(2, 10))
    labels = next(found for found in several if len(set(found)) == len(found))
    buckets = [Bucket(label, *each, own) for label, each, own in zip(labels, ends, members, strict=True)]
    if not known.all():
        buckets.append(Bucket("no order", None, None, ~known))
    return buckets


def _label(least: float, largest: float, digits: int) -> str:
    begin, end = f"{least:.{digits}f}", f"{largest:.{digits}f}"
    return begin if begin == end else f"{begin} to {end}"
