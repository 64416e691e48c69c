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

ALPHA = 0.01  # of the Dirichlet priors


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
def estimate_forward(lexicon: Lexicon, counts: NDArray[np.int64], bayes: bool, lexical: NDArray[np.float32]) -> None:
    """p(target unit | source unit) of every pair, from its count; the units of a row share one distribution.

    Without ``bayes`` it is (c + α) / (n + α · units).
    """
    for e in range(len(lexicon.rows) - 1):
        first, last = lexicon.rows[e], lexicon.rows[e + 1]
        total = 0
        for k in range(first, last):
            total += counts[k]
        scale = 1.0 / _weight(total * UNIT + ALPHA * max(last - first, 1), bayes)
        for k in range(first, last):
            lexical[k] = _weight(counts[k] * UNIT + ALPHA, bayes) * scale


@compiled
def estimate_backward(lexicon: Lexicon, counts: NDArray[np.int64], bayes: bool, lexical: NDArray[np.float32]) -> None:
    """p(source unit | target unit) of every pair, likewise."""
    totals, units = np.zeros(lexicon.columns, np.int64), np.zeros(lexicon.columns, np.int64)
    for k in range(len(counts)):
        totals[lexicon.targets[k]] += counts[k]
        units[lexicon.targets[k]] += 1
    scales = np.empty(lexicon.columns)
    for f in range(lexicon.columns):
        scales[f] = 1.0 / _weight(totals[f] * UNIT + ALPHA * max(units[f], 1), bayes)
    for k in range(len(counts)):
        lexical[k] = _weight(counts[k] * UNIT + ALPHA, bayes) * scales[lexicon.targets[k]]


@compiled
def estimate_null(counts: NDArray[np.int64], bayes: bool) -> NDArray[np.float64]:
    """p(unit | null), from the count of every unit."""
    scale = 1.0 / _weight(counts.sum() * UNIT + ALPHA * len(counts), bayes)
    found = np.empty(len(counts))
    for unit in range(len(counts)):
        found[unit] = _weight(counts[unit] * UNIT + ALPHA, bayes) * scale
    return found
