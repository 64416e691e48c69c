"""Probabilities from expected counts, by variational Bayes.

Riley & Gildea 2012, "Improving the IBM Alignment Models Using Variational Bayes": under a sparse Dirichlet prior the
probability of a unit that was counted c times, of n in all, is exp(ψ(c + α)) / exp(ψ(n + α · units)), where ψ is the
digamma function. It takes about half a count off each unit, so that rare units do not collect what nothing explains.
It comes after IBM model 1: taken off while all is still equally likely, the half leaves rare units to null for good.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from wordorder.alignment.agreement import UNIT
from wordorder.alignment.lexicon import Lexicon
from wordorder.compiled import compiled

ALPHA = 0.001  # of each unit in the Dirichlet prior of what is made by a unit …
NULL_ALPHA = 0.01  # … and by null
# Units that the prior has at most. A prior of all units, not only of those seen together, holds back units that are so
# rare that they would explain whatever stands beside them; in a very large vocabulary it would hold back all.
UNITS = 20_000


@compiled
def exp_digamma(x: float) -> float:
    """exp(ψ(x)) for x > 0, to about ten digits."""
    below = 0.0
    while x < 8.0:  # ψ(x) = ψ(x + 1) - 1 / x
        below += 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    return x * math.exp(-below - 0.5 / x - y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y / 240))))


@compiled
def _weight(count: float, bayes: bool) -> float:
    return exp_digamma(count) if bayes else count


@compiled
def _scale(total: float, bayes: bool) -> float:
    # exp(ψ) of a small prior alone is 0; what was never counted then gets no probability.
    return 1.0 / max(_weight(total, bayes), 1e-300)


@compiled
def estimate_forward(lexicon: Lexicon, counts: NDArray[np.int64], bayes: bool, lexical: NDArray[np.float32]) -> None:
    """p(target unit | source unit) of every pair, from its count.

    Without ``bayes`` it is (c + α) / (n + α · units).
    """
    prior = ALPHA * min(lexicon.columns, UNITS)
    for e in range(len(lexicon.rows) - 1):
        first, last = lexicon.rows[e], lexicon.rows[e + 1]
        total = 0
        for k in range(first, last):
            total += counts[k]
        scale = _scale(total * UNIT + prior, bayes)
        for k in range(first, last):
            lexical[k] = _weight(counts[k] * UNIT + ALPHA, bayes) * scale


@compiled
def estimate_backward(lexicon: Lexicon, counts: NDArray[np.int64], bayes: bool, lexical: NDArray[np.float32]) -> None:
    """p(source unit | target unit) of every pair, likewise."""
    prior = ALPHA * min(len(lexicon.rows) - 1, UNITS)
    totals = np.zeros(lexicon.columns, np.int64)
    for k in range(len(counts)):
        totals[lexicon.targets[k]] += counts[k]
    scales = np.empty(lexicon.columns)
    for f in range(lexicon.columns):
        scales[f] = _scale(totals[f] * UNIT + prior, bayes)
    for k in range(len(counts)):
        lexical[k] = _weight(counts[k] * UNIT + ALPHA, bayes) * scales[lexicon.targets[k]]


@compiled
def estimate_null(counts: NDArray[np.int64], bayes: bool) -> NDArray[np.float64]:
    """p(unit | null), from the count of every unit."""
    scale = _scale(counts.sum() * UNIT + NULL_ALPHA * len(counts), bayes)
    found = np.empty(len(counts))
    for unit in range(len(counts)):
        found[unit] = _weight(counts[unit] * UNIT + NULL_ALPHA, bayes) * scale
    return found
