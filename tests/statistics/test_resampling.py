"""Tests of paired tests on sentence statistics against definitions and scipy, and of their calibration."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.ter import TER
from scipy import stats

from evaluation_samples import noisy, sentences, text_metrics
from wordorder.comparison.paired import Extraction
from wordorder.statistics.over_seeds import paired_t_test
from wordorder.statistics.resampling import (
    MEAN,
    Array,
    bootstrap_p,
    interval,
    mean_statistics,
    p_value,
    randomisation_p,
    resamples,
    segment_tests,
    shuffles_needed,
    sign_test,
)
from wordorder.statistics.stratified import spreads, stratified_randomisation

REFERENCES = sentences(30)


def test_resamples_are_those_that_sacrebleu_draws() -> None:
    # sacrebleu.significance draws them by these two lines.
    drawn = np.random.default_rng(7).choice(30, size=(20, 30), replace=True)
    lines = noisy(REFERENCES, 0.3, 1)
    extraction = Extraction(REFERENCES, text_metrics("bleu"))
    sums = resamples(30, 20, 7) @ extraction.statistics("bleu", lines)
    ours = extraction.measure("bleu").scores(sums)
    for score, row in zip(ours, drawn, strict=True):
        theirs = BLEU(trg_lang="de").corpus_score([lines[i] for i in row], [[REFERENCES[i] for i in row]])
        assert score == pytest.approx(theirs.score)


def test_interval_and_p_values_are_scipys() -> None:
    random = np.random.default_rng(1)
    system, baseline = random.normal(0.15, 1, 60), random.normal(0, 1, 60)
    differences = system - baseline
    ours = segment_tests(system, baseline, resamples(60, 4000, 1), seed=1)
    theirs = stats.bootstrap((differences,), np.mean, n_resamples=4000, method="percentile", rng=2)
    assert ours["confidence_interval"] == pytest.approx(list(theirs.confidence_interval), abs=0.02)
    shuffled = stats.permutation_test(
        (system, baseline),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=4000,
        rng=3,
    )
    assert ours["randomisation"]["p"] == pytest.approx(shuffled.pvalue, abs=0.03)
    # For means of many sentences the bootstrap is the z-test with the variance of n, not n - 1.
    z = differences.mean() / (differences.std() / math.sqrt(60))
    assert ours["bootstrap"]["p"] == pytest.approx(2 * stats.norm.sf(abs(z)), abs=0.03)
    assert ours["difference"] == pytest.approx(differences.mean())


def test_randomisation_of_few_sentences_is_the_exact_test() -> None:
    system, baseline = np.array([3.0, 1.0, 4.0, 1.0, 5.0]), np.array([2.0, 1.5, 1.0, 0.5, 2.0])
    differences = system - baseline
    all_signs = [
        abs(np.dot(signs, differences)) >= abs(differences.sum()) - 1e-9 for signs in product([1, -1], repeat=5)
    ]
    assert randomisation_p(system, baseline, 20_000, 1) == pytest.approx(np.mean(all_signs), abs=0.01)


def test_shuffles_suffice_for_holm() -> None:
    for comparisons in (1, 3, 19):
        least = p_value(np.zeros(shuffles_needed(comparisons, 0.05)), 1.0)
        assert 0.004 < comparisons * least < 0.005


def test_equal_systems_differ_by_nothing() -> None:
    same = np.random.default_rng(1).normal(size=20)
    found = segment_tests(same, same, resamples(20, 100, 1), seed=1)
    assert (found["bootstrap"]["p"], found["randomisation"]["p"]) == (1.0, 1.0)
    assert found["confidence_interval"] == [0.0, 0.0]
    assert bootstrap_p(np.full(9, 5.0), 5.0) == 0.1  # none of nine is as large: (0 + 1) / (9 + 1)
    statistics = mean_statistics(same)
    assert sign_test(statistics, statistics, MEAN) == {"better": 0, "worse": 0, "equal": 20, "p": None}
    both = np.stack([statistics, statistics])
    assert stratified_randomisation(both, both, MEAN, samples=50, seed=1) == 1.0


@pytest.mark.parametrize("metric", ["bleu", "ter"])
def test_sign_test_is_its_definition(metric: str) -> None:
    system, baseline = noisy(REFERENCES, 0.2, 1), noisy(REFERENCES, 0.3, 2)
    system[4] = baseline[4]
    extraction = Extraction(REFERENCES, text_metrics(metric))
    statistics = [extraction.statistics(metric, lines) for lines in (system, baseline)]
    found = sign_test(*statistics, extraction.measure(metric))

    scorer, sign = (BLEU(trg_lang="de"), 1) if metric == "bleu" else (TER(), -1)
    before = scorer.corpus_score(baseline, [REFERENCES]).score
    counts = {"better": 0, "worse": 0, "equal": 0}
    for i, line in enumerate(system):
        swapped = [*baseline[:i], line, *baseline[i + 1 :]]
        change = sign * (scorer.corpus_score(swapped, [REFERENCES]).score - before)
        counts["better" if change > 1e-9 else "worse" if change < -1e-9 else "equal"] += 1
    n, k = counts["better"] + counts["worse"], min(counts["better"], counts["worse"])
    tail = sum(math.comb(n, i) for i in range(k + 1)) / 2**n
    assert found == pytest.approx(counts | {"p": min(1.0, 2 * tail)})
    assert found["better"] > found["worse"] > 0 < found["equal"]


def test_stratified_randomisation_of_few_outputs_is_the_exact_test() -> None:
    # Two seeds a system, three sentences: 6 ways to choose the system's two of four outputs, for each sentence.
    system, baseline = np.array([[3.0, 1.0, 4.0], [3.5, 1.0, 6.0]]), np.array([[2.0, 1.5, 1.0], [2.0, 0.5, 4.0]])
    outputs = np.concatenate([system, baseline]).T
    observed = abs(system.mean() - baseline.mean())
    as_large = []
    for chosen in product(combinations(range(4), 2), repeat=3):
        of_system = sum(outputs[i, list(pair)].sum() for i, pair in enumerate(chosen))
        as_large.append(abs(2 * of_system - outputs.sum()) / 6 >= observed - 1e-9)
    statistics = [np.stack([mean_statistics(row) for row in of]) for of in (system, baseline)]
    p = stratified_randomisation(*statistics, MEAN, samples=20_000, seed=1)
    assert p == pytest.approx(np.mean(as_large), abs=0.01)


def test_one_seed_of_stratified_randomisation_is_the_paired_test() -> None:
    random = np.random.default_rng(3)
    system, baseline = random.normal(0.3, 1, 40), random.normal(0, 1, 40)
    statistics = [mean_statistics(of)[None] for of in (system, baseline)]
    ours = stratified_randomisation(*statistics, MEAN, samples=5000, seed=1)
    assert ours == pytest.approx(randomisation_p(system, baseline, 5000, 2), abs=0.02)


def test_the_kinds_of_spread_are_distinguished() -> None:
    random = np.random.default_rng(5)
    segments = {"system": random.normal(0, 1, (3, 50)), "baseline": random.normal(0, 1, (3, 50))}
    scores = {side: of.mean(axis=1) for side, of in segments.items()}
    weights = resamples(50, 3000, 1)
    resampled = {side: (weights @ of.T / 50).T for side, of in segments.items()}
    found = spreads(*scores.values(), *resampled.values())
    for side in segments:
        assert found["spread"][side]["optimiser_sd"] == pytest.approx(np.std(scores[side], ddof=1))
        analytic = segments[side].mean(axis=0).std() / math.sqrt(50)
        assert found["spread"][side]["test_set_sd"] == pytest.approx(analytic, rel=0.05)
    differences = segments["system"] - segments["baseline"]
    assert found["spread"]["difference"]["optimiser_sd"] == pytest.approx(np.std(differences.mean(axis=1), ddof=1))
    analytic = differences.mean(axis=0).std() / math.sqrt(50)
    assert found["spread"]["difference"]["test_set_sd"] == pytest.approx(analytic, rel=0.05)
    assert found["test_set_interval"] == interval(resampled["system"].mean(0) - resampled["baseline"].mean(0))
    alone = spreads(*(of[:1] for of in scores.values()), *(of[:1] for of in resampled.values()))
    assert alone["spread"]["difference"]["optimiser_sd"] is None


TRIALS, SEEDS, SENTENCES = 1200, 5, 40
# Three standard errors of a rate of 5 % in so many trials.
ERROR = 3 * math.sqrt(0.05 * 0.95 / TRIALS)


def rejections(seed_spread: float) -> dict[str, float]:
    """How often each test rejects at 5 % for two halves of the seeds of one system.

    A sentence's score is its own difficulty, plus what its seed adds to all its sentences, plus chance.
    """
    random = np.random.default_rng(1)
    weights = resamples(SENTENCES, 199, 1)
    counts = {"t-test": 0, "stratified": 0, "one seed, bootstrap": 0, "one seed, randomisation": 0}
    difficulty = random.normal(size=SENTENCES)
    for trial in range(TRIALS):
        seeds = random.normal(0, seed_spread, (2 * SEEDS, 1))
        halves: Array = difficulty + seeds + random.normal(0, 1, (2 * SEEDS, SENTENCES))
        one, other = halves[:SEEDS], halves[SEEDS:]
        counts["t-test"] += paired_t_test(list(one.mean(1)), list(other.mean(1)))["p"] <= 0.05
        naive = segment_tests(one[0], other[0], weights, seed=trial)
        counts["one seed, bootstrap"] += naive["bootstrap"]["p"] <= 0.05
        counts["one seed, randomisation"] += naive["randomisation"]["p"] <= 0.05
        statistics = (np.stack([mean_statistics(row) for row in half]) for half in (one, other))
        p = stratified_randomisation(*statistics, MEAN, samples=99, seed=trial) if trial % 4 == 0 else 1.0
        counts["stratified"] += 4 * (p <= 0.05)
    return {name: count / TRIALS for name, count in counts.items()}


def test_calibration_under_a_true_null() -> None:
    without = rejections(seed_spread=0.0)
    # Seeds that differ as much as resampled test sets do: about what 'stage compare' reports of trained models.
    with_spread = rejections(seed_spread=1 / math.sqrt(SENTENCES))
    assert without["t-test"] == pytest.approx(0.05, abs=ERROR)
    assert with_spread["t-test"] == pytest.approx(0.05, abs=ERROR)
    # The others hold their level where seeds differ in single sentences alone, and only there.
    assert without["one seed, randomisation"] == pytest.approx(0.05, abs=ERROR)
    assert without["stratified"] == pytest.approx(0.05, abs=2 * ERROR)  # a quarter of the trials
    inflated = 2 * stats.norm.sf(stats.norm.isf(0.025) / math.sqrt(2))  # of variance twice what the test sees: 16.6 %
    for name in ("one seed, bootstrap", "one seed, randomisation"):
        assert with_spread[name] == pytest.approx(inflated, abs=0.04)
    assert with_spread["stratified"] == pytest.approx(inflated, abs=0.05)
