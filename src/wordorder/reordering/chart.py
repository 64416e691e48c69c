"""The best reordering tree of a sentence, found exactly in O(n³) (Cocke, Younger and Kasami's chart).

best[context, begin, end] is the score of the best tree over a span whose parent has that context. There are four
contexts: twice the parent's label plus the side. Spans grow to the left: once all spans that begin at begin + 1 or
later are known, every pivot adds its scores to all ends at once, so that the inner loops run over adjacent memory. The
best pivot is not stored but recomputed for the few spans of the best tree.

The same chart finds the best of all trees, the best tree that fits ranks, and the best tree with the loss added.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordorder.compiled import compiled
from wordorder.reordering.features import CONTEXTS, FIRST, FIRST_RIGHT, LABELS, LAST, LAST_LEFT, ROOT, Tables, Weights

Nodes = NDArray[np.int32]  # (length - 1, 5): begin, pivot, end, label, context; a parent first, its left half next

_PAIR = np.uint64(2**64 - LABELS)
_NEVER = np.float32(-np.inf)
_ZERO = np.float32(0)

FREE, FITTING, LOSS = 0, 1, 2


class Target(NamedTuple):
    """The ranks that a tree should fit, and their use.

    Attributes:
        mode: FREE ignores the ranks. FITTING allows straight nodes if no rank of the left half exceeds one of the right
            half, inverted nodes in the opposite case. LOSS adds ``cost`` for each discordant pair of tokens.
        lowest: The smallest rank of each span, (length, length + 1); tokens of rank -1 do not count.
        highest: The largest rank of each span, (length, length + 1).
        descents: How many of the first i tokens have a higher rank than how many of the first j tokens, for LOSS,
            (length + 1, length + 1).
        ascents: The same for lower ranks.
        cost: Cost of a discordant pair.
    """

    mode: int
    lowest: NDArray[np.int32]
    highest: NDArray[np.int32]
    descents: Weights
    ascents: Weights
    cost: np.float32


@compiled
def no_target() -> Target:
    """Create a target that ignores ranks."""
    empty, none = np.empty((0, 0), dtype=np.int32), np.empty((0, 0), dtype=np.float32)
    return Target(FREE, empty, empty, none, none, _ZERO)


@compiled
def rank_target(ranks: NDArray[np.int32], mode: int, cost: np.float32) -> Target:
    """Create a target from ranks."""
    length = len(ranks)
    lowest = np.empty((length, length + 1), dtype=np.int32)
    highest = np.empty((length, length + 1), dtype=np.int32)
    for begin in range(length):
        low, high = np.int32(length), np.int32(-1)
        for end in range(begin + 1, length + 1):
            rank = ranks[end - 1]
            if rank >= 0:
                low, high = min(low, rank), max(high, rank)
            lowest[begin, end] = low
            highest[begin, end] = high
    size = length + 1 if mode == LOSS else 0
    descents, ascents = np.zeros((size, size), dtype=np.float32), np.zeros((size, size), dtype=np.float32)
    for i in range(1, size):
        for j in range(1, size):
            first, second = ranks[i - 1], ranks[j - 1]
            known = first >= 0 and second >= 0
            descents[i, j] = descents[i - 1, j] + descents[i, j - 1] - descents[i - 1, j - 1]
            ascents[i, j] = ascents[i - 1, j] + ascents[i, j - 1] - ascents[i - 1, j - 1]
            if known and first > second:
                descents[i, j] += np.float32(1)
            if known and first < second:
                ascents[i, j] += np.float32(1)
    return Target(mode, lowest, highest, descents, ascents, cost)


@compiled
def score_splits(tables: Tables, target: Target, begin: int, pivot: int, first: int, last: int, sums: Weights) -> None:
    """Write the scores of the nodes (begin, pivot, end) for ``first`` <= end < ``last`` to ``sums`` (2, ends).

    The scores are for both labels, without the parts that depend on the context, and without the halves below.
    """
    ends = last - first
    for label in range(LABELS):
        out = sums[label, :ends]
        known = tables.begin_pivot[label, begin, pivot]
        row = tables.pivot_end[label, pivot, first:last]
        sizes = tables.halves[label, pivot - begin, first - pivot : last - pivot]
        for i in range(ends):
            out[i] = known + row[i] + sizes[i]
    straight, inverted = sums[0, :ends], sums[1, :ends]
    for kind in range(len(tables.units)):
        units = tables.units[kind]
        three = units[begin + 1] * FIRST + units[pivot] * LAST_LEFT + units[pivot + 1] * FIRST_RIGHT
        lasts = units[first:last]
        for i in range(ends):
            index = ((three + lasts[i] * LAST) >> tables.shift) & _PAIR
            straight[i] += tables.weights[index]
            inverted[i] += tables.weights[index + np.uint64(1)]
    if target.mode == FITTING:
        low, high = target.lowest[begin, pivot], target.highest[begin, pivot]
        lows, highs = target.lowest[pivot, first:last], target.highest[pivot, first:last]
        for i in range(ends):
            straight[i] = straight[i] if high <= lows[i] else _NEVER
            inverted[i] = inverted[i] if low >= highs[i] else _NEVER
    elif target.mode == LOSS:
        for label in range(LABELS):
            pairs = target.descents if label == 0 else target.ascents
            out = sums[label, :ends]
            upper, lower = pairs[pivot, first:last], pairs[begin, first:last]
            corner = pairs[pivot, pivot] - pairs[begin, pivot]
            for i in range(ends):
                out[i] += target.cost * (upper[i] - lower[i] - corner)


@compiled
def fill_chart(tables: Tables, target: Target) -> Weights:
    """Compute the best score of all spans, (4, length, length + 1); -inf if no tree fits."""
    length = tables.span.shape[1]
    best = np.empty((CONTEXTS, length, length + 1), dtype=np.float32)
    sums = np.empty((LABELS, length), dtype=np.float32)
    through = np.empty((LABELS * CONTEXTS, length + 1), dtype=np.float32)
    for begin in range(length - 1, -1, -1):
        for context in range(CONTEXTS):
            best[context, begin, begin + 1] = _ZERO
        through.fill(_NEVER)
        for pivot in range(begin + 1, length):
            if pivot > begin + 1:
                _finish_span(tables, through, best, begin, pivot)
            if best[0, begin, pivot] == _NEVER and best[LABELS, begin, pivot] == _NEVER:
                continue
            ends = length - pivot
            score_splits(tables, target, begin, pivot, pivot + 1, length + 1, sums)
            for label in range(LABELS):
                row = sums[label, :ends]
                left = best[LABELS * label, begin, pivot]
                right = best[LABELS * label + 1, pivot, pivot + 1 :]
                for i in range(ends):
                    row[i] = (row[i] + left) + right[i]
                for context in range(CONTEXTS):
                    which = LABELS * context + label
                    known = tables.context_pivot[which, pivot]
                    out = through[which, pivot + 1 :]
                    for i in range(ends):
                        score = row[i] + known
                        out[i] = score if score > out[i] else out[i]
        if begin < length - 1:
            _finish_span(tables, through, best, begin, length)
    return best


@compiled
def _finish_span(tables: Tables, through: Weights, best: Weights, begin: int, end: int) -> None:
    for context in range(CONTEXTS):
        which = LABELS * context
        straight = through[which, end] + tables.span[which, begin, end]
        inverted = through[which + 1, end] + tables.span[which + 1, begin, end]
        best[context, begin, end] = straight if straight >= inverted else inverted


@compiled
def _best_split(
    tables: Tables, target: Target, best: Weights, begin: int, end: int, context: int, sums: Weights
) -> tuple[np.float32, int, int]:
    """Find score, pivot and label of the best tree over a span; ties prefer straight, then the smallest pivot."""
    scores = np.full(LABELS, _NEVER, dtype=np.float32)
    pivots = np.zeros(LABELS, dtype=np.int64)
    for pivot in range(begin + 1, end):
        score_splits(tables, target, begin, pivot, end, end + 1, sums)
        for label in range(LABELS):
            score = (sums[label, 0] + best[LABELS * label, begin, pivot]) + best[LABELS * label + 1, pivot, end]
            if context == ROOT:
                score += tables.root_pivot[label, pivot]
            else:
                score += tables.context_pivot[LABELS * context + label, pivot]
            if score > scores[label]:
                scores[label], pivots[label] = score, pivot
    for label in range(LABELS):
        if context == ROOT:
            scores[label] += tables.root_span[label]
        else:
            scores[label] += tables.span[LABELS * context + label, begin, end]
    label = 1 if scores[1] > scores[0] else 0
    return scores[label], pivots[label], label


@compiled
def best_tree(tables: Tables, target: Target, nodes: Nodes) -> np.float32:
    """Find the best tree, and write its nodes to ``nodes`` (length - 1, 5).

    A sentence of fewer than two tokens has no nodes.

    Returns:
        The score, -inf if no tree fits.
    """
    length = tables.span.shape[1]
    if length < 2:
        return _ZERO
    best = fill_chart(tables, target)
    sums = np.empty((LABELS, 1), dtype=np.float32)
    open_spans = np.empty((length, 3), dtype=np.int64)
    _put_span(open_spans, 0, 0, length, ROOT)
    count, done = 1, 0
    total = _ZERO
    while count:
        count -= 1
        begin, end, context = open_spans[count, 0], open_spans[count, 1], open_spans[count, 2]
        score, pivot, label = _best_split(tables, target, best, begin, end, context, sums)
        if context == ROOT:
            total = score
            if score == _NEVER:
                break
        nodes[done, 0], nodes[done, 1], nodes[done, 2], nodes[done, 3], nodes[done, 4] = (
            begin,
            pivot,
            end,
            label,
            context,
        )
        done += 1
        if end - pivot > 1:
            _put_span(open_spans, count, pivot, end, LABELS * label + 1)
            count += 1
        if pivot - begin > 1:
            _put_span(open_spans, count, begin, pivot, LABELS * label)
            count += 1
    return total


# Values are set one by one here and elsewhere, because numba compiles the assignment of a row slowly.
@compiled
def _put_span(spans: NDArray[np.int64], place: int, begin: int, end: int, context: int) -> None:
    spans[place, 0] = begin
    spans[place, 1] = end
    spans[place, 2] = context


@compiled
def tree_order(nodes: Nodes, order: NDArray[np.int32]) -> None:
    """Write the tokens in target order to ``order`` (length,)."""
    swapped = np.empty_like(order)
    for unit in range(len(order)):
        order[unit] = unit
    for index in range(len(order) - 2, -1, -1):  # halves before their parent
        begin, pivot, end, label = nodes[index, 0], nodes[index, 1], nodes[index, 2], nodes[index, 3]
        if label:
            for unit in range(begin, end):
                swapped[unit] = order[unit]
            for unit in range(begin, pivot):
                order[unit + end - pivot] = swapped[unit]
            for unit in range(pivot, end):
                order[unit - pivot + begin] = swapped[unit]
