"""Scores of a predicted permutation against the order that links imply.

A permutation lists the source tokens in target order. The links imply :mod:`ranks <wordorder.reordering.ranks>`. Tokens
without links (rank -1) are free and excluded everywhere.

- Kendall's tau: 1 - discordant pairs / pairs. All pairs of tokens with links count. A pair is discordant if the token
  of the higher rank comes first; ties agree with either order.
- Fuzzy reordering score (Talbot et al. 2011, "A Lightweight Evaluation Framework for Machine Translation Reordering"):
  the share of neighbours that belong together, with a begin before the first and an end after the last token. The
  second of two neighbours must have the rank of the first or the next one.
- Complete match: 1 if no pair is discordant, else 0.

A sentence with fewer than two linked tokens cannot be in a wrong order: all three scores are 1. Scores of a corpus are
means over its sentences, so that every sentence has the same weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordorder.compiled import compiled
from wordorder.data.ragged import Ragged

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class OrderScores:
    """The scores of each sentence: three arrays of the same length, for paired tests."""

    tau: Floats
    fuzzy: Floats
    complete: Floats

    def means(self) -> dict[str, float]:
        """Return the means over the corpus: tau, fuzzy, complete; NaN for a corpus without sentences."""
        columns = {"tau": self.tau, "fuzzy": self.fuzzy, "complete": self.complete}
        return {name: float(column.mean()) if len(column) else float("nan") for name, column in columns.items()}


def score_orders(orders: Ragged, ranks: Ragged, ranked: NDArray[np.bool_] | None = None) -> OrderScores:
    """Score each sentence that has ranks.

    Two systems scored against the same ranks have their scores at the same indices.

    Args:
        orders: The permutations.
        ranks: The ranks of the same sentences.
        ranked: Whether each sentence has ranks, (sentences,); by default all do.

    Returns:
        The scores.

    Raises:
        ValueError: Rows have different lengths, or a permutation names a token that its sentence does not have.
    """
    if not np.array_equal(orders.offsets, ranks.offsets):
        raise ValueError("orders and ranks are of different sentences: their lengths differ")
    if ranked is None:
        ranked = np.ones(len(ranks), dtype=np.bool_)
    if np.any(orders.values < 0) or np.any(orders.values >= np.repeat(orders.lengths, orders.lengths)):
        raise ValueError("an order names a unit that its sentence does not have")
    counts = np.zeros((len(ranks), 4), dtype=np.int64)
    _count_sentences(orders.values, ranks.values, ranks.offsets, counts)
    discordant, pairs, together, neighbours = counts[ranked].T
    tau = 1 - discordant / np.maximum(pairs, 1)
    return OrderScores(tau, together / neighbours, (discordant == 0).astype(np.float64))


def score_order(order: NDArray[np.int32], ranks: NDArray[np.int32]) -> dict[str, float]:
    """Compute tau, fuzzy and complete of one sentence from its permutation and its ranks, both (length,)."""
    return score_orders(Ragged.of([order.tolist()]), Ragged.of([ranks.tolist()])).means()


def identity_orders(offsets: NDArray[np.int64]) -> Ragged:
    """Create 0, 1, 2, ... for each sentence: the order of the source, with which all others are compared."""
    starts = np.repeat(offsets[:-1], np.diff(offsets))
    return Ragged((np.arange(offsets[-1]) - starts).astype(np.int32), offsets)


@compiled
def _count_sentences(
    orders: NDArray[np.int32], ranks: NDArray[np.int32], offsets: NDArray[np.int64], counts: NDArray[np.int64]
) -> None:
    for sentence in range(len(counts)):
        begin, end = offsets[sentence], offsets[sentence + 1]
        counts[sentence] = count_agreement(orders[begin:end], ranks[begin:end])


@compiled
def count_agreement(order: NDArray[np.int32], ranks: NDArray[np.int32]) -> tuple[int, int, int, int]:
    """Count discordant pairs, all pairs, neighbours that belong together, and all neighbours of arrays (length,)."""
    placed = np.empty(len(order), dtype=np.int32)
    count = discordant = together = 0
    last = np.int32(-1)  # the begin of the sentence
    highest = np.int32(-1)
    for unit in order:
        rank = ranks[unit]
        if rank < 0:
            continue
        for other in placed[:count]:
            discordant += other > rank
        placed[count] = rank
        count += 1
        together += rank == last or rank == last + 1
        last = rank
        highest = max(highest, rank)
    together += last == highest  # the end of the sentence
    return discordant, count * (count - 1) // 2, together, count + 1
