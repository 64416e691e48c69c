"""The pairs of source and target tokens that occur together in a sentence pair, with an index for each.

Both directions of translation keep their probabilities in arrays over these indices, so that one search finds both.

Most pairs occur in a single place of a text: 85 % of those of 400,000 generated sentence pairs. They follow the others,
because training needs no sums of counts for them; see :func:`wordorder.alignment.agreement.expect`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordorder.compiled import compiled
from wordorder.data.ragged import Ragged
from wordorder.data.units import UNKNOWN_UNIT

BLOCK = 100_000  # occurrences of source tokens between two moments at which a signal can stop the collection


class Lexicon(NamedTuple):
    """The target tokens seen with source token e.

    They are ``targets[rows[e]:rows[e + 1]]`` and ``targets[once[e]:once[e + 1]]``, each sorted. Unknown tokens have
    none.

    Attributes:
        rows: Start of the row of each source token, (source tokens + 1,).
        once: The same for pairs that occur in a single place, (source tokens + 1,). These pairs follow all others. A
            trained lexicon does not separate them and has no such pairs.
        targets: Target tokens of all pairs, (pairs,). The index in this array is the index of the pair.
        columns: Number of target tokens.
    """

    rows: NDArray[np.int64]
    once: NDArray[np.int64]
    targets: NDArray[np.int32]
    columns: int

    @classmethod
    def of(cls, rows: NDArray[np.int64], targets: NDArray[np.int32], columns: int) -> Lexicon:
        """Create a lexicon that does not separate pairs that occur once."""
        return cls(rows, np.full(len(rows), len(targets), np.int64), targets, columns)


def build_lexicon(source: Ragged, target: Ragged) -> Lexicon:
    """Collect the pairs. Time grows with the product of the lengths of each sentence pair, memory with the result."""
    sources = int(source.values.max(initial=0)) + 1
    columns = int(target.values.max(initial=0)) + 1
    places = np.argsort(source.values, kind="stable")
    bounds = np.searchsorted(source.values[places], np.arange(sources + 1)).astype(np.int64)
    sentences = np.repeat(np.arange(len(source)), source.lengths)[places]
    rows, once = np.zeros(sources + 1, np.int64), np.zeros(sources + 1, np.int64)
    firsts = np.searchsorted(bounds, np.arange(bounds[1], bounds[-1], BLOCK), "right") - 1
    blocks = list(pairwise([1, *np.unique(firsts).tolist(), sources]))

    def collect(targets: NDArray[np.int32]) -> Lexicon:
        lexicon = Lexicon(rows, once, targets, columns)
        for first, last in blocks:
            _collect(first, last, sentences, bounds, target.values, target.offsets, lexicon)
        return lexicon

    collect(np.empty(0, np.int32))
    np.cumsum(rows, out=rows)
    np.cumsum(once, out=once)
    once += rows[-1]
    return collect(np.empty(once[-1], np.int32))


@compiled
def _collect(
    first: int,
    last: int,
    sentences: NDArray[np.int64],
    bounds: NDArray[np.int64],
    values: NDArray[np.int32],
    offsets: NDArray[np.int64],
    lexicon: Lexicon,
) -> None:
    """Count the pairs of token e into ``rows[e + 1]`` and ``once[e + 1]``, or fill its rows if ``targets`` has room.

    Args:
        first: The first source token.
        last: The end of the source tokens, exclusive.
        sentences: Sentences of token e, at ``bounds[e]:bounds[e + 1]``.
        bounds: See ``sentences``.
        values: Tokens of the target side.
        offsets: Starts of the sentences of the target side.
        lexicon: Input and output, see above.
    """
    rows, once, targets, columns = lexicon
    filling = len(targets) > 0
    times = np.zeros(columns, np.int32)  # how often each target token was seen with token e, up to 2
    seen = np.empty(columns, np.int32)  # the tokens that were
    for e in range(first, last):
        count = 0
        for k in range(bounds[e], bounds[e + 1]):
            sentence = sentences[k]
            for place in range(offsets[sentence], offsets[sentence + 1]):
                f = values[place]
                if f == UNKNOWN_UNIT:
                    continue
                if times[f] == 0:
                    seen[count] = f
                    count += 1
                times[f] = min(times[f] + 1, 2)
        if filling:
            seen[:count].sort()
        single = 0
        for k in range(count):
            f = seen[k]
            if times[f] == 1:
                if filling:
                    targets[once[e] + single] = f
                single += 1
            elif filling:
                targets[rows[e] + k - single] = f
            times[f] = 0
        if not filling:
            rows[e + 1], once[e + 1] = count - single, single


@compiled
def find(lexicon: Lexicon, e: int, f: int) -> int:
    """Return the index of a pair, or -1 if it was never seen."""
    rows, once, targets, _ = lexicon
    if e >= len(rows) - 1:
        return -1
    number = _search(targets, rows[e], rows[e + 1], f)
    return number if number >= 0 else _search(targets, once[e], once[e + 1], f)


@compiled
def _search(targets: NDArray[np.int32], low: int, high: int, f: int) -> int:
    """Return the place of token f between ``low`` and ``high``, exclusive, where tokens are sorted, or -1."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if targets[middle] < f:
            low = middle + 1
        else:
            high = middle
    return low if low < end and targets[low] == f else -1


def likely(
    lexicon: Lexicon, forward: NDArray[np.float32], backward: NDArray[np.float32], floor: float
) -> tuple[Lexicon, NDArray[np.float32], NDArray[np.float32]]:
    """Keep the pairs with a probability above ``floor`` in either direction, which are few.

    Args:
        lexicon: The pairs.
        forward: Probabilities of the pairs in one direction, (pairs,).
        backward: Probabilities of the pairs in the other direction, (pairs,).
        floor: See above.

    Returns:
        The lexicon, which does not separate pairs that occur once, and their probabilities.
    """
    bound = np.float32(floor)
    rows = np.zeros_like(lexicon.rows)
    nothing, no_numbers = np.empty(0, np.int32), np.empty(0, np.float32)
    _keep(lexicon, forward, backward, bound, rows, nothing, no_numbers, no_numbers)
    np.cumsum(rows, out=rows)
    targets, one, other = (np.empty(rows[-1], kind) for kind in (np.int32, np.float32, np.float32))
    _keep(lexicon, forward, backward, bound, rows, targets, one, other)
    return Lexicon.of(rows, targets, lexicon.columns), one, other


@compiled
def _keep(
    lexicon: Lexicon,
    forward: NDArray[np.float32],
    backward: NDArray[np.float32],
    bound: np.float32,
    rows: NDArray[np.int64],
    targets: NDArray[np.int32],
    one: NDArray[np.float32],
    other: NDArray[np.float32],
) -> None:
    """Count the pairs of token e to keep into ``rows[e + 1]``, or fill its row, sorted, if ``targets`` has room."""
    filling = len(targets) > 0
    for e in range(len(rows) - 1):
        i, j = lexicon.rows[e], lexicon.once[e]
        ends = lexicon.rows[e + 1], lexicon.once[e + 1]
        count = 0
        while i < ends[0] or j < ends[1]:
            if j == ends[1] or (i < ends[0] and lexicon.targets[i] < lexicon.targets[j]):
                k = i
                i += 1
            else:
                k = j
                j += 1
            if forward[k] > bound or backward[k] > bound:
                if filling:
                    place = rows[e] + count
                    targets[place], one[place], other[place] = lexicon.targets[k], forward[k], backward[k]
                count += 1
        if not filling:
            rows[e + 1] = count
