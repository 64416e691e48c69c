"""A good reordering tree of a long sentence in O(k n²): Nakagawa's (2015) top-down beam search.

A hypothesis is a partial tree that starts at the root: its nodes, and the spans that are still to be split, leftmost
first. A step splits the first open span of each hypothesis in every way and keeps the k best of all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordorder.compiled import compiled
from wordorder.reordering.chart import Nodes, no_target, score_splits
from wordorder.reordering.features import LABELS, ROOT, Tables, Weights


@compiled
def beam_tree(tables: Tables, width: int, nodes: Nodes) -> np.float32:
    """Find a tree with ``width`` hypotheses, and write its nodes to ``nodes`` (length - 1, 5).

    Hypotheses of equal score are sorted by their parents, then straight before inverted, then by the smallest pivot.

    Returns:
        The score of the tree.
    """
    length = tables.span.shape[1]
    if length < 2:
        return np.float32(0)
    # Open spans, linked to the next one; nodes, linked to the node before. Hypotheses share them.
    spans = np.empty((1 + 2 * width * (length - 1), 4), dtype=np.int64)  # begin, end, context, next
    splits = np.empty((width * (length - 1), 6), dtype=np.int64)  # a node and the previous one
    _put_span(spans, 0, 0, length, ROOT, -1)
    used = 1
    scores = np.zeros(width, dtype=np.float32)
    heads = np.zeros((width, 2), dtype=np.int64)  # for each hypothesis its first open span and its last node
    heads[0, 1] = -1
    count = 1
    kept_scores = np.empty(width, dtype=np.float32)
    kept = np.empty((width, 3), dtype=np.int64)  # hypothesis, label, pivot
    rows = np.empty((width, LABELS, length), dtype=np.float32)
    new_heads = np.empty_like(heads)

    for step in range(length - 1):
        found = 0
        for hypothesis in range(count):
            begin, end, context, _ = _get_span(spans, heads[hypothesis, 0])
            row = _split_scores(tables, spans, heads, hypothesis, rows)
            for label in range(LABELS):
                if context == ROOT:
                    known = scores[hypothesis] + tables.root_span[label]
                    by_pivot = tables.root_pivot[label]
                else:
                    known = scores[hypothesis] + tables.span[LABELS * context + label, begin, end]
                    by_pivot = tables.context_pivot[LABELS * context + label]
                for pivot in range(begin + 1, end):
                    score = known + (row[label, pivot - begin - 1] + by_pivot[pivot])
                    if found == width and score <= kept_scores[width - 1]:
                        continue
                    found = min(found + 1, width)
                    place = found - 1
                    while place and kept_scores[place - 1] < score:
                        _put_split(
                            kept,
                            kept_scores,
                            place,
                            kept[place - 1, 0],
                            kept[place - 1, 1],
                            kept[place - 1, 2],
                            kept_scores[place - 1],
                        )
                        place -= 1
                    _put_split(kept, kept_scores, place, hypothesis, label, pivot, score)
        for place in range(found):
            hypothesis, label, pivot = kept[place, 0], kept[place, 1], kept[place, 2]
            begin, end, context, rest = _get_span(spans, heads[hypothesis, 0])
            split = step * width + place
            splits[split, 0], splits[split, 1], splits[split, 2] = begin, pivot, end
            splits[split, 3], splits[split, 4], splits[split, 5] = label, context, heads[hypothesis, 1]
            if end - pivot > 1:
                _put_span(spans, used, pivot, end, LABELS * label + 1, rest)
                rest = used
                used += 1
            if pivot - begin > 1:
                _put_span(spans, used, begin, pivot, LABELS * label, rest)
                rest = used
                used += 1
            new_heads[place, 0], new_heads[place, 1] = rest, split
        heads, new_heads = new_heads, heads
        scores, kept_scores = kept_scores, scores
        count = found

    split = heads[0, 1]
    for index in range(length - 2, -1, -1):
        for column in range(5):
            nodes[index, column] = splits[split, column]
        split = splits[split, 5]
    best: np.float32 = scores[0]
    return best


@compiled
def _get_span(spans: NDArray[np.int64], place: int) -> tuple[int, int, int, int]:
    return spans[place, 0], spans[place, 1], spans[place, 2], spans[place, 3]


@compiled
def _put_span(spans: NDArray[np.int64], place: int, begin: int, end: int, context: int, rest: int) -> None:
    spans[place, 0], spans[place, 1], spans[place, 2], spans[place, 3] = begin, end, context, rest


@compiled
def _put_split(
    kept: NDArray[np.int64], scores: Weights, place: int, hypothesis: int, label: int, pivot: int, score: np.float32
) -> None:
    kept[place, 0], kept[place, 1], kept[place, 2], scores[place] = hypothesis, label, pivot, score


@compiled
def _split_scores(
    tables: Tables, spans: NDArray[np.int64], heads: NDArray[np.int64], hypothesis: int, rows: Weights
) -> Weights:
    """Compute the scores of all splits of the first open span, without those of its context, (2, pivots)."""
    begin, end = spans[heads[hypothesis, 0], 0], spans[heads[hypothesis, 0], 1]
    row: Weights = rows[hypothesis]
    for other in range(hypothesis):  # Many hypotheses have the same first open span.
        if spans[heads[other, 0], 0] == begin and spans[heads[other, 0], 1] == end:
            same: Weights = rows[other]
            return same
    target = no_target()
    for pivot in range(begin + 1, end):
        score_splits(tables, target, begin, pivot, end, end + 1, row[:, pivot - begin - 1 :])
    return row
