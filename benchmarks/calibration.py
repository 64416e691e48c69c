"""Measure how often each procedure errs, and how often it finds a true difference, on corpus BLEU of real translations.

    python benchmarks/calibration.py [--pools 24] [--trials 40] [--output OUT.json]

A pool is a pair of systems of a study in results/reference, one stronger than the other, with all their translations
of a test set. A simulated run takes each sentence from the stronger system with a probability q, and otherwise from the
weaker one, so that its corpus BLEU is that of real sentences and follows q. q varies over seeds, partly for all systems
alike. "Weak" and "strong" state how much BLEU then varies, in standard deviations of a difference over test sets.
Systems with the same mean of q are equal, and a larger mean is a true difference. Each trial draws its sentences, too.

The tables show means over the pools with their standard errors over the pools. The references must be below --data:
'wordorder stage reference-texts' lists them, and Snakemake makes them.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize, stats

from wordorder.comparison.paired import KINDS, Extraction, paired_tests
from wordorder.data.text import read_lines
from wordorder.errors import WordorderError
from wordorder.files import sha256
from wordorder.metrics.base import NoSettings
from wordorder.metrics.bleu import BLEU
from wordorder.progress import track
from wordorder.results.bundle import unpack
from wordorder.results.frames import cell_folders
from wordorder.results.index import text_of
from wordorder.results.translations import raw
from wordorder.statistics.all_pairs import declared_pairs
from wordorder.statistics.blocked import Blocked, block
from wordorder.statistics.distributions import tukey_sf
from wordorder.statistics.dunnett import against_baseline
from wordorder.statistics.looks import obrien_fleming_levels
from wordorder.statistics.orderings import permutation_test
from wordorder.statistics.over_seeds import holm, paired_t_test
from wordorder.statistics.power import critical, detectable_of
from wordorder.statistics.resampling import Array, resamples, sign_test
from wordorder.statistics.seeds_and_sentences import seeds_and_sentences, sentence_variance
from wordorder.statistics.stratified import stratified_randomisation
from wordorder.statistics.verdicts import Outcome, verdict

ALPHA = 0.05
EFFECTS = {"weak": 0.3, "strong": 1.0}
SHARED = 0.3  # of the variance over seeds: what a seed adds to all systems alike
GAP = 4.0  # BLEU between the two systems of a pool, at least
FAMILIES = ((3, 5), (10, 3))  # systems and seeds
SEEDS_OF_INTERVALS = (2, 3, 5)
SYSTEMS_OF_INTERVALS = 6
LOOKS = (3, 5)
PREFERENCE = 0.3  # standard deviation over sentences of what a system adds to q
STUDIES = ("arena_mini", "crosslingual", "demo", "multi30k", "opr_k_mini", "opr_mini", "posnet_mini", "xlpe_mini")

Rates = dict[str, list[float]]


class Pool:
    """Real translations of N sentences by a weaker and a stronger system.

    Args:
        name: The study, the test set and the systems.
        statistics: BLEU's statistics of M translations by each system, (2, M, N, K).
        extraction: BLEU with the references.
        sentences: The number of sentences of a trial, N'.
    """

    def __init__(self, name: str, statistics: Array, extraction: Extraction, sentences: int) -> None:
        self.name = name
        self.statistics = statistics
        self.extraction = extraction
        self.measure = extraction.measure("bleu")
        self.sentences = sentences

    def test_set(self, random: np.random.Generator) -> Array:
        """Return the sentences of a trial, (N',)."""
        return random.integers(self.statistics.shape[2], size=self.sentences)

    def runs(self, q: Array, test_set: Array, random: np.random.Generator) -> Array:
        """Return the statistics of a run for each row of q, (R, 1) or (R, N'): (R, N', K)."""
        shape = (len(q), len(test_set))
        stronger = (random.random(shape) < q).astype(int)
        found: Array = self.statistics[stronger, random.integers(self.statistics.shape[1], size=shape), test_set]
        return found

    def scores(self, runs: Array) -> Array:
        """Return the BLEU of runs, (R, N', K), by the counts of sentences in each resample, (S, N'): (R, S)."""
        return self.measure.scores(runs.sum(axis=1))

    def resampled_scores(self, runs: Array, weights: Array) -> Array:
        """Return the BLEU of runs, (R, N', K), by the counts of sentences in each resample, (S, N'): (R, S)."""
        return np.stack([self.measure.scores(weights @ run) for run in runs])

    def expected(self, q: Array | float) -> float:
        """Return the BLEU of all sentences of a system with q, a number or (N,)."""
        weaker, stronger = self.statistics.mean(axis=1)
        of_stronger = np.broadcast_to(q, len(weaker))[:, None]
        return self.measure.of((1 - of_stronger) * weaker + of_stronger * stronger)

    def shift(self, difference: float) -> float:
        """Return the number to add to one q and to subtract from another, both 0.5, for a true difference in BLEU."""

        def excess(shift: float) -> float:
            return self.expected(0.5 + shift) - self.expected(0.5 - shift) - difference

        return float(optimize.brentq(excess, 0.0, 0.5))

    def seed_spread(self, effect: float) -> float:
        """Return the standard deviation of q over seeds that has an effect on BLEU, relative to that of sentences."""
        random = np.random.default_rng(3)
        runs = self.runs(np.full((2, 1), 0.5), np.arange(self.statistics.shape[2]), random)
        weights = random.multinomial(self.sentences, np.full(runs.shape[1], 1 / runs.shape[1]), size=300)
        one, other = self.resampled_scores(runs, weights.astype(float))
        return effect * float((one - other).std(ddof=1)) / math.sqrt(2) / (self.expected(1.0) - self.expected(0.0))

    def sacrebleu_p(self, system: Array, baseline: Array, kind: Any, samples: int, seed: int) -> float:
        """Return the p-value of sacreBLEU's own test of two runs, (N', K) each."""
        lines: list[list[str]] = [[""] * self.sentences, [""] * self.sentences]
        known = {id(each): of.astype(int) for each, of in zip(lines, (baseline, system), strict=True)}
        # sacreBLEU identifies a simulated run by the address of its list of lines.
        self.extraction.scorers["bleu"]._extract_corpus_statistics = lambda each, references: known[id(each)]
        found = paired_tests(self.extraction, lines[0], {"system": lines[1]}, kind=kind, samples=samples, seed=seed)
        return float(found["bleu"]["systems"]["system"]["p"])


def find_pools(options: argparse.Namespace) -> list[Pool]:
    """Return pools of all test sets in turn, of each the pairs of systems in a random order."""
    random = np.random.default_rng(1)
    queues: list[list[Pool]] = []
    for study in track(options.studies, "read the studies", total=len(options.studies), unit="studies"):
        for name, extraction, translations in _test_sets(options.reference / study, options.data):
            scores = {
                system: np.mean([extraction.measure("bleu").of(of) for of in each])
                for system, each in translations.items()
            }
            pairs = [pair for pair in permutations(scores, 2) if scores[pair[1]] - scores[pair[0]] >= GAP]
            random.shuffle(pairs)
            queues.append(
                [
                    Pool(
                        f"{study} {name} {weaker} {stronger}",
                        np.stack([np.stack(translations[system]) for system in (weaker, stronger)]),
                        extraction,
                        options.sentences,
                    )
                    for weaker, stronger in pairs[: options.pools]
                ]
            )
    ranks = max(map(len, queues))
    return [queue[rank] for rank in range(ranks) for queue in queues if rank < len(queue)][: options.pools]


def _test_sets(bundle: Path, data: Path) -> Iterator[tuple[str, Extraction, dict[str, list[Array]]]]:
    """Yield each test set of a bundle: its name, BLEU, and the statistics of each system's translations."""
    with tempfile.TemporaryDirectory() as folder:
        study = unpack(bundle, Path(folder))
        cells = list(cell_folders(study.report, folder))
        for dataset in study.report.datasets:
            for test in dataset.tests:
                path = raw(data, dataset.name, test, "target")
                if not path.is_file() or sha256(path) != study.references[f"{dataset.name}/{text_of(test)}"]:
                    raise WordorderError(
                        f"{path} does not exist or does not hold the references of {bundle}. Remove it and let "
                        "Snakemake make it again.",
                        code="other-references",
                        path=path,
                    )
                references = list(read_lines(path))
                language = study.families[dataset.name].target_language
                extraction = Extraction(references, [BLEU(language, NoSettings())])
                translations: dict[str, list[Array]] = defaultdict(list)
                for cell, files in cells:
                    if cell["dataset"] == dataset.name:
                        lines = list(read_lines(files.hypotheses(test)))
                        if lines:
                            translations[cell["encoding"]].append(extraction.statistics("bleu", lines))
                whole = {name: of for name, of in translations.items() if len(of) == len(study.report.seeds)}
                yield f"{dataset.name}/{test}", extraction, whole


@dataclass(frozen=True)
class Family:
    """Studies of k systems with n seeds, made from the runs of a pool; the first system is the baseline."""

    pool: Pool
    spread: float
    k: int
    n: int

    def quality(self, shifts: Sequence[float], random: np.random.Generator) -> Array:
        """Return q of each system and seed, (k, n)."""
        of_seed = math.sqrt(SHARED) * random.normal(size=self.n)
        own = math.sqrt(1 - SHARED) * random.normal(size=(self.k, self.n))
        return np.clip(0.5 + np.array(shifts)[:, None] + self.spread * (of_seed + own), 0.0, 1.0)

    def study(self, shifts: Sequence[float], random: np.random.Generator) -> Blocked:
        """Return the scores of one study."""
        q = self.quality(shifts, random).reshape(-1, 1)
        return self.model(self.pool.scores(self.pool.runs(q, self.pool.test_set(random), random)))

    def model(self, scores: Array) -> Blocked:
        rows = scores.reshape(self.k, self.n)
        return block({f"s{row}": dict(enumerate(of)) for row, of in enumerate(rows)})


def paired_t_holm(model: Blocked) -> list[float]:
    """Return the p-values of paired t-tests against the first system with Holm's correction."""
    p_values = [paired_t_test(row, model.scores[0])["p"] for row in model.scores[1:]]
    return [1.0 if p is None else p for p in holm(p_values)]


def tukey_p(model: Blocked, difference: float) -> float:
    """Return the p-value of one of all pairs, as :func:`all_pairs` computes it for each."""
    return tukey_sf(abs(difference) / math.sqrt(model.mse / model.n), model.k, model.nu)


def of_families(family: Family, trials: int, random: np.random.Generator) -> Rates:
    """Return how often each procedure errs without a difference, errs with one, and finds the difference."""
    rates: Rates = defaultdict(list)
    equal, names = [0.0] * family.k, [f"s{row}" for row in range(family.k)]
    pairs = [(one, other) for one, other in zip(names[::2], names[1::2], strict=False)]
    pairs += [(names[0], names[2])] if family.k == 3 else []
    nulls = [family.study(equal, random) for _ in range(trials)]
    sigma = math.sqrt(np.mean([model.mse for model in nulls]))
    freedom, threshold = (family.k - 1) * (family.n - 1), critical(family.k, family.n)
    true = detectable_of(sigma * math.sqrt(2 / family.n), freedom, threshold)
    shift = family.pool.shift(true)
    for model in nulls:
        against = against_baseline(model, "s0")
        rates["false: Dunnett, step-down"].append(_any(against.differences))
        rates["false: Tukey, all pairs"].append(tukey_p(model, float(np.ptp(model.means))) < ALPHA)
        rates["false: declared pairs, blocked t with Holm"].append(_any(declared_pairs(model, pairs).differences))
        rates["false: paired t-tests with Holm"].append(min(paired_t_holm(model)) < ALPHA)
        found = [verdict(each, margin=true).outcome for each in against.differences.values()]
        rates["found: equivalence of equal systems, margin as large"].append(np.mean([_equivalent(o) for o in found]))
        order = permutation_test(random.permutation(family.k), model.means, samples=999)
        rates["false: order reproduced, permutation test"].append(order.p_same <= ALPHA)
        if family.n == LOOKS[-1]:
            first = block(
                {name: dict(enumerate(row[: LOOKS[0]])) for name, row in zip(names, model.scores, strict=True)}
            )
            smallest = [_smallest(against_baseline(each, "s0").differences) for each in (first, model)]
            levels = obrien_fleming_levels(LOOKS)
            rates["false: two looks, O'Brien-Fleming levels"].append(any(map(float.__lt__, smallest, levels)))
            rates["false: two looks, 5 % each"].append(min(smallest) < ALPHA)
    for _ in range(trials):
        model = family.study([-shift, shift, *[-shift] * (family.k - 2)], random)
        against = against_baseline(model, "s0")
        others = {name: each for name, each in against.differences.items() if name != "s1"}
        rates["false: Dunnett, step-down, beside a true difference"].append(_any(others))
        truths = {name: true if name == "s1" else 0.0 for name in against.differences}
        missed = (not each.interval[0] < truths[name] < each.interval[1] for name, each in against.differences.items())
        rates["false: simultaneous intervals, any misses"].append(any(missed))
        rates["found: Dunnett"].append(against.differences["s1"].p_single_step < ALPHA)
        rates["found: Dunnett, step-down"].append(against.differences["s1"].p < ALPHA)
        rates["found: Tukey"].append(tukey_p(model, model.difference("s1", "s0")) < ALPHA)
        rates["found: paired t-tests with Holm"].append(paired_t_holm(model)[0] < ALPHA)
    for _ in range(trials):
        model = family.study([-shift, *[shift] * (family.k - 1)], random)
        found = [verdict(each, margin=true).outcome for each in against_baseline(model, "s0").differences.values()]
        rates["false: equivalence, all at the margin"].append(any(map(_equivalent, found)))
    return rates


def _any(differences: Any) -> bool:
    return _smallest(differences) < ALPHA


def _smallest(differences: Any) -> float:
    return min(each.p for each in differences.values())


def _equivalent(outcome: Outcome) -> bool:
    return outcome in (Outcome.EQUIVALENT, Outcome.BETTER_WITHIN, Outcome.WORSE_WITHIN)


def of_two_systems(family: Family, trials: int, samples: int, random: np.random.Generator) -> Rates:
    """Return how often the tests of two equal systems that papers use reject."""
    rates: Rates = defaultdict(list)
    for trial in range(trials):
        q = family.quality([0.0, 0.0], random).reshape(-1, 1)
        runs = family.pool.runs(q, family.pool.test_set(random), random)
        system, baseline = runs[: family.n], runs[family.n :]
        for kind in KINDS:
            p = family.pool.sacrebleu_p(system[0], baseline[0], kind, samples, trial + 1)
            rates[f"one seed, {kind} (sacreBLEU)"].append(p < ALPHA)
        p = sign_test(system[0], baseline[0], family.pool.measure)["p"]
        rates["one seed, sign test"].append(p is not None and p < ALPHA)
        p = stratified_randomisation(system, baseline, family.pool.measure, samples=samples, seed=trial + 1)
        rates["stratified randomisation over seeds and sentences"].append(p < ALPHA)
        scores = family.pool.scores(runs)
        rates["paired t-test over seeds"].append(paired_t_test(scores[: family.n], scores[family.n :])["p"] < ALPHA)
    return rates


def of_intervals(family: Family, trials: int, random: np.random.Generator) -> Rates:
    """Return how often intervals of one difference cover that of all sentences and of all seeds."""
    rates: Rates = defaultdict(list)
    pool, n = family.pool, family.n
    weights = resamples(pool.sentences, 300, 1)
    for _ in range(trials):
        own = PREFERENCE * random.normal(size=(family.k, pool.statistics.shape[2]))
        test_set = pool.test_set(random)
        q = family.quality([0.0] * family.k, random)[:, :, None] + own[:, None, test_set]
        runs = pool.runs(q.reshape(family.k * n, -1), test_set, random)
        truth = pool.expected(np.clip(0.5 + own[1], 0, 1)) - pool.expected(np.clip(0.5 + own[0], 0, 1))
        model = family.model(pool.scores(runs))
        resampled = pool.resampled_scores(runs[: 2 * n], weights)
        sentences = sentence_variance(resampled[n:] - resampled[:n])
        error, missed = model.standard_error**2, abs(model.difference("s1", "s0") - truth)
        t = float(stats.t.isf(ALPHA / 2, model.nu))
        half_widths = {
            "seeds and sentences": seeds_and_sentences(0.0, error, model.nu, sentences).half_width,
            "both variances added": t * math.sqrt(error + sentences.of_mean),
            "seeds only": t * math.sqrt(error),
            "sentences only": float(stats.norm.isf(ALPHA / 2)) * math.sqrt(sentences.of_mean),
        }
        for name, half_width in half_widths.items():
            rates[name].append(missed <= half_width)
    return rates


def measure(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Run all trials, and yield after each pool: for each table, row and column, the rate of each pool so far."""
    found: dict[str, Any] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    chosen = find_pools(options)
    for index, pool in enumerate(track(chosen, "pools", total=len(chosen), unit="pools")):
        for effect, size in EFFECTS.items():
            spread = pool.seed_spread(size)
            random = np.random.default_rng([index, int(10 * size)])
            parts: list[tuple[str, str, Rates]] = []
            for k, n in FAMILIES:
                column = f"{effect}, {k} systems, {n} seeds"
                parts.append(("families", column, of_families(Family(pool, spread, k, n), options.trials, random)))
            two = of_two_systems(Family(pool, spread, 2, 5), options.trials, options.samples, random)
            parts.append(("two equal systems", effect, two))
            for n in SEEDS_OF_INTERVALS:
                of = of_intervals(Family(pool, spread, SYSTEMS_OF_INTERVALS, n), options.trials, random)
                parts.append(("coverage", f"{effect}, {n} seeds", of))
            for table, column, rates in parts:
                for row, each in rates.items():
                    found[table][row][column].append(float(np.mean(each)))
        settings = {name: getattr(options, name) for name in ("studies", "trials", "sentences", "samples")}
        yield {"settings": settings, "pools": [pool.name for pool in chosen[: index + 1]], "rates": found}


def show(result: dict[str, Any]) -> None:
    """Print each table as Markdown: means over the pools in per cent, and their standard errors."""
    for table, rows in result["rates"].items():
        columns = list(next(iter(rows.values())))
        print(f"\n| {table} | {' | '.join(columns)} |\n|---{'|---' * len(columns)}|")
        for row, of in rows.items():
            print(f"| {row} | {' | '.join(_mean(of.get(column, [])) for column in columns)} |")


def _mean(rates: Sequence[float]) -> str:
    if not rates:
        return "–"
    error = f" ± {100 * np.std(rates, ddof=1) / math.sqrt(len(rates)):.1f}" if len(rates) > 1 else ""
    return f"{100 * np.mean(rates):.1f}{error}"


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", nargs="+", default=STUDIES)
    parser.add_argument("--reference", type=Path, default=Path("results/reference"))
    parser.add_argument("--data", type=Path, default=Path("results/data"))
    parser.add_argument("--pools", type=int, default=24)
    parser.add_argument("--trials", type=int, default=40, help="trials of each pool, effect and family")
    parser.add_argument("--sentences", type=int, default=800, help="sentences of a trial's test set")
    parser.add_argument("--samples", type=int, default=199, help="resamples and shuffles of the tests of two systems")
    parser.add_argument("--output", type=Path)
    return parser.parse_args(arguments)


def main() -> None:
    options = parse_options()
    result: dict[str, Any] = {"rates": {}}
    for result in measure(options):
        if options.output:
            options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    show(result)


if __name__ == "__main__":
    main()
