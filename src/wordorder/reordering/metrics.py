"""How near a predicted order comes to the order that links ask for, and how far the latter is from the source's.

An order is the source units as the target language would have them, each once. What the links ask for are the
:mod:`ranks <wordorder.reordering.ranks>`; units without links (rank -1) are free and left out everywhere.

- Kendall's tau: 1 - discordant pairs / pairs. All pairs of units with links count. A pair is discordant iff the unit
  of the higher rank stands first; tied units agree with either order.
- Fuzzy reordering score (Talbot et al. 2011, "A Lightweight Evaluation Framework for Machine Translation Reordering"):
  the share of neighbours that belong together, with a begin before the first and an end after the last unit. The second
  of two neighbours must have the rank of the first or the next one.
- Complete match: 1 where no pair is discordant, else 0.

A sentence with fewer than two units with links cannot be in a wrong order: all three are 1. Scores of a corpus are
means over its sentences, so that every sentence counts alike, whatever its length.
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
        """Of the corpus: tau, fuzzy, complete. A corpus without sentences has none of them: NaN."""
        columns = {"tau": self.tau, "fuzzy": self.fuzzy, "complete": self.complete}
        return {name: float(column.mean()) if len(column) else float("nan") for name, column in columns.items()}


def score_orders(orders: Ragged, ranks: Ragged, ranked: NDArray[np.bool_] | None = None) -> OrderScores:
    """The scores of each sentence that has ranks: ``ranked`` (sentences,) says which; without it all have.

    Two systems scored against the same ranks have their scores in the same places. Rows of different lengths, and
    an order that names no unit of its sentence, are a ``ValueError``.
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
    """tau, fuzzy and complete of one sentence. Both arrays: (length,)."""
    return score_orders(Ragged.of([order.tolist()]), Ragged.of([ranks.tolist()])).means()


def identity_orders(offsets: NDArray[np.int64]) -> Ragged:
    """0, 1, 2, ... for each sentence: the order of the source, against which every other has to be held."""
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
    """Discordant pairs, all pairs, neighbours that belong together, and all neighbours. Both arrays: (length,)."""
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
