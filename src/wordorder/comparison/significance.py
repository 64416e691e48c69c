"""Is a system different from its baseline? Test-set variance and training variance are tested apart.

Of each seed, two translations: sacreBLEU's own paired tests, those of segment scores, the sign test. Over the seeds: a
paired t-test, which gives the verdict, and stratified approximate randomisation. Every kind of test is corrected within
the declared family of comparisons (Holm 1979); what could not be tested still counts as a member of the family.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordorder.comparison.paired import KINDS, Extraction, paired_tests
from wordorder.comparison.verdicts import verdict
from wordorder.config.models import Comparison, Family
from wordorder.data.text import read_lines
from wordorder.errors import WordorderError
from wordorder.files import read_object, sha256
from wordorder.metrics import comet as comet_scores
from wordorder.metrics.scores import read_pair
from wordorder.progress import track
from wordorder.results.index import read_index
from wordorder.statistics.effect import agreement
from wordorder.statistics.over_seeds import correct, paired_t_test
from wordorder.statistics.resampling import (
    MEAN,
    Array,
    Measure,
    interval,
    mean_statistics,
    resamples,
    segment_tests,
    sign_test,
)
from wordorder.statistics.stratified import spreads, stratified_randomisation

# Their corpus scores are no means of their sentence scores: these are tested, too.
_WITH_SEGMENTS = ("chrf", "chrf++")

_Cell = tuple[str, int]  # encoding, seed
_PerSeed = dict[tuple[str, _Cell], dict[str, dict[str, Any]]]  # by kind and baseline


def compare(
    family: Family,
    results: str | Path,
    dataset: str,
    size: str,
    test: str,
    references: str | Path,
    comet: str | Path | None = None,
) -> dict[str, Any]:
    """Every declared comparison on one test set; ``results`` is the folder of the study.

    A cell without hypotheses (a file that is missing, or empty because the training diverged) is listed with its
    status and takes no part in the tests. ``comet`` is what 'wordorder comet' wrote about these hypotheses.
    """
    index = read_index(results)
    translations: dict[_Cell, list[str]] = {}
    listed: list[dict[str, Any]] = []
    for encoding in dict.fromkeys(name for c in family.comparisons for name in (c.baseline, c.system)):
        for seed in family.seeds:
            path = index.cell(dataset, size, encoding, seed).hypotheses(test)
            lines = read_pair(path, references)[0] if path.is_file() else None
            status = "missing" if lines is None else "translated" if lines else "no hypotheses"
            digest = sha256(path) if lines is not None else None
            listed.append({"encoding": encoding, "seed": seed, "status": status, "sha256": digest})
            if lines:
                translations[encoding, seed] = lines
    if family.comparisons and all(cell["status"] == "missing" for cell in listed):
        raise WordorderError(
            f"No translation of the test set '{test}' of '{dataset}' by a model of size '{size}' was found for the "
            f"study in {results}. Translate the test set first."
        )
    wanted = list(read_lines(references))
    extraction = Extraction(wanted, family.metrics, family.target_language)
    tests = _Tests(family, resamples(len(wanted), family.significance.bootstrap_samples, family.significance.seed))
    per_seed = _test_each_seed(family, translations, extraction)
    metrics: dict[str, _Metric] = {
        name: _of_metric(name, extraction, translations, per_seed) for name in family.metrics
    }
    result: dict[str, Any] = {
        "size": size,
        "test": test,
        "segments": len(wanted),
        "references_sha256": sha256(references),
        "settings": family.significance.model_dump(),
        "cells": listed,
    }
    if comet is not None:
        scored = read_object(comet, "status", "systems")
        result["comet"] = {name: scored[name] for name in ("status", "model", "reason", "how") if name in scored}
        if scored["status"] == "scored":
            metrics["comet"] = _of_comet(scored, listed, result["references_sha256"])
    todo = list(metrics.items())
    return result | {
        "metrics": {name: tests.run(of) for name, of in track(todo, "tests", total=len(todo), unit="metrics")}
    }


def _test_each_seed(family: Family, translations: dict[_Cell, list[str]], extraction: Extraction) -> _PerSeed:
    """Results of :func:`paired_tests` wherever baseline and at least one system were translated."""
    settings = family.significance
    results: _PerSeed = {}
    baselines = dict.fromkeys(comparison.baseline for comparison in family.comparisons)
    pairs = [(baseline, seed) for baseline in baselines for seed in family.seeds if (baseline, seed) in translations]
    for baseline, seed in track(pairs, "sacreBLEU's paired tests", total=len(pairs), unit="seeds"):
        rivals = [c.system for c in family.comparisons if c.baseline == baseline and (c.system, seed) in translations]
        for kind in KINDS if rivals else ():
            results[kind, (baseline, seed)] = paired_tests(
                extraction,
                translations[baseline, seed],
                {name: translations[name, seed] for name in rivals},
                kind=kind,
                samples=settings.bootstrap_samples,
                seed=settings.seed,
            )
    return results


@dataclass(frozen=True)
class _Metric:
    """What one metric says of every translation: statistics (N, K) a cell; ``per_seed`` if it is one of sacreBLEU's."""

    name: str
    measure: Measure
    statistics: dict[_Cell, Array]
    per_seed: _PerSeed | None
    signature: str | None
    model: str = ""  # of COMET


def _of_metric(name: str, extraction: Extraction, translations: dict[_Cell, list[str]], per_seed: _PerSeed) -> _Metric:
    statistics = {cell: extraction.statistics(name, lines) for cell, lines in translations.items()}
    signatures = {result[name]["signature"] for (kind, _), result in per_seed.items() if kind == KINDS[0]}
    return _Metric(name, extraction.measure(name), statistics, per_seed, min(signatures, default=None))


def _of_comet(scored: dict[str, Any], listed: Sequence[dict[str, Any]], references_sha256: str) -> _Metric:
    if scored["references"]["sha256"] != references_sha256:
        raise WordorderError(
            "The COMET scores are of other references than the ones to compare with. "
            "Delete them and run 'wordorder comet' again."
        )
    known = {
        (cell["encoding"], cell["seed"]): scored["systems"][cell["sha256"]]["segment_scores"]
        for cell in listed
        if cell["status"] == "translated" and cell["sha256"] in scored["systems"]
    }
    statistics = {cell: mean_statistics(np.asarray(scores)) for cell, scores in known.items()}
    return _Metric("comet", MEAN, statistics, None, comet_scores.signature(scored), scored["model"])


@dataclass(frozen=True)
class _Tests:
    """All tests of a family; ``weights``, (B, N), are the resamples of the test set."""

    family: Family
    weights: Array

    def run(self, metric: _Metric) -> dict[str, Any]:
        settings, seeds = self.family.significance, self.family.seeds
        resampled = {cell: metric.measure.scores(self.weights @ of) for cell, of in metric.statistics.items()}
        entries = [self._compare(comparison, metric, resampled) for comparison in self.family.comparisons]
        correct([entry["t_test"] for entry in entries])
        correct([entry["stratified"] for entry in entries])
        for rows in zip(*(entry["seeds"] for entry in entries), strict=True):
            correct([row["sign"] for row in rows])
            for kind in KINDS:
                correct([row[kind] for row in rows])
                correct([row["segments"] and row["segments"][kind] for row in rows])
        for entry in entries:
            entry["verdict"] = verdict(entry, metric.name, settings.alpha, len(seeds))
        return {"signature": metric.signature, "comparisons": entries}

    def _compare(self, comparison: Comparison, metric: _Metric, resampled: dict[_Cell, Array]) -> dict[str, Any]:
        rows = [self._row(comparison, seed, metric, resampled) for seed in self.family.seeds]
        tested = [row for row in rows if row["difference"] is not None]
        scores = {side: [row[side] for row in tested] for side in ("system", "baseline")}
        t_test = paired_t_test(scores["system"], scores["baseline"])
        change = t_test["mean_difference"]
        stratified: dict[str, Any] | None = None
        if tested:
            stratified = self._stratified(comparison, [row["seed"] for row in tested], scores, metric, resampled)
        return {
            "system": comparison.system,
            "baseline": comparison.baseline,
            "seeds": rows,
            "t_test": t_test,
            "stratified": stratified,
            "agreement": None if change is None else agreement(metric.name, change, metric.model),
        }

    def _stratified(
        self,
        comparison: Comparison,
        seeds: list[int],
        scores: dict[str, list[float]],
        metric: _Metric,
        resampled: dict[_Cell, Array],
    ) -> dict[str, Any]:
        system, baseline = ([(name, seed) for seed in seeds] for name in (comparison.system, comparison.baseline))
        p = stratified_randomisation(
            np.stack([metric.statistics[cell] for cell in system]),
            np.stack([metric.statistics[cell] for cell in baseline]),
            metric.measure,
            samples=len(self.weights),
            seed=self._seed,
        )
        found = spreads(
            np.asarray(scores["system"]),
            np.asarray(scores["baseline"]),
            np.stack([resampled[cell] for cell in system]),
            np.stack([resampled[cell] for cell in baseline]),
        )
        return {"p": p} | found

    @property
    def _seed(self) -> int:
        return self.family.significance.seed

    def _row(self, comparison: Comparison, seed: int, metric: _Metric, resampled: dict[_Cell, Array]) -> dict[str, Any]:
        system, baseline = (comparison.system, seed), (comparison.baseline, seed)
        if not {system, baseline} <= metric.statistics.keys():
            names = ("system", "baseline", "difference", "confidence_interval", "p", *KINDS, "sign", "segments")
            return {"seed": seed} | dict.fromkeys(names)
        found = {"system": metric.statistics[system], "baseline": metric.statistics[baseline]}
        scores = {side: metric.measure.of(statistics) for side, statistics in found.items()}
        segments = None
        if metric.per_seed is None or metric.name in _WITH_SEGMENTS:
            alone = {side: metric.measure.segments(statistics) for side, statistics in found.items()}
            segments = segment_tests(**alone, weights=self.weights, seed=self._seed)
        if metric.per_seed is None:  # its score is the mean of its segments' scores
            assert segments is not None
            tests: dict[str, Any] = {kind: segments[kind] for kind in KINDS}
        else:
            results = {kind: metric.per_seed[kind, baseline][metric.name]["systems"] for kind in KINDS}
            tests = {kind: {"p": of[comparison.system]["p"]} for kind, of in results.items()}
        return {
            "seed": seed,
            **scores,
            "difference": scores["system"] - scores["baseline"],
            "confidence_interval": interval(resampled[system] - resampled[baseline]),
            "p": tests[self.family.significance.paired_test]["p"],
            **tests,
            "sign": sign_test(**found, measure=metric.measure),
            "segments": segments,
        }
