"""Noise in reordered positions, to learn what a better reorderer would be worth: pairs of positions of a sentence are
swapped (Ding, Wang and Tao 2020, "Self-Attention with Cross-Lingual Position Representation").

With the ratio r, a sentence of n tokens has r n / 2 swaps, at random rounded up or down so that this is their mean, of
as many pairs of tokens that have none in common. So 2 tokens are moved by every swap, and r of all tokens of a corpus
in the mean, except that a sentence cannot have more swaps than pairs: one of a single token has none.

The random numbers of a sentence depend on the seed and its number alone: shards can be made in any order.
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
    """The positions of each sentence with noise; the rows that come in stay as they are.

    ratio: 0 changes nothing, 0.2 is the most that the paper tries, 1 is the end. first: the number of the first row,
    from 0, in the whole corpus.
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
    """Random number ``index`` of a state, at least 0 and below 1."""
    return float(_mixed(state + np.uint64(index)) >> np.uint64(11)) * 2.0**-53


@compiled
def _mixed(number: np.uint64) -> np.uint64:
    """SplitMix64 (Steele, Lea and Flood 2014): neighbouring numbers give unrelated ones."""
    number = number + np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))
