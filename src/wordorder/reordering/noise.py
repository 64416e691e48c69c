"""Noise in reordered positions: random swaps of pairs of positions, to estimate the value of a better reorderer.

Source: Ding, Wang and Tao 2020, "Self-Attention with Cross-Lingual Position Representation". With the ratio r, a
sentence of n tokens has r n / 2 swaps, rounded up or down at random so that this is their mean. The pairs of a sentence
are disjoint. Every swap moves 2 tokens, so on average the share r of all tokens of a corpus moves, except that a
sentence cannot have more swaps than pairs: a single token has none.

The random numbers of a sentence depend only on the seed and its index, so shards can be made in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from wordorder.compiled import compiled
from wordorder.data.arrays import Integers


def noisy(
    rows: Iterable[Sequence[int] | Integers], ratio: float, seed: int, *, first: int = 0
) -> Iterator[NDArray[np.int64]]:
    """Add noise to the positions of each sentence; the given rows do not change.

    Args:
        rows: Positions of each sentence.
        ratio: Share of swapped positions, from 0 to 1; the paper tries up to 0.2.
        seed: The random seed.
        first: Index of the first row, from 0, in the whole corpus.

    Yields:
        The positions with noise.
    """
    if not 0 <= ratio <= 1:
        raise ValueError(f"a noise ratio of {ratio}; it is a share of all positions, from 0 to 1")
    if seed < 0:
        raise ValueError(f"a seed of {seed}; it must not be negative")
    return _noisy(rows, float(ratio), seed, first)


def _noisy(
    rows: Iterable[Sequence[int] | Integers], ratio: float, seed: int, first: int
) -> Iterator[NDArray[np.int64]]:
    for sentence, row in enumerate(rows, start=first):
        positions = np.array(row, dtype=np.int64)
        _swap_pairs(positions, ratio, seed, sentence)
        yield positions


@compiled
def _swap_pairs(positions: NDArray[np.int64], ratio: float, seed: int, sentence: int) -> None:
    length = len(positions)
    state = _mixed(_mixed(np.uint64(seed)) + np.uint64(sentence))
    swaps = min(int(ratio * length / 2 + _uniform(state, 0)), length // 2)
    # The first 2 * swaps of a random order of the tokens (Fisher and Yates), in pairs.
    tokens = np.arange(length)
    for place in range(2 * swaps):
        other = place + int(_uniform(state, 1 + place) * (length - place))
        tokens[place], tokens[other] = tokens[other], tokens[place]
    for place in range(0, 2 * swaps, 2):
        one, two = tokens[place], tokens[place + 1]
        positions[one], positions[two] = positions[two], positions[one]


@compiled
def _uniform(state: np.uint64, index: int) -> float:
    """Compute random number ``index`` of a state, at least 0 and below 1."""
    return float(_mixed(state + np.uint64(index)) >> np.uint64(11)) * 2.0**-53


@compiled
def _mixed(number: np.uint64) -> np.uint64:
    """Apply SplitMix64 (Steele, Lea and Flood 2014), which maps neighbouring numbers to unrelated ones."""
    number = number + np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))
