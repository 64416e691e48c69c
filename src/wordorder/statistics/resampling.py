"""Paired tests of two translations of the same sentences, from the sufficient statistics of each sentence.

A corpus score is a function of the sum of its sentences' sufficient statistics (n-gram counts, edits, lengths). The
mean of sentence scores is one, too: of (score, 1). So resampling, swapping and shuffling sentences are matrix products.

Notation: N sentences, K statistics, B resamples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

CONFIDENCE = 0.95
# Tolerance for two scores that are equal except for rounding.
TIE = 1e-9
_CHUNK = 1000


@dataclass(frozen=True)
class Measure:
    """A corpus score as a function of summed statistics.

    Attributes:
        score: The function, (K,) to a number.
        scores: The same function for many sums, (B, K) to (B,).
        lower_is_better: Whether a lower score is better.
    """

    score: Callable[[Array], float]
    scores: Callable[[Array], Array]
    lower_is_better: bool = False

    def of(self, statistics: Array) -> float:
        """Compute the score of a corpus from its statistics, (N, K)."""
        return float(self.score(statistics.sum(axis=0)))


MEAN = Measure(lambda sums: float(sums[0] / sums[1]), scores=lambda sums: sums[:, 0] / sums[:, 1])


def mean_statistics(segment_scores: Array) -> Array:
    """Convert sentence scores, (N,), to statistics, (N, 2), of which :data:`MEAN` is the mean."""
    return np.stack([segment_scores, np.ones_like(segment_scores)], axis=1)


def resamples(segments: int, samples: int, seed: int) -> Array:
    """Draw the bootstrap's resamples (Koehn 2004), those of sacreBLEU.

    Args:
        segments: Number of sentences, N.
        samples: Number of resamples, B.
        seed: Seed of the draws.

    Returns:
        How often each sentence is in each resample, (B, N).
    """
    drawn = np.random.default_rng(seed).choice(segments, size=(samples, segments), replace=True)
    return np.stack([np.bincount(row, minlength=segments) for row in drawn]).astype(float)


def interval(resampled_differences: Array) -> list[float]:
    """Compute the 95 % percentile interval."""
    tail = 50 * (1 - CONFIDENCE)
    return [float(bound) for bound in np.percentile(resampled_differences, [tail, 100 - tail])]


def p_value(by_chance: Array, observed: float) -> float:
    """Compute the two-sided p-value: how often chance gives as large a difference, including the observed one."""
    return float((np.sum(np.abs(by_chance) >= abs(observed) - TIE) + 1) / (len(by_chance) + 1))


def bootstrap_p(resampled_differences: Array, observed: float) -> float:
    """Compute a p-value from resampled differences shifted to a mean of 0 (Efron and Tibshirani 1993, ch. 16)."""
    return p_value(resampled_differences - observed, observed)


def shuffles_needed(comparisons: int, alpha: float) -> int:
    """Compute how many shuffles let the smallest p-value, times the number of comparisons, fall below alpha / 10."""
    return math.ceil(10 * comparisons / alpha)


def _swaps(samples: int, segments: int, seed: int) -> Iterator[Array]:
    """Yield random swaps, (B, N) of zeros and ones in total, at most a thousand rows at once to limit memory."""
    random = np.random.default_rng(seed)
    for begin in range(0, samples, _CHUNK):
        yield random.integers(2, size=(min(_CHUNK, samples - begin), segments)).astype(float)


def randomisation_p(system: Array, baseline: Array, samples: int, seed: int) -> float:
    """Test a difference of means of segment scores, (N,) each, by approximate randomisation (Riezler, Maxwell 2005)."""
    differences = system - baseline
    chance = [(2 * swaps - 1) @ differences / len(differences) for swaps in _swaps(samples, len(differences), seed)]
    return p_value(np.concatenate(chance), float(differences.mean()))


def segment_tests(
    system: Array, baseline: Array, weights: Array, seed: int, shuffles: int | None = None
) -> dict[str, Any]:
    """Run both tests and the interval for the difference of means of segment scores; see :func:`paired_tests`."""
    differences = system - baseline
    observed = float(differences.mean())
    resampled = weights @ differences / len(differences)
    return {
        "difference": observed,
        "confidence_interval": interval(resampled),
        "bootstrap": {"p": bootstrap_p(resampled, observed)},
        "randomisation": {"p": randomisation_p(system, baseline, shuffles or len(weights), seed)},
    }


def paired_tests(
    system: Array, baseline: Array, measure: Measure, weights: Array, seed: int, shuffles: int | None = None
) -> dict[str, Any]:
    """Test the difference of two corpus scores by the bootstrap and by approximate randomisation, both two-sided.

    Args:
        system: Statistics of one system, (N, K).
        baseline: Statistics of the other, (N, K).
        measure: The corpus score.
        weights: Resamples of the sentences, (B, N).
        seed: The seed of the random swaps of sentences.
        shuffles: The number of random swaps; by default B.

    Returns:
        The difference, its interval and the p-values.
    """
    observed = measure.of(system) - measure.of(baseline)
    resampled = measure.scores(weights @ system) - measure.scores(weights @ baseline)
    swaps = _swaps(shuffles or len(weights), len(system), seed)
    exchanged = np.concatenate([each @ (system - baseline) for each in swaps])
    chance = measure.scores(system.sum(axis=0) - exchanged) - measure.scores(baseline.sum(axis=0) + exchanged)
    return {"bootstrap": {"p": bootstrap_p(resampled, observed)}, "randomisation": {"p": p_value(chance, observed)}}


def sign_test(system: Array, baseline: Array, measure: Measure) -> dict[str, Any]:
    """Run the sign test of Collins, Koehn and Kučerová (2005) on statistics (N, K) of each system.

    For each sentence, the system's translation replaces that of the baseline in its output. The test counts how often
    the corpus score gets better or worse. Sentences that change nothing do not count.
    """
    total = baseline.sum(axis=0)
    changes = measure.scores(total - baseline + system) - measure.score(total)
    if measure.lower_is_better:
        changes = -changes
    from scipy import stats  # The import takes half a second, and reading studies does not need it.

    better, worse = int(np.sum(changes > TIE)), int(np.sum(changes < -TIE))
    p = float(stats.binomtest(better, better + worse).pvalue) if better + worse else None
    return {"better": better, "worse": worse, "equal": len(changes) - better - worse, "p": p}
