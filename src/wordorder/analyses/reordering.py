"""Scores by how far the order of the source is from that of the target.

The amount is Kendall's tau of the source's own order (:mod:`wordorder.reordering.metrics`): 1 where the target keeps
it, 0 where it turns it round. The target's order is that of the gold trees of a generated dataset, or that which the
word alignment with the reference asks for.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from wordorder.alignment.links import read_links
from wordorder.analyses.buckets import Bucket, score_buckets
from wordorder.config.analyses import ReorderingAmount
from wordorder.config.models import Analysed
from wordorder.data.ragged import Ragged
from wordorder.data.text import read_lines
from wordorder.data.trees import parse_tree, tree_order
from wordorder.errors import WordorderError
from wordorder.reordering.metrics import identity_orders, score_orders
from wordorder.reordering.ranks import corpus_ranks
from wordorder.results.translations import TranslatedSet, check_count, raw

Floats = NDArray[np.float64]


def frame(analysed: Analysed, results: Path, data: Path) -> pd.DataFrame:
    """See :func:`score_buckets`; begin and end are the least and the largest tau in the bucket."""
    settings = analysed.settings.reordering or ReorderingAmount()

    def find(test: TranslatedSet) -> list[Bucket]:
        if settings.by == "gold":
            path = raw(data, test.dataset, test.name, "trees")
            tau = tree_tau(path)
        else:
            path = data / test.dataset / "alignment" / settings.aligner / f"{test.name}.links"
            tau = links_tau(path)
        check_count(len(tau), test, path, "lines")
        return tau_buckets(tau, settings.bins)

    return score_buckets(analysed, results, data, find)


def tree_tau(path: Path) -> Floats:
    """tau of each tree of a file: (lines,)."""
    ranks = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            ranks.append(np.argsort(tree_order(parse_tree(line))).tolist())
        except WordorderError as error:
            raise WordorderError(f"{path}, line {number}: {error}") from error
    ragged = Ragged.of(ranks)
    return score_orders(identity_orders(ragged.offsets), ragged).tau


def links_tau(path: Path) -> Floats:
    """tau of each line of links, (lines,); NaN where the links ask for no order. Words without links are left out."""
    links = read_links(path)
    # Units beyond the last linked one have no links and change nothing, so the text is not needed.
    lengths = np.array([pair[:, 0].max(initial=-1) + 1 for pair in links], dtype=np.int64)
    ranks, ranked = corpus_ranks(links, lengths)
    tau = np.full(len(links), np.nan)
    tau[ranked] = score_orders(identity_orders(ranks.offsets), ranks, ranked).tau
    return tau


def tau_buckets(tau: Floats, bins: int) -> list[Bucket]:
    """At most ``bins`` buckets of about as many sentences, from the most to the least reordered.

    Sentences of the same tau stay together, so there are fewer where many have the same. Those without a tau have a
    bucket of their own, if there are any.
    """
    known = ~np.isnan(tau)
    # Rounded, so that the same share of pairs, computed in two ways, stays one value. Equal ones share their mean rank.
    places = (rankdata(tau[known].round(9)) - 0.5) / max(known.sum(), 1)
    numbers = np.full(len(tau), -1)
    numbers[known] = np.floor(places * bins)
    buckets = []
    for number in np.unique(numbers[known]):
        members = numbers == number
        least, largest = float(tau[members].min()), float(tau[members].max())
        label = f"{least:.2f}" if f"{least:.2f}" == f"{largest:.2f}" else f"{least:.2f} to {largest:.2f}"
        buckets.append(Bucket(label, least, largest, members))
    if not known.all():
        buckets.append(Bucket("no order", None, None, ~known))
    return buckets
