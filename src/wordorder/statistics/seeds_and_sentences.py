"""Intervals and variance components that treat seeds and sentences as random, from resampled corpus scores.

The same resamples of the test set serve all systems and seeds. Resampling sums of sentence statistics is one product of
matrices, so that a thousand resamples of 40 translations take seconds.

Notation: k systems, n seeds, N sentences, K statistics, S resamples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wordorder.statistics.blocked import around
from wordorder.statistics.distributions import dunnett_critical
from wordorder.statistics.resampling import Array
from wordorder.statistics.spread import residual_variance


@dataclass(frozen=True)
class SentenceVariance:
    """The variance of a difference of two systems that is due to the choice of sentences.

    Attributes:
        common: The variance that all seeds have in common, without the effect of sentences on single seeds. Chance can
            make it negative.
        of_mean: The variance of the mean over these seeds.
        resamples: The number of resamples.
    """

    common: float
    of_mean: float
    resamples: int


def sentence_variance(differences: Array) -> SentenceVariance:
    """Estimate the variance over sentences from resampled differences of n >= 2 seeds, (n, S)."""
    n, resamples = differences.shape
    covariance = np.cov(differences)
    return SentenceVariance(
        common=float((covariance.sum() - np.trace(covariance)) / (n * (n - 1))),
        of_mean=float(covariance.sum() / n**2),
        resamples=resamples,
    )


@dataclass(frozen=True)
class BothRandom:
    """An interval for other seeds and other sentences.

    Attributes:
        variance: The variance of the difference.
        nu: Its degrees of freedom.
        half_width: Half the width of the interval.
        interval: The interval.
    """

    variance: float
    nu: float
    half_width: float
    interval: tuple[float, float]

    def excludes_zero(self, sign: float) -> bool:
        """Return whether the whole interval is on the side of ``sign``."""
        return self.interval[0] > 0 if sign > 0 else self.interval[1] < 0


def seeds_and_sentences(
    difference: float,
    seed_variance: float,
    nu: float,
    sentences: SentenceVariance,
    *,
    m: int = 1,
    alpha: float = 0.05,
) -> BothRandom:
    """Combine the variances over seeds and over sentences into one interval.

    Args:
        difference: The difference of two systems' means over the seeds.
        seed_variance: The squared standard error of the difference over the seeds.
        nu: Its degrees of freedom.
        sentences: The variance over sentences.
        m: The number of comparisons with one baseline whose intervals hold simultaneously.
        alpha: One minus the confidence. For ``M`` declared pairs, m = 1 and alpha / M give Bonferroni's intervals.

    Returns:
        The interval.
    """
    variance = max(seed_variance + max(sentences.common, 0.0), sentences.of_mean)
    freedom = variance**2 / (seed_variance**2 / nu + sentences.of_mean**2 / (sentences.resamples - 1))
    # With few degrees of freedom the first term is too narrow; the second one keeps the coverage.
    half_width = max(
        dunnett_critical(m, freedom, alpha) * math.sqrt(variance),
        dunnett_critical(m, nu, alpha) * math.sqrt(seed_variance),
    )
    return BothRandom(variance, freedom, half_width, around(difference, half_width))


@dataclass(frozen=True)
class VarianceComponents:
    """The components of the variance of one corpus score; estimates below 0 are 0.

    Attributes:
        seed: The effect of a seed on all systems.
        system_seed: The effect of a seed on one system, against which systems are compared.
        sentence: The effect of the choice of sentences on all systems and seeds.
        system_sentence: The effect of the choice of sentences on one system, with all its seeds.
        seed_sentence: The effect of the choice of sentences on single trainings, of one seed in one system or in all.
        residual_sentence: The part of ``seed_sentence`` that is not common to all systems. The residual variance,
            against which systems are compared, is the sum of ``system_seed`` and this part.
    """

    seed: float
    system_seed: float
    sentence: float
    system_sentence: float
    seed_sentence: float
    residual_sentence: float


def variance_components(scores: Array, resampled: Array) -> VarianceComponents:
    """Estimate the components of variance of a study.

    Args:
        scores: The scores of k >= 2 systems with n >= 2 seeds each, (k, n).
        resampled: Their scores on resamples of the test set, (k, n, S).
    """
    k, n, resamples = resampled.shape
    covariance = np.cov(resampled.reshape(k * n, resamples)).reshape(k, n, k, n)
    same_both = float(np.einsum("ijij->", covariance)) / (k * n)
    same_system = (float(np.einsum("ijil->", covariance)) / (k * n) - same_both) / (n - 1)
    same_seed = (float(np.einsum("ijlj->", covariance)) / (k * n) - same_both) / (k - 1)
    total = float(covariance.sum()) / (k * n)
    neither = (total - same_both - (n - 1) * same_system - (k - 1) * same_seed) / ((k - 1) * (n - 1))
    residual_sentence = same_both - same_system - same_seed + neither
    residual = residual_variance(scores)
    between_seeds = k * float(scores.mean(axis=0).var(ddof=1))
    estimates = VarianceComponents(
        seed=(between_seeds - residual) / k - (same_seed - neither),
        system_seed=residual - residual_sentence,
        sentence=neither,
        system_sentence=same_system - neither,
        seed_sentence=same_both - same_system,
        residual_sentence=residual_sentence,
    )
    return VarianceComponents(**{name: max(0.0, value) for name, value in vars(estimates).items()})


def small_spread_p(residual: float, nu: float, residual_sentence: float) -> float:
    """Return the probability that chance makes a residual variance this small, although seeds change only sentences.

    The translations of two trainings differ in single sentences even if no seed is better than another, so that the
    true residual variance is at least ``residual_sentence``. A much smaller estimate is chance, and it makes intervals
    too narrow.

    Args:
        residual: The estimated residual variance.
        nu: Its degrees of freedom.
        residual_sentence: The component of :class:`VarianceComponents`, above 0.
    """
    from scipy import stats  # The import takes half a second, and reading studies does not need it.

    return float(stats.chi2.cdf(nu * residual / residual_sentence, nu))
