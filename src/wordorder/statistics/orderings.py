"""Permutation test of a published order of systems, without assumptions about the scores.

S counts the pairs in the same order minus those in the opposite order. If the order of our systems had nothing to do
with the published one, every permutation of our systems would be equally likely. Pairs are not independent
observations: a binomial test over them rejects far too often.

Notation: k systems, C columns of a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import permutations

import numpy as np

from wordorder.statistics.over_seeds import holm
from wordorder.statistics.resampling import Array

EXACT = 8
"""The largest number of systems for which all permutations are counted."""


class OrderOutcome(StrEnum):
    """Outcome of the test of an order."""

    REPRODUCED = "order reproduced"
    REVERSED = "reversed"
    NOT_SHOWN = "not shown"
    TOO_FEW = "too few systems"


class PairOutcome(StrEnum):
    """Outcome of the test of a published pair."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    NOT_TOLD_APART = "not told apart"


@dataclass(frozen=True)
class Order:
    """The test of one order.

    Attributes:
        systems: The number of systems.
        agreement: S, the number of pairs in the same order minus that of pairs in the opposite order.
        p_same: The p-value of at least as much agreement.
        p_reversed: The p-value of at most as much agreement.
        least: The smallest p-value that different scores of ours can have. It is larger if published scores are equal.
    """

    systems: int
    agreement: int
    p_same: float
    p_reversed: float
    least: float


def permutation_test(published: Array, ours: Array, *, samples: int = 9_999, seed: int = 12345) -> Order:
    """Test whether our systems are in the published order.

    Args:
        published: Published scores, (k,), or of all columns of a table, (C, k); higher is better, or lower in both.
        ours: Our scores of the same systems. A permutation is the same for all columns. In either, nan marks a missing
            score, whose pairs count 0. In a column, only the systems that have both scores are exchanged, in the order
            that the permutation gives them.
        samples: The number of random permutations for more than eight systems.
        seed: The seed of the random permutations.

    Returns:
        The test.
    """
    columns = list(zip(np.atleast_2d(published), np.atleast_2d(ours), strict=True))
    k = len(columns[0][0])
    if k <= EXACT:
        orders = np.array(list(permutations(range(k))))
    else:
        orders = np.random.default_rng(seed).permuted(np.tile(np.arange(k), (samples, 1)), axis=1)
    observed = 0
    by_chance, if_different = np.zeros((2, len(orders)), dtype=int)
    for published_scores, our_scores in columns:
        known = np.flatnonzero(~np.isnan(published_scores + our_scores))
        one, other, different = map(_signs, (published_scores[known], our_scores[known], known.astype(float)))
        own = orders[:, known].argsort(axis=1).argsort(axis=1)
        places = own[:, :, None], own[:, None, :]
        observed += int((one * other).sum()) // 2
        by_chance += (one * other[places]).sum(axis=(1, 2)) // 2
        if_different += (one * different[places]).sum(axis=(1, 2)) // 2
    most = (if_different == if_different.max()).sum()
    counts = np.array([(by_chance >= observed).sum(), (by_chance <= observed).sum(), most])
    # Of random permutations, one more is counted: that of our systems.
    p = counts / len(orders) if k <= EXACT else (1 + counts) / (1 + samples)
    return Order(k, observed, *map(float, p))


def _signs(scores: Array) -> Array:
    """Compute the sign of each difference, (k,) to (k, k)."""
    signs: Array = np.sign(scores[:, None] - scores[None, :]).astype(int)
    return signs


def order_outcomes(columns: Sequence[Order], *, alpha: float = 0.05) -> list[OrderOutcome]:
    """Decide on the order of each column of a table, corrected by Holm's method over the columns in each direction."""
    same = holm([order.p_same for order in columns])
    opposite = holm([order.p_reversed for order in columns])
    found = []
    for order, p_same, p_reversed in zip(columns, same, opposite, strict=True):
        if p_same is not None and p_same <= alpha:
            found.append(OrderOutcome.REPRODUCED)
        elif p_reversed is not None and p_reversed <= alpha:
            found.append(OrderOutcome.REVERSED)
        elif order.least > alpha / len(columns):
            found.append(OrderOutcome.TOO_FEW)
        else:
            found.append(OrderOutcome.NOT_SHOWN)
    return found


def pair_outcome(p: float, *, same_order: bool, columns: int, alpha: float = 0.05) -> PairOutcome:
    """Decide on a published pair by the p-value of Tukey's test, at a level corrected over the columns of the table."""
    if p >= alpha / columns:
        return PairOutcome.NOT_TOLD_APART
    return PairOutcome.CONFIRMED if same_order else PairOutcome.CONTRADICTED
