"""Jump widths of the HMMs: each small width has its own weight, large widths share weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NEAR = 20  # largest width with its own weight; beyond, groups grow by half
FAR = 1000  # end of the last group, whose weight also applies to all larger jumps
SMOOTHING = 0.1  # share of a uniform distribution over all widths up to FAR


def _groups() -> list[tuple[int, int]]:
    """Return the first and last width of each group, from left to right."""
    far, first = [], NEAR + 1
    while first <= FAR:
        last = min(first * 3 // 2, FAR)
        far.append((first, last))
        first = last + 1
    left = [(-last, -first) for first, last in reversed(far)]
    return [*left, *((d, d) for d in range(-NEAR, NEAR + 1)), *far]


GROUPS = _groups()


def initial_weights() -> NDArray[np.float64]:
    """Return initial weights, one per group: steps to the next token are most likely, and far jumps unlikely."""
    centres = np.array([(first + last) / 2 for first, last in GROUPS])
    steps = 1 + np.abs(centres - 1)
    weights = 1 / (steps * steps)  # powers are rounded in several ways
    return np.asarray(weights / weights.sum(), np.float64)


def estimate_weights(widths: NDArray[np.int64]) -> NDArray[np.float64]:
    """Estimate one weight per group from the counts of jumps of each width d, at d + len(widths) // 2."""
    reach = len(widths) // 2
    total = widths.sum()
    if not total:
        return initial_weights()
    shares = [
        widths[max(first + reach, 0) : max(last + reach + 1, 0)].sum() / (last - first + 1) for first, last in GROUPS
    ]
    return np.asarray(np.array(shares) / total + SMOOTHING / (2 * FAR + 1), np.float64)


def spread(weights: NDArray[np.float64], reach: int) -> NDArray[np.float64]:
    """Return the weight of every width from -reach to reach, (2 · reach + 1,)."""
    ends = np.array([last for _, last in GROUPS])
    groups = np.searchsorted(ends, np.arange(-reach, reach + 1))
    return weights[np.minimum(groups, len(GROUPS) - 1)]
