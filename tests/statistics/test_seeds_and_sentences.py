"""Tests of variances over seeds and sentences, estimated from scores of known variances."""

from __future__ import annotations

import numpy as np
import pytest

from wordorder.statistics.resampling import MEAN, Array, mean_statistics, resamples
from wordorder.statistics.seeds_and_sentences import (
    SentenceVariance,
    VarianceComponents,
    seeds_and_sentences,
    sentence_variance,
    small_spread_p,
    variance_components,
)
from wordorder.statistics.spread import residual_variance

SYSTEMS, SEEDS, SENTENCES = 3, 4, 60
# Standard deviations of effects on sentence scores: on the mean of the sentences their variances are a 60th.
SEED, SYSTEM_SEED, SENTENCE, SYSTEM_SENTENCE, SEED_SENTENCE, ALL = 0.30, 0.25, 2.0, 1.5, 1.0, 1.2
TRUE = VarianceComponents(
    seed=SEED**2,
    system_seed=SYSTEM_SEED**2,
    sentence=SENTENCE**2 / SENTENCES,
    system_sentence=SYSTEM_SENTENCE**2 / SENTENCES,
    seed_sentence=(SEED_SENTENCE**2 + ALL**2) / SENTENCES,
    residual_sentence=ALL**2 / SENTENCES,
)


def draw(random: np.random.Generator) -> Array:
    """Sentence scores of every system and seed, (k, n, N)."""

    def effect(sd: float, *shape: int) -> Array:
        return random.normal(0, sd, shape)

    return (
        effect(SEED, 1, SEEDS, 1)
        + effect(SYSTEM_SEED, SYSTEMS, SEEDS, 1)
        + effect(SENTENCE, 1, 1, SENTENCES)
        + effect(SYSTEM_SENTENCE, SYSTEMS, 1, SENTENCES)
        + effect(SEED_SENTENCE, 1, SEEDS, SENTENCES)
        + effect(ALL, SYSTEMS, SEEDS, SENTENCES)
    )


def test_variance_components_of_a_study() -> None:
    random, weights = np.random.default_rng(1), resamples(SENTENCES, 300, 1)
    found = []
    for _ in range(300):
        scores = draw(random)
        statistics = [mean_statistics(of) for of in scores.reshape(-1, SENTENCES)]
        resampled = np.stack([MEAN.scores(weights @ of) for of in statistics])
        components = variance_components(scores.mean(axis=2), resampled.reshape(SYSTEMS, SEEDS, -1))
        found.append(list(vars(components).values()))
    # Estimates below 0 are 0, which makes the mean of the smallest, that of seeds, a little larger.
    assert np.mean(found, axis=0) == pytest.approx(list(vars(TRUE).values()), rel=0.12)


def test_intervals_hold_for_other_seeds_and_sentences() -> None:
    random, weights = np.random.default_rng(2), resamples(SENTENCES, 200, 2)
    nu = (SYSTEMS - 1) * (SEEDS - 1)
    covered = {"both": 0, "seeds": 0, "sentences": 0}
    trials = 500
    for _ in range(trials):
        scores = draw(random)
        means = scores.mean(axis=2)
        residual = means - means.mean(axis=1, keepdims=True) - means.mean(axis=0) + means.mean()
        seed_variance = 2 * float((residual**2).sum()) / nu / SEEDS
        differences = (scores[1] - scores[0]) @ weights.T / SENTENCES
        difference = float(means[1].mean() - means[0].mean())
        sentences = sentence_variance(differences)
        of_both = seeds_and_sentences(difference, seed_variance, nu, sentences)
        of_seeds = seeds_and_sentences(difference, seed_variance, nu, SentenceVariance(0.0, 0.0, 200))
        covered["both"] += of_both.interval[0] < 0 < of_both.interval[1]
        covered["seeds"] += of_seeds.interval[0] < 0 < of_seeds.interval[1]
        covered["sentences"] += abs(difference) < 1.96 * sentences.of_mean**0.5
    assert 0.94 <= covered["both"] / trials <= 0.985
    assert covered["seeds"] / trials < 0.88
    assert covered["sentences"] / trials < 0.93


def test_simultaneous_intervals_are_wider() -> None:
    sentences = SentenceVariance(0.02, 0.05, 1000)
    one, nine = (seeds_and_sentences(0.5, 0.06, 18, sentences, m=m) for m in (1, 9))
    assert one.excludes_zero(0.5) is False
    assert one.half_width < nine.half_width
    assert nine.interval == pytest.approx((0.5 - nine.half_width, 0.5 + nine.half_width))
    assert seeds_and_sentences(0.6, 0.06, 18, sentences).excludes_zero(0.6)
    assert not seeds_and_sentences(-0.6, 0.06, 18, sentences).excludes_zero(0.6)
    assert seeds_and_sentences(-0.6, 0.06, 18, sentences).excludes_zero(-0.6)


def test_a_residual_variance_of_sentences_only_is_small_by_chance_in_five_per_cent() -> None:
    random, weights = np.random.default_rng(5), resamples(SENTENCES, 300, 5)
    nu = (SYSTEMS - 1) * (SEEDS - 1)
    small = {0.0: 0, SYSTEM_SEED: 0}
    trials = 600
    for system_seed in small:
        for _ in range(trials):
            scores = random.normal(0, ALL, (SYSTEMS, SEEDS, SENTENCES))
            scores += random.normal(0, system_seed, (SYSTEMS, SEEDS, 1)) + random.normal(0, SENTENCE, SENTENCES)
            means = scores.mean(axis=2)
            components = variance_components(means, scores @ weights.T / SENTENCES)
            small[system_seed] += small_spread_p(residual_variance(means), nu, components.residual_sentence) < 0.05
    assert 0.03 <= small[0.0] / trials <= 0.075
    assert small[SYSTEM_SEED] < small[0.0] / 3, "seeds that differ in quality are not taken for luck"
