"""sacreBLEU's own paired tests (Koehn 2004; Riezler and Maxwell 2005), and the statistics that they resample."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from sacrebleu.significance import PairedTest, Result

from wordorder.metrics.base import TextMetric
from wordorder.metrics.sacrebleu_metric import SacreBLEUMetric
from wordorder.statistics.resampling import TIE, Array, Measure

Kind = Literal["bootstrap", "randomisation"]
KINDS: tuple[Kind, ...] = ("bootstrap", "randomisation")

# sacreBLEU has no public name for this function, which its tests call repeatedly for every translation.
_EXTRACT = "_extract_corpus_statistics"


class Extraction:
    """The metrics of a test set, which extract the counts of each translation only once for all tests.

    A translation is identified by its list of lines, which must therefore not change.

    Args:
        references: The references of the test set.
        metrics: Metrics whose corpus scores are functions of summed statistics.

    Attributes:
        scorers: sacreBLEU's objects of those metrics that it computes, by name.
    """

    def __init__(self, references: Sequence[str], metrics: Sequence[TextMetric]) -> None:
        self._references = references
        self._metrics = {metric.name: metric for metric in metrics}
        self.scorers = {metric.name: metric.scorer for metric in metrics if isinstance(metric, SacreBLEUMetric)}
        for scorer in self.scorers.values():
            scorer._ref_cache = scorer._cache_references([references])
            setattr(scorer, _EXTRACT, _once(getattr(scorer, _EXTRACT)))

    def statistics(self, metric: str, lines: Sequence[str]) -> Array:
        """Return the statistics of N lines, (N, K)."""
        if metric in self.scorers:
            return np.asarray(getattr(self.scorers[metric], _EXTRACT)(lines, None), dtype=float)
        return self._metrics[metric].checked_statistics(lines, self._references)

    def measure(self, metric: str) -> Measure:
        """Return the corpus score of a metric as a function of statistics."""
        return self._metrics[metric].measure


def _once(extract: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[int, tuple[Sequence[str], Any]] = {}  # Keep the lines, too: their address is unique while they exist.

    def once(lines: Sequence[str], references: None) -> Any:
        if id(lines) not in known:
            known[id(lines)] = lines, extract(lines, references)
        return known[id(lines)][1]

    return once


@contextmanager
def _sacrebleu_seed(seed: int) -> Iterator[None]:
    """Set the seed of sacreBLEU's tests, which it reads only from the environment."""
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
    extraction: Extraction,
    baseline: Sequence[str],
    systems: dict[str, Sequence[str]],
    *,
    kind: Kind,
    samples: int,
    seed: int,
) -> dict[str, dict[str, Any]]:
    """Run sacreBLEU's paired test of each system against the baseline, all of them translations of the same sentences.

    If both scores are equal, p is 1. sacreBLEU counts only chance differences that exceed the observed one. For
    identical translations there are none, and its p would be the smallest possible.

    Args:
        extraction: The metrics.
        baseline: The translations of the baseline.
        systems: The translations of each system.
        kind: The test.
        samples: The number of resamples or shuffles.
        seed: The seed of the test.

    Returns:
        ``{metric: {"signature", "baseline": score, "systems": {name: {"score", "p"}}}}``.
    """
    named = [("", baseline), *systems.items()]
    test_type = {"bootstrap": "bs", "randomisation": "ar"}[kind]
    with _sacrebleu_seed(seed):
        test = PairedTest(named, extraction.scorers, None, test_type=test_type, n_samples=samples)
        signatures, scores = test()
    results = {label: [r for r in column if isinstance(r, Result)] for label, column in scores.items()}
    # sacreBLEU names its results differently ("chrF2++"), in the order of the given metrics.
    by_metric = zip(extraction.scorers, signatures.items(), strict=True)
    return {
        metric: {
            "signature": str(signature),
            "baseline": results[label][0].score,
            "systems": {
                system: {"score": result.score, "p": 1.0 if _equal(result, results[label][0]) else result.p_value}
                for system, result in zip(systems, results[label][1:], strict=True)
            },
        }
        for metric, (label, signature) in by_metric
    }


def _equal(system: Result, baseline: Result) -> bool:
    return bool(abs(system.score - baseline.score) <= TIE)
