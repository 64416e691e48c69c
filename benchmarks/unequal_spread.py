"""Simulate what Dunnett's test does if some systems vary more over the seeds than others.

    python benchmarks/unequal_spread.py [--trials 500]

All systems are equal, so every finding is false. The scores are normal. docs/statistics.md has the table, in the
section on systems that vary more than the others.
"""

from __future__ import annotations

import argparse
import math
from functools import partial

import numpy as np
from tabulate import tabulate

from wordorder.statistics.blocked import Blocked
from wordorder.statistics.distributions import dunnett_sf
from wordorder.statistics.resampling import Array

CASES = {"none": {}, "one, 2.5": {1: 2.5}, "one, 10": {1: 10.0}, "three, 5": {1: 5.0, 2: 5.0, 3: 5.0}}
"""How many systems vary more, and how many times as much; the baseline, system 0, never does."""


def finds(scores: Array, *, own: bool) -> bool:
    """Return whether Dunnett's test finds any system better or worse than system 0, with or without own variances."""
    k, n = scores.shape
    model = Blocked(tuple(map(str, range(k))), tuple(range(n)), scores, k)
    largest: dict[float, float] = {}
    for system in model.systems[1:]:
        error, nu = model.error(system, "0", None if own else {})
        largest[nu] = max(largest.get(nu, 0.0), abs(model.difference(system, "0")) / error)
    return any(dunnett_sf(t, k - 1, nu) < 0.05 for nu, t in largest.items())


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--trials", type=int, default=500, help="per row (default: 500)")
    trials = options.parse_args().trials
    random = np.random.default_rng(1)
    rows = []
    for case, factors in CASES.items():
        for k in (4, 10, 30):
            row = [case, k]
            for n in (2, 3, 5):
                deviations = np.ones((k, 1))
                for system, factor in factors.items():
                    deviations[system] = factor
                drawn = [random.normal(size=(k, n)) * deviations for _ in range(trials)]
                for own in (False, True):
                    share = np.mean([*map(partial(finds, own=own), drawn)])
                    row.append(f"{100 * share:.1f} ± {100 * math.sqrt(share * (1 - share) / trials):.1f}")
            rows.append(row)
            print(*row, sep=" | ", flush=True)
    heads = [f"{n} seeds, {how}" for n in (2, 3, 5) for how in ("one σ", "own σ")]
    print(tabulate(rows, ["vary more", "systems", *heads], tablefmt="github"))


if __name__ == "__main__":
    main()
