"""sacreBLEU's own paired tests (Koehn 2004; Riezler and Maxwell 2005), and the statistics that they resample."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from sacrebleu.metrics.base import Metric
from sacrebleu.significance import PairedTest, Result

from wordorder.metrics.scores import LOWER_IS_BETTER, build_metric
from wordorder.statistics.resampling import TIE, Array, Measure

Kind = Literal["bootstrap", "randomisation"]
KINDS: tuple[Kind, ...] = ("bootstrap", "randomisation")

# sacreBLEU has no public name for it. Its tests call it for every translation, again and again.
_EXTRACT = "_extract_corpus_statistics"


class Extraction:
    """The metrics of a test set; what they count in a translation is counted once, whichever tests use it.

    A translation is known by its list of lines, which must therefore stay as it is.
    """

    def __init__(self, references: Sequence[str], metrics: Sequence[str], target_language: str) -> None:
        self.metrics = {name: build_metric(name, target_language) for name in metrics}
        for metric in self.metrics.values():
            metric._ref_cache = metric._cache_references([references])
            setattr(metric, _EXTRACT, _once(getattr(metric, _EXTRACT)))

    def statistics(self, metric: str, lines: Sequence[str]) -> Array:
        """(N, K) of N lines."""
        return np.asarray(getattr(self.metrics[metric], _EXTRACT)(lines, None), dtype=float)

    def measure(self, metric: str) -> Measure:
        return Measure(_scorer(self.metrics[metric]), lower_is_better=metric in LOWER_IS_BETTER)


def _scorer(metric: Metric) -> Callable[[Array], float]:
    return lambda sums: float(metric._compute_score_from_stats(sums.tolist()).score)


def _once(extract: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[int, tuple[Sequence[str], Any]] = {}  # holds the lines, too: an address is unique while they live

    def once(lines: Sequence[str], references: None) -> Any:
        if id(lines) not in known:
            known[id(lines)] = lines, extract(lines, references)
        return known[id(lines)][1]

    return once


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
    extraction: Extraction,
    baseline: Sequence[str],
    systems: dict[str, Sequence[str]],
    *,
    kind: Kind,
    samples: int,
    seed: int,
) -> dict[str, dict[str, Any]]:
    """sacreBLEU's paired test of each system against the baseline, all translations of the same sentences.

    Where both scores are equal, p is 1. sacreBLEU counts only chance differences that are larger than the one observed:
    for identical translations none is, and its p would be the smallest that there is.

    Returns ``{metric: {"signature", "baseline": score, "systems": {name: {"score", "p"}}}}``.
    """
    named = [("", baseline), *systems.items()]
    test_type = {"bootstrap": "bs", "randomisation": "ar"}[kind]
    with _sacrebleu_seed(seed):
        test = PairedTest(named, extraction.metrics, None, test_type=test_type, n_samples=samples)
        signatures, scores = test()
    results = {label: [r for r in column if isinstance(r, Result)] for label, column in scores.items()}
    # sacreBLEU files its results under names of its own ("chrF2++"), in the order in which the metrics were given.
    by_metric = zip(extraction.metrics, signatures.items(), strict=True)
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
