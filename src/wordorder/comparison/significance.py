"""All tests of a test set: whether each system differs from its baseline.

The verdict comes from :mod:`wordorder.comparison.families`. In addition there are the tests that papers usually report,
each corrected within the declared family by Holm's (1979) method. For each seed, they compare two translations:
sacreBLEU's paired tests, tests of segment scores, and the sign test. Over the seeds, they are a paired t-test and
stratified approximate randomisation. A comparison that could not be tested still counts as a member of the family.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from wordorder.comparison.families import FamilyTest
from wordorder.comparison.levels import Look, looks_file, read_looks, remember_look
from wordorder.comparison.paired import KINDS, Extraction, paired_tests
from wordorder.config.models import Comparison, Family
from wordorder.data.text import read_lines
from wordorder.errors import WordorderError
from wordorder.files import read_object, sha256, write_json
from wordorder.metrics.base import Metric, TextMetric, build
from wordorder.metrics.scores import read_pair
from wordorder.progress import track
from wordorder.statistics import resampling
from wordorder.statistics.over_seeds import correct, paired_t_test
from wordorder.statistics.resampling import (
    MEAN,
    Array,
    Measure,
    interval,
    mean_statistics,
    resamples,
    segment_tests,
    shuffles_needed,
    sign_test,
)
from wordorder.statistics.stratified import spreads, stratified_randomisation

_Cell = tuple[str, int]  # encoding, seed
_PerSeed = dict[tuple[str, _Cell], dict[str, dict[str, Any]]]  # by kind and baseline


def compare_files(
    hypotheses: Sequence[Path] | None = None,
    /,
    *,
    config: Family,
    size: str,
    test: str,
    references: Path,
    systems: Sequence[Path] | None = None,
    output: Path,
) -> None:
    r"""Test whether systems differ from their baseline.

    Give a verdict on every declared comparison on one test set, and run other tests: for each seed sacreBLEU's
    paired tests and the sign test, over the seeds a paired t-test and stratified randomisation, with Holm's correction.
    Seeds without translations are listed. A file OUTPUT with the suffix .looks remembers the seeds, systems and
    comparisons of earlier looks. docs/statistics.md explains each test.

    Example:
        wordorder stage compare --config SLICE --size micro --test test --references test.target \
            --output significance.json a b c

    Args:
        hypotheses: The translations: of each encoding of the family, one per seed.
        config: The family of comparisons.
        size: The size of the models to compare.
        test: The test set.
        references: The detokenised references, one line per sentence.
        systems: The outputs of 'wordorder stage score-systems' for these translations.
        output: The JSON to write.
    """
    translations, looks = of_cells(config, hypotheses or []), looks_file(output)
    result = compare(config, translations, size, test, references, systems or [], read_looks(looks))
    families = [tested["family"] for tested in result["metrics"].values() if tested["family"]]
    shown = dict.fromkeys(cell["encoding"] for cell in result["cells"] if cell["status"] == "translated")
    for seeds in [family["seeds"] for family in families] or [config.seeds]:
        if seeds:
            remember_look(looks, Look(seeds=seeds, systems=[*shown], comparisons=config.pairs))
    write_json(output, result)


def of_cells(family: Family, files: Sequence[Path]) -> dict[_Cell, Path]:
    """Assign the files of hypotheses to encodings and seeds, in the order of the family's encodings and seeds.

    Args:
        family: The comparisons.
        files: The files.

    Returns:
        The file of each encoding and seed.

    Raises:
        WordorderError: The number of files is not that of the cells.
    """
    cells = list(product(family.encodings, family.seeds))
    if len(files) != len(cells):
        raise WordorderError(
            f"There are {len(files)} files of hypotheses, but the family has {len(family.encodings)} encodings with "
            f"{len(family.seeds)} seeds each. Name one file per encoding and seed, in this order.",
            code="wrong-number-of-files",
            found=len(files),
            expected=len(cells),
        )
    return dict(zip(cells, files, strict=True))


def compare(
    family: Family,
    translations: Mapping[_Cell, str | Path],
    size: str,
    test: str,
    references: str | Path,
    systems: Sequence[str | Path] = (),
    earlier: Sequence[Look] = (),
) -> dict[str, Any]:
    """Test every declared comparison on one test set.

    Args:
        family: The comparisons.
        translations: The hypotheses file of each encoding and seed. A cell without translations (no such file, or an
            empty one because the training diverged) is listed with its status and excluded from the tests.
        size: The size of the models.
        test: The test set.
        references: Its references.
        systems: The outputs of 'wordorder stage score-systems' for these hypotheses, one file per metric.
        earlier: The earlier looks at this test set, in their order.

    Returns:
        The tests and verdicts, to be written as JSON.

    Raises:
        WordorderError: No translation exists, scores are missing or belong to other references, or a score is not a
            finite number.
    """
    lines: dict[_Cell, list[str]] = {}
    listed: list[dict[str, Any]] = []
    compared = (name for c in family.comparisons for name in (c.baseline, c.system))
    for encoding in dict.fromkeys([*compared, *family.encodings]):
        for seed in family.seeds:
            path = translations.get((encoding, seed))
            found = read_pair(path, references)[0] if path is not None and Path(path).is_file() else None
            status = "missing" if found is None else "translated" if found else "no hypotheses"
            digest = sha256(path) if path is not None and found is not None else None
            listed.append({"encoding": encoding, "seed": seed, "status": status, "sha256": digest})
            if found:
                lines[encoding, seed] = found
    if family.comparisons and all(cell["status"] == "missing" for cell in listed):
        raise WordorderError(
            f"None of the hypotheses of size '{size}' on '{test}' that this comparison needs exists. Translate the "
            "test set first.",
            code="missing-translations",
        )
    wanted = list(read_lines(references))
    tests = _Tests(
        family,
        resamples(len(wanted), family.significance.bootstrap_samples, family.significance.seed),
        diverged=frozenset(cell["encoding"] for cell in listed if cell["status"] == "no hypotheses"),
        earlier=tuple(earlier),
    )
    chosen = [build(entry, family.target_language) for entry in family.metrics]
    text = [metric for metric in chosen if isinstance(metric, TextMetric)]
    extraction = Extraction(wanted, [metric for metric in text if metric.decomposes])
    per_seed = _test_each_seed(family, lines, extraction)
    metrics = {metric.name: _of_text(metric, extraction, lines, wanted, per_seed) for metric in text}
    result: dict[str, Any] = {
        "size": size,
        "test": test,
        "segments": len(wanted),
        "references_sha256": sha256(references),
        "settings": family.significance.model_dump(),
        "cells": listed,
        "not_scored": [],
    }
    scored = {file["metric"]: file for file in (read_object(path, "metric", "status", "systems") for path in systems)}
    for metric in chosen:
        if isinstance(metric, TextMetric):
            continue
        if metric.name not in scored:
            raise WordorderError(
                f"The scores by the metric '{metric.name}' are missing. Write them with 'wordorder stage "
                "score-systems' and name their file with --systems.",
                code="missing-metric",
                key="systems",
            )
        file = scored[metric.name]
        if file["status"] == "scored":
            metrics[metric.name] = _of_systems(metric, file, listed, result["references_sha256"])
        else:
            result["not_scored"].append({name: file[name] for name in ("metric", "reason", "how")})
    metrics = {metric.name: metrics[metric.name] for metric in chosen if metric.name in metrics}
    for of in metrics.values():
        _demand_finite(of, translations)
    todo = list(metrics.items())
    return result | {
        "metrics": {name: tests.run(of) for name, of in track(todo, "tests", total=len(todo), unit="metrics")}
    }


def _test_each_seed(family: Family, translations: dict[_Cell, list[str]], extraction: Extraction) -> _PerSeed:
    """Run :func:`paired_tests` for each seed with translations of the baseline and of at least one system."""
    settings = family.significance
    samples = dict(zip(KINDS, (settings.bootstrap_samples, _shuffles(family)), strict=True))
    results: _PerSeed = {}
    if not extraction.scorers:
        return results
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
                samples=samples[kind],
                seed=settings.seed,
            )
    return results


def _shuffles(family: Family) -> int:
    """Return the number of shuffles of a randomisation test, so that small p-values can pass Holm's correction."""
    settings = family.significance
    return max(settings.bootstrap_samples, shuffles_needed(len(family.comparisons), settings.alpha))


@dataclass(frozen=True)
class _Scored:
    """The scores of every translation by one metric.

    Attributes:
        statistics: The statistics of each cell, (N, K); empty for a metric without sentence statistics.
        scores: The score of each cell.
        per_seed: sacreBLEU's own tests, for a metric that it computes.
    """

    metric: Metric
    measure: Measure
    statistics: dict[_Cell, Array]
    scores: dict[_Cell, float]
    per_seed: _PerSeed | None
    signature: str | None


def _of_text(
    metric: TextMetric,
    extraction: Extraction,
    translations: dict[_Cell, list[str]],
    references: list[str],
    per_seed: _PerSeed,
) -> _Scored:
    if not metric.decomposes:
        scores = {cell: metric.corpus_score(lines, references)[0] for cell, lines in translations.items()}
        return _Scored(metric, metric.measure, {}, scores, None, metric.signature if scores else None)
    statistics = {cell: extraction.statistics(metric.name, lines) for cell, lines in translations.items()}
    scores = {cell: metric.measure.of(of) for cell, of in statistics.items()}
    if metric.name not in extraction.scorers:
        return _Scored(metric, metric.measure, statistics, scores, None, metric.signature if scores else None)
    signatures = {result[metric.name]["signature"] for (kind, _), result in per_seed.items() if kind == KINDS[0]}
    return _Scored(metric, metric.measure, statistics, scores, per_seed, min(signatures, default=None))


def _of_systems(
    metric: Metric, scored: dict[str, Any], listed: Sequence[dict[str, Any]], references_sha256: str
) -> _Scored:
    if scored["references"]["sha256"] != references_sha256:
        raise WordorderError(
            f"The {metric.label} scores belong to other references than the ones to compare with. "
            "Delete them and run 'wordorder stage score-systems' again.",
            code="other-references",
        )
    known = {
        (cell["encoding"], cell["seed"]): scored["systems"][cell["sha256"]]["segment_scores"]
        for cell in listed
        if cell["status"] == "translated" and cell["sha256"] in scored["systems"]
    }
    statistics = {cell: mean_statistics(np.asarray(scores, dtype=float)) for cell, scores in known.items()}
    scores = {cell: MEAN.of(of) for cell, of in statistics.items()}
    return _Scored(metric, MEAN, statistics, scores, None, scored["signature"])


def _demand_finite(scored: _Scored, translations: Mapping[_Cell, str | Path]) -> None:
    """Refuse scores that are not finite numbers, which would make all tests of the family impossible."""
    metric = scored.metric
    remedy = "Delete the scores, also in the folder 'cache', and run 'wordorder stage score-systems' again."
    if isinstance(metric, TextMetric):
        remedy = f"Correct the metric '{metric.name}' or remove it from the study."
    for (encoding, seed), score in scored.scores.items():
        if not math.isfinite(score):
            path = translations[encoding, seed]
            raise WordorderError(
                f"The {metric.label} score of {path} (encoding '{encoding}', seed {seed}) is {score}, but must be a "
                f"finite number. {remedy}",
                code="score-not-finite",
                path=path,
                key=metric.name,
                found=score,
                expected="a finite number",
            )


@dataclass(frozen=True)
class _Tests:
    """All tests of a family.

    Attributes:
        family: The comparisons.
        weights: The resamples of the test set, (B, N).
        diverged: The encodings with a diverged training.
        earlier: The earlier looks.
    """

    family: Family
    weights: Array
    diverged: frozenset[str]
    earlier: tuple[Look, ...]

    def run(self, scored: _Scored) -> dict[str, Any]:
        resampled = {cell: scored.measure.scores(self.weights @ of) for cell, of in scored.statistics.items()}
        entries = [self._compare(comparison, scored, resampled) for comparison in self.family.comparisons]
        correct([entry["t_test"] for entry in entries])
        correct([entry["stratified"] for entry in entries])
        for rows in zip(*(entry["seeds"] for entry in entries), strict=True):
            correct([row["sign"] for row in rows])
            for kind in KINDS:
                correct([row[kind] for row in rows])
                correct([row["segments"] and row["segments"][kind] for row in rows])
        if not entries:
            return {"signature": scored.signature, "family": None, "comparisons": []}
        test = FamilyTest(self.family, scored.metric, scored.scores, resampled, self.diverged, self.earlier)
        entries = [
            entry | test.compare(comparison) for entry, comparison in zip(entries, self.family.comparisons, strict=True)
        ]
        return {"signature": scored.signature, "family": test.summary, "comparisons": entries}

    def _compare(self, comparison: Comparison, scored: _Scored, resampled: dict[_Cell, Array]) -> dict[str, Any]:
        rows = [self._row(comparison, seed, scored, resampled) for seed in self.family.seeds]
        tested = [row for row in rows if row["difference"] is not None]
        scores = {side: [row[side] for row in tested] for side in ("system", "baseline")}
        t_test = paired_t_test(scores["system"], scores["baseline"])
        change, people = t_test["mean_difference"], scored.metric.agreement
        stratified: dict[str, Any] | None = None
        if tested and scored.statistics:
            stratified = self._stratified(comparison, [row["seed"] for row in tested], scores, scored, resampled)
        return {
            "system": comparison.system,
            "baseline": comparison.baseline,
            "seeds": rows,
            "t_test": t_test,
            "stratified": stratified,
            "agreement": None if change is None or people is None else people.expected(change),
        }

    def _stratified(
        self,
        comparison: Comparison,
        seeds: list[int],
        scores: dict[str, list[float]],
        scored: _Scored,
        resampled: dict[_Cell, Array],
    ) -> dict[str, Any]:
        system, baseline = ([(name, seed) for seed in seeds] for name in (comparison.system, comparison.baseline))
        p = stratified_randomisation(
            np.stack([scored.statistics[cell] for cell in system]),
            np.stack([scored.statistics[cell] for cell in baseline]),
            scored.measure,
            samples=_shuffles(self.family),
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

    def _row(self, comparison: Comparison, seed: int, scored: _Scored, resampled: dict[_Cell, Array]) -> dict[str, Any]:
        system, baseline = (comparison.system, seed), (comparison.baseline, seed)
        untested = dict.fromkeys(("confidence_interval", "p", *KINDS, "sign", "segments"))
        if not {system, baseline} <= scored.scores.keys():
            return {"seed": seed} | dict.fromkeys(("system", "baseline", "difference")) | untested
        scores = {"system": scored.scores[system], "baseline": scored.scores[baseline]}
        row = {"seed": seed, **scores, "difference": scores["system"] - scores["baseline"]}
        if not scored.statistics:
            return row | untested
        found = {"system": scored.statistics[system], "baseline": scored.statistics[baseline]}
        segments, is_mean = None, scored.measure is MEAN
        if is_mean or scored.metric.rates_sentences:
            each = {side: scored.measure.scores(statistics) for side, statistics in found.items()}
            segments = segment_tests(**each, weights=self.weights, seed=self._seed, shuffles=_shuffles(self.family))
        if scored.per_seed is not None:
            results = {kind: scored.per_seed[kind, baseline][scored.metric.name]["systems"] for kind in KINDS}
            tests: dict[str, Any] = {kind: {"p": of[comparison.system]["p"]} for kind, of in results.items()}
        elif is_mean and segments is not None:
            tests = {kind: segments[kind] for kind in KINDS}
        else:
            tests = resampling.paired_tests(
                **found, measure=scored.measure, weights=self.weights, seed=self._seed, shuffles=_shuffles(self.family)
            )
        return row | {
            "confidence_interval": interval(resampled[system] - resampled[baseline]),
            "p": tests[self.family.significance.paired_test]["p"],
            **tests,
            "sign": sign_test(**found, measure=scored.measure),
            "segments": segments,
        }
