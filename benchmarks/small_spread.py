"""Measure how often the check of a too small σ warns, and what verdicts are worth where it does.

    python benchmarks/small_spread.py [--pools 24] [--trials 100]

The simulated runs are those of benchmarks/calibration.py: equal systems, whose runs take each sentence from one of two
real translations. In the column "none", seeds differ only in single sentences; in the others, some are better than
others. The table shows the share of families in which the check warns, and the share with a false finding: among all
families, those with a warning and those without; and the same for verdicts that also hold on other sentences, each ±
its standard error.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from calibration import ALPHA, EFFECTS, Family, Pool, find_pools, parse_options

from wordorder.progress import track
from wordorder.statistics.dunnett import against_baseline
from wordorder.statistics.resampling import resamples
from wordorder.statistics.seeds_and_sentences import (
    seeds_and_sentences,
    sentence_variance,
    small_spread_p,
    variance_components,
)
from wordorder.statistics.spread import SPREAD_LEVEL

FAMILIES = ((3, 2), (5, 2), (3, 5))  # systems and seeds
RESAMPLES = 300

Outcome = tuple[bool, bool, bool]
"""Whether the check warns, whether a difference is found, and whether one is also found on other sentences."""


def outcome(family: Family, random: np.random.Generator) -> Outcome:
    """Return the outcome of one study of equal systems."""
    pool, k, n = family.pool, family.k, family.n
    q = family.quality([0.0] * k, random).reshape(-1, 1)
    runs = pool.runs(q, pool.test_set(random), random)
    model = family.model(pool.scores(runs))
    weights = resamples(pool.sentences, RESAMPLES, int(random.integers(2**31)))
    resampled = pool.resampled_scores(runs, weights).reshape(k, n, -1)
    components = variance_components(model.scores, resampled)
    small = small_spread_p(model.mse, model.nu, components.residual_sentence) < SPREAD_LEVEL
    test = against_baseline(model, "s0")
    found = [row for row in range(1, k) if test.differences[f"s{row}"].p < ALPHA]
    further = False
    for row in found:
        each = test.differences[f"s{row}"]
        sentences = sentence_variance(resampled[row] - resampled[0])
        both = seeds_and_sentences(each.value, each.standard_error**2, each.nu, sentences, m=k - 1)
        further = further or both.excludes_zero(each.value)
    return small, bool(found), further


def measure(pools: Sequence[Pool], trials: int) -> dict[str, list[Outcome]]:
    """Return the outcomes of all pools for each size of family and effect of seeds."""
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    for index, pool in enumerate(track(pools, "pools", total=len(pools), unit="pools")):
        for effect, size in {"none": 0.0, **EFFECTS}.items():
            spread = pool.seed_spread(size) if size else 0.0
            random = np.random.default_rng([index, int(10 * size), 7])
            for k, n in FAMILIES:
                family = Family(pool, spread, k, n)
                outcomes[f"{k} systems, {n} seeds, {effect}"] += [outcome(family, random) for _ in range(trials)]
    return outcomes


def show(outcomes: dict[str, list[Outcome]]) -> None:
    """Print the shares as a Markdown table, in per cent."""
    columns = ("warnings", "false findings", "with a warning", "without", "also on other sentences", "with a warning")
    print(f"| family, effect of seeds | {' | '.join(columns)} |\n|---{'|---' * len(columns)}|")
    for name, rows in outcomes.items():
        small, found, further = np.array(rows, dtype=bool).T
        shares = (small, found, found[small], found[~small], further, further[small])
        print(f"| {name} | {' | '.join(map(_share, shares))} |")


def _share(hits: np.ndarray) -> str:
    if not len(hits):
        return "–"
    share = float(hits.mean())
    return f"{100 * share:.1f} ± {100 * math.sqrt(share * (1 - share) / len(hits)):.1f}"


def main() -> None:
    options = parse_options()
    show(measure(find_pools(options), options.trials))


if __name__ == "__main__":
    main()
