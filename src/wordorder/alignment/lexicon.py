"""The pairs of source and target tokens that occur together in a sentence pair, with an index for each.

Both directions of translation keep their probabilities in arrays over these indices, so that one search finds both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordorder.compiled import compiled
from wordorder.data.ragged import Ragged
from wordorder.data.units import UNKNOWN_UNIT


class Lexicon(NamedTuple):
    """The target tokens seen with source token e are ``targets[rows[e]:rows[e + 1]]``, sorted.

    Unknown tokens have none.

    Attributes:
        rows: Start of the row of each source token, (source tokens + 1,).
        targets: Target tokens of all pairs, (pairs,). The index in this array is the index of the pair.
        columns: Number of target tokens.
    """

    rows: NDArray[np.int64]
    targets: NDArray[np.int32]
    columns: int


def build_lexicon(source: Ragged, target: Ragged) -> Lexicon:
    """Collect the pairs. Time grows with the product of the lengths of each sentence pair, memory with the result."""
    sources = int(source.values.max(initial=0)) + 1
    columns = int(target.values.max(initial=0)) + 1
    places = np.argsort(source.values, kind="stable")
    bounds = np.searchsorted(source.values[places], np.arange(sources + 1)).astype(np.int64)
    sentences = np.repeat(np.arange(len(source)), source.lengths)[places]
    rows = np.zeros(sources + 1, np.int64)
    nothing = np.empty(0, np.int32)
    _collect(sentences, bounds, target.values, target.offsets, columns, rows, nothing)
    np.cumsum(rows, out=rows)
    targets = np.empty(rows[-1], np.int32)
    _collect(sentences, bounds, target.values, target.offsets, columns, rows, targets)
    return Lexicon(rows, targets, columns)


@compiled
def _collect(
    sentences: NDArray[np.int64],
    bounds: NDArray[np.int64],
    values: NDArray[np.int32],
    offsets: NDArray[np.int64],
    columns: int,
    rows: NDArray[np.int64],
    targets: NDArray[np.int32],
) -> None:
    """Count the pairs of token e into ``rows[e + 1]``, or fill its row if ``targets`` has room.

    Args:
        sentences: Sentences of token e, at ``bounds[e]:bounds[e + 1]``.
        bounds: See ``sentences``.
        values: Tokens of the target side.
        offsets: Starts of the sentences of the target side.
        columns: Number of target tokens.
        rows: Input or output, see above.
        targets: Output, see above.
    """
    filling = len(targets) > 0
    seen = np.full(columns, -1, np.int64)
    for e in range(1, len(bounds) - 1):
        count = 0
        for k in range(bounds[e], bounds[e + 1]):
            sentence = sentences[k]
            for place in range(offsets[sentence], offsets[sentence + 1]):
                f = values[place]
                if f != UNKNOWN_UNIT and seen[f] != e:
                    seen[f] = e
                    if filling:
                        targets[rows[e] + count] = f
                    count += 1
        if filling:
            targets[rows[e] : rows[e] + count].sort()
        else:
            rows[e + 1] = count


@compiled
def find(rows: NDArray[np.int64], targets: NDArray[np.int32], e: int, f: int) -> int:
    """Return the index of a pair, or -1 if it was never seen."""
    if e >= len(rows) - 1:
        return -1
    low, high = rows[e], rows[e + 1]
    end = high
    while low < high:
        middle = (low + high) >> 1
        if targets[middle] < f:
            low = middle + 1
        else:
            high = middle
    return low if low < end and targets[low] == f else -1
