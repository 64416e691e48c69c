"""Is a system different from its baseline? Test-set variance and training variance are tested apart.

Test-set variance: for each seed sacreBLEU's own paired test of the two translations (Koehn 2004; Riezler and Maxwell
2005). Training variance: a paired t-test over the seeds. The p-values of the t-test are corrected within the declared
family of comparisons (Holm 1979); what could not be tested still counts as a member of the family.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sacrebleu.significance import PairedTest, Result
from scipy import stats

from wordorder.config.models import Comparison, Family, Significance
from wordorder.data.text import read_lines
from wordorder.errors import WordorderError
from wordorder.evaluation.scores import LABELS, LOWER_IS_BETTER, build_metric, read_pair
from wordorder.files import sha256
from wordorder.progress import track

CONFIDENCE = 0.95


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjustment of ``p_values``; None (no test was possible) counts as a member and stays None."""
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    tested = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    for rank, (p, index) in enumerate(tested):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p))
        adjusted[index] = largest
    return adjusted


def paired_t_test(system: Sequence[float], baseline: Sequence[float]) -> dict[str, Any]:
    """Paired t-test of scores, where ``system[i]`` and ``baseline[i]`` share a seed.

    Returns ``n``, ``mean_difference``, ``confidence_interval`` (95 %, a pair), ``t``, ``p`` and ``note``; what is
    undefined for lack of seeds or of variance is None, and the note says why.
    """
    differences = np.asarray(system, dtype=float) - np.asarray(baseline, dtype=float)
    result: dict[str, Any] = {
        "n": len(differences),
        "mean_difference": float(differences.mean()) if len(differences) else None,
        "confidence_interval": None,
        "t": None,
        "p": None,
        "note": None,
    }
    if len(differences) < 2:
        result["note"] = "A t-test needs at least two seeds that both systems finished."
    elif np.ptp(differences) <= 1e-9:
        result["note"] = "The difference is the same for every seed, so that a t-test is undefined."
    else:
        test = stats.ttest_rel(system, baseline)
        interval = test.confidence_interval(CONFIDENCE)
        result |= {
            "confidence_interval": [float(interval.low), float(interval.high)],
            "t": float(test.statistic),
            "p": float(test.pvalue),
        }
    return result


@contextmanager
def _sacrebleu_seed(seed: int) -> Iterator[None]:
    """sacreBLEU takes the seed of its tests from the environment alone."""
    before = os.environ.get("SACREBLEU_SEED")
    os.environ["SACREBLEU_SEED"] = str(seed)
    try:
        yield
    finally:
        if before is None:
            del os.environ["SACREBLEU_SEED"]
        else:
            os.environ["SACREBLEU_SEED"] = before


def paired_tests(
    baseline: Sequence[str],
    systems: dict[str, Sequence[str]],
    references: Sequence[str],
    metrics: Sequence[str],
    target_language: str,
    settings: Significance,
) -> dict[str, dict[str, Any]]:
    """sacreBLEU's paired test of each system against the baseline, all translations of the same sentences.

    Returns ``{metric: {"signature", "baseline": score, "systems": {name: {"score", "p"}}}}``.
    """
    kind = {"bootstrap": "bs", "randomisation": "ar"}[settings.paired_test]
    built = {name: build_metric(name, target_language) for name in metrics}
    named = [("", baseline), *systems.items()]
    with _sacrebleu_seed(settings.seed):
        test = PairedTest(named, built, [references], test_type=kind, n_samples=settings.bootstrap_samples)
        signatures, scores = test()
    results = {label: [r for r in column if isinstance(r, Result)] for label, column in scores.items()}
    # sacreBLEU files its results under names of its own ("chrF2++"), in the order in which the metrics were given.
    by_metric = zip(metrics, signatures.items(), strict=True)
    return {
        metric: {
            "signature": str(signature),
            "baseline": results[label][0].score,
            "systems": {
                system: {"score": result.score, "p": result.p_value}
                for system, result in zip(systems, results[label][1:], strict=True)
            },
        }
        for metric, (label, signature) in by_metric
    }


def compare(family: Family, cells: str | Path, size: str, test: str, references: str | Path) -> dict[str, Any]:
    """Every declared comparison on one test set, from ``cells/{encoding}/{size}/{seed}/{test}.hypotheses``.

    A cell without hypotheses (a file that is missing, or empty because the training diverged) is listed with its
    status and takes no part in the tests.
    """
    translations: dict[tuple[str, int], list[str]] = {}
    listed: list[dict[str, Any]] = []
    for encoding in dict.fromkeys(name for c in family.comparisons for name in (c.baseline, c.system)):
        for seed in family.seeds:
            path = Path(cells) / encoding / size / str(seed) / f"{test}.hypotheses"
            lines = read_pair(path, references)[0] if path.is_file() else None
            status = "missing" if lines is None else "translated" if lines else "no hypotheses"
            digest = sha256(path) if lines is not None else None
            listed.append({"encoding": encoding, "seed": seed, "status": status, "sha256": digest})
            if lines:
                translations[encoding, seed] = lines
    if family.comparisons and all(cell["status"] == "missing" for cell in listed):
        raise WordorderError(
            f"No {test}.hypotheses of size '{size}' was found under {cells}, where this comparison expects "
            f"{{encoding}}/{size}/{{seed}}/{test}.hypotheses. Translate the test set first."
        )
    wanted = list(read_lines(references))
    per_seed = _test_each_seed(family, translations, wanted)
    return {
        "size": size,
        "test": test,
        "segments": len(wanted),
        "references_sha256": sha256(references),
        "settings": family.significance.model_dump(),
        "cells": listed,
        "metrics": {metric: _test_over_seeds(family, metric, per_seed) for metric in family.metrics},
    }


_PerSeed = dict[tuple[str, int], dict[str, dict[str, Any]]]


def _test_each_seed(family: Family, translations: dict[tuple[str, int], list[str]], wanted: list[str]) -> _PerSeed:
    """{(baseline, seed): result of :func:`paired_tests`} wherever baseline and at least one system were translated."""
    results: _PerSeed = {}
    baselines = dict.fromkeys(comparison.baseline for comparison in family.comparisons)
    pairs = [(baseline, seed) for baseline in baselines for seed in family.seeds if (baseline, seed) in translations]
    for baseline, seed in track(pairs, "paired tests", total=len(pairs), unit="seeds"):
        rivals = [c.system for c in family.comparisons if c.baseline == baseline and (c.system, seed) in translations]
        if rivals:
            results[baseline, seed] = paired_tests(
                translations[baseline, seed],
                {name: translations[name, seed] for name in rivals},
                wanted,
                family.metrics,
                family.target_language,
                family.significance,
            )
    return results


def _test_over_seeds(family: Family, metric: str, per_seed: _PerSeed) -> dict[str, Any]:
    comparisons: list[dict[str, Any]] = []
    for comparison in family.comparisons:
        rows = [_seed_row(comparison, seed, metric, per_seed) for seed in family.seeds]
        tested = [row for row in rows if row["difference"] is not None]
        t_test = paired_t_test([row["system"] for row in tested], [row["baseline"] for row in tested])
        comparisons.append(
            {"system": comparison.system, "baseline": comparison.baseline, "seeds": rows, "t_test": t_test}
        )
    for entry, p in zip(comparisons, holm([entry["t_test"]["p"] for entry in comparisons]), strict=True):
        entry["t_test"]["p_holm"] = p
        entry["verdict"] = verdict(entry, metric, family.significance.alpha, len(family.seeds))
    signatures = {result[metric]["signature"] for result in per_seed.values()}
    return {"signature": min(signatures, default=None), "comparisons": comparisons}


def _seed_row(comparison: Comparison, seed: int, metric: str, per_seed: _PerSeed) -> dict[str, Any]:
    tests = per_seed.get((comparison.baseline, seed))
    found = tests[metric]["systems"].get(comparison.system) if tests else None
    if tests is None or found is None:
        return {"seed": seed, "system": None, "baseline": None, "difference": None, "p": None}
    baseline = tests[metric]["baseline"]
    return {
        "seed": seed,
        "system": found["score"],
        "baseline": baseline,
        "difference": found["score"] - baseline,
        "p": found["p"],
    }


def verdict(entry: dict[str, Any], metric: str, alpha: float, seeds: int) -> str:
    """One sentence that says what the t-test over seeds found, and of how many of the ``seeds`` that were asked for."""
    test = entry["t_test"]
    system, baseline = entry["system"], entry["baseline"]
    used = f"{test['n']} of {seeds} seeds" if test["n"] < seeds else f"{seeds} seed{'s' if seeds > 1 else ''}"
    if test["n"] == 0:
        return f"{system} and {baseline} cannot be compared: no seed was finished by both (of {seeds} asked for)."
    change = f"{test['mean_difference']:+.2f} {LABELS[metric]}"
    if test["p_holm"] is None:
        reason = "one seed only" if test["n"] == 1 else "the same difference for every seed"
        return f"{system} against {baseline}: {change}, not testable over seeds ({reason}; {used})."
    facts = f"{change}, Holm-adjusted p {_relation(test['p_holm'])}, {used}"
    if test["p_holm"] >= alpha:
        return f"{system} is not significantly different from {baseline} ({facts})."
    better = (test["mean_difference"] < 0) == (metric in LOWER_IS_BETTER)
    return f"{system} is significantly {'better' if better else 'worse'} than {baseline} ({facts})."


def format_p(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else "<0.001"


def _relation(p: float) -> str:
    return f"= {p:.3f}" if p >= 0.001 else "< 0.001"
