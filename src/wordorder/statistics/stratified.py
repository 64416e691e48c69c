"""Differences over seeds and sentences at once, and the sources of their variance (Clark et al. 2011, multeval).

The outputs of R seeds per system for N sentences are R·N outputs. Under the null hypothesis, all systems give the same
outputs, so that those of one sentence may be shuffled across systems and seeds. The test makes no statement about other
seeds: if some seeds are better than others in all their sentences, it finds differences between two halves of one
system's seeds (docs/statistics.md has numbers). The t-test over seeds does not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wordorder.statistics.resampling import Array, Measure, interval, p_value

_CHUNK = 50  # shuffles at once, to limit memory


def stratified_randomisation(system: Array, baseline: Array, measure: Measure, *, samples: int, seed: int) -> float:
    """Compute the two-sided p-value of the difference of the scores of all outputs together.

    Each shuffle draws for every sentence which R of its 2R outputs belong to the system.

    Args:
        system: Statistics of the system, (R, N, K).
        baseline: Statistics of the baseline, (R, N, K).
        measure: The corpus score.
        samples: The number of shuffles.
        seed: The seed of the shuffles.

    Returns:
        The p-value.
    """
    seeds, segments, width = system.shape
    both = np.concatenate([system, baseline]).transpose(1, 0, 2)  # (N, 2R, K)
    flat, total = both.reshape(-1, width), both.sum(axis=(0, 1))
    observed = measure.of(system.reshape(-1, width)) - measure.of(baseline.reshape(-1, width))
    random = np.random.default_rng(seed)
    half = np.repeat([1.0, 0.0], seeds)
    chance: list[Array] = []
    for begin in range(0, samples, _CHUNK):
        shape = (min(_CHUNK, samples - begin), segments, 2 * seeds)
        taken = random.permuted(np.broadcast_to(half, shape), axis=-1).reshape(shape[0], -1)  # (B, N·2R)
        sums = taken @ flat
        chance.append(measure.scores(sums) - measure.scores(total - sums))
    return p_value(np.concatenate(chance), observed)


def spreads(system: Array, baseline: Array, resampled_system: Array, resampled_baseline: Array) -> dict[str, Any]:
    """Separate test-set and optimiser variance, as standard deviations of each system's score and of the difference.

    Args:
        system: The score of each seed, (R,).
        baseline: The score of each seed, (R,).
        resampled_system: The score of each seed and resample of the test set, (R, B).
        resampled_baseline: The same for the baseline, (R, B).

    Returns:
        ``optimiser_sd``, the standard deviation over seeds (None for one seed); ``test_set_sd``, that of the mean over
        seeds over resamples; ``test_set_interval``, the 95 % interval of the difference over resamples for these seeds.
    """
    differences = (resampled_system - resampled_baseline).mean(axis=0)
    of = {
        "system": (system, resampled_system.mean(axis=0)),
        "baseline": (baseline, resampled_baseline.mean(axis=0)),
        "difference": (system - baseline, differences),
    }
    found = {
        name: {
            "test_set_sd": float(resampled.std(ddof=1)),
            "optimiser_sd": float(scores.std(ddof=1)) if len(scores) > 1 else None,
        }
        for name, (scores, resampled) in of.items()
    }
    return {"test_set_interval": interval(differences), "spread": found}
