"""How often each test finds a difference between two halves of one system's seeds, where there is none.

python benchmarks/calibration.py [--trials 2000] [--seeds 5] [--sentences 100] [--samples 500] [--json OUT]

The seeds of a system are made-up translations of one text: seed s gets each word of the reference wrong with its own
probability. Where that is the same for all seeds, they differ in single sentences only; where it varies, some seeds are
better in all their sentences, as trained models are. How large that spread is, is said as the ratio of the two standard
deviations that 'stage compare' reports of a difference: of one seed over another's, and of the resampled test set.

A trial draws two disjoint groups of seeds from a pool, tests their BLEU at 5 %, and counts the rejections. The naive
test is what a paper with one run a system does: a paired test of one translation against one other.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

import numpy as np

from wordorder.comparison.paired import KINDS, Extraction, paired_tests
from wordorder.metrics.base import NoSettings
from wordorder.metrics.bleu import BLEU
from wordorder.progress import track
from wordorder.statistics.over_seeds import paired_t_test
from wordorder.statistics.resampling import resamples, sign_test
from wordorder.statistics.stratified import stratified_randomisation

ALPHA = 0.05
POOL = 60
WORDS = [f"{first}{second}" for first in "bdfgklmnprst" for second in ("a", "al", "en", "ir", "o", "ust")]
# Spread over seeds of the probability of a wrong word, which is .3 on average.
SPREADS = (0.0, 0.01, 0.02, 0.03)


def pool_of_seeds(sentences: int, spread: float, seed: int) -> tuple[list[str], list[list[str]]]:
    """The references, and the translations of each seed of one system."""
    draw = random.Random(seed)
    references = [[draw.choice(WORDS) for _ in range(draw.randint(6, 20))] for _ in range(sentences)]
    pool = []
    for _ in range(POOL):
        rate = draw.gauss(0.3, spread)
        pool.append([" ".join(w if draw.random() > rate else draw.choice(WORDS) for w in line) for line in references])
    return [" ".join(line) for line in references], pool


def rejections(options: argparse.Namespace, spread: float) -> dict[str, Any]:
    """The share of trials in which each test rejects, and the ratio of the spreads."""
    references, pool = pool_of_seeds(options.sentences, spread, seed=1)
    extraction = Extraction(references, [BLEU("de", NoSettings())])
    measure = extraction.measure("bleu")
    statistics = np.stack([extraction.statistics("bleu", lines) for lines in pool])
    scores = np.array([measure.of(of) for of in statistics])
    weights = resamples(options.sentences, 300, 1)
    resampled = np.stack([measure.scores(weights @ of) for of in statistics])
    of_test_set = np.mean([(resampled[n] - resampled[n - 1]).std(ddof=1) for n in range(POOL)])
    found: dict[str, int] = {}
    draw = np.random.default_rng(2)
    for trial in track(range(options.trials), f"spread {spread}", total=options.trials, unit="trials"):
        chosen = draw.permutation(POOL)[: 2 * options.seeds]
        one, other = chosen[: options.seeds], chosen[options.seeds :]
        p_values = {
            f"one seed, {kind} (sacreBLEU)": _one_seed(extraction, pool, one[0], other[0], kind, options, trial)
            for kind in KINDS
        }
        p_values["one seed, sign test"] = sign_test(statistics[one[0]], statistics[other[0]], measure)["p"]
        p_values["stratified randomisation over seeds and sentences"] = stratified_randomisation(
            statistics[one], statistics[other], measure, samples=options.samples, seed=trial + 1
        )
        p_values["paired t-test over seeds"] = paired_t_test(scores[one], scores[other])["p"]
        for name, p in p_values.items():
            found[name] = found.get(name, 0) + (p is not None and p <= ALPHA)
    return {
        "spread": spread,
        "optimiser_sd / test_set_sd": float(np.sqrt(2) * scores.std(ddof=1) / of_test_set),
        "rejected": {name: count / options.trials for name, count in found.items()},
    }


def _one_seed(
    extraction: Extraction,
    pool: list[list[str]],
    one: int,
    other: int,
    kind: Any,
    options: argparse.Namespace,
    trial: int,
) -> float:
    rival = {"system": pool[other]}
    tested = paired_tests(extraction, pool[one], rival, kind=kind, samples=options.samples, seed=trial + 1)
    return float(tested["bleu"]["systems"]["system"]["p"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=5, help="of each half")
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--samples", type=int, default=500, help="resamples and shuffles of a test")
    parser.add_argument("--spreads", type=float, nargs="+", default=list(SPREADS))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = [rejections(options, spread) for spread in options.spreads]
    error = 100 * (ALPHA * (1 - ALPHA) / options.trials) ** 0.5
    print(f"Rejected at 5 %, in % of {options.trials} trials (standard error of a calibrated test: {error:.1f})")
    ratios = "".join(f"{result['optimiser_sd / test_set_sd']:8.2f}" for result in results)
    print(f"{'sd over seeds / sd over test sets':<52}{ratios}")
    for name in results[0]["rejected"]:
        print(f"{name:<52}" + "".join(f"{100 * result['rejected'][name]:8.1f}" for result in results))
    if options.json:
        settings = {"trials": options.trials, "seeds": options.seeds, "sentences": options.sentences}
        record = settings | {"samples": options.samples, "results": results}
        options.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
