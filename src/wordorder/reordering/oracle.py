"""The tree of a source sentence that fits its links best: a derivation of bracketing transduction grammar (Wu 1997).

Units that have links stand in the target at the mean of their targets. Two of them are discordant where the tree orders
them otherwise. Among all binary trees over the sentence, of straight and inverted nodes, the one with the fewest
discordant pairs is found exactly, in O(n^3), since each pair is ordered by one node alone, the lowest that has both. It
has none where the links are a BTG permutation; 2413 and 3142 are the smallest that are none.

Links leave much open, and each choice is fixed:

- A unit without links keeps to its left or right neighbour (``nulls``), after or before it wherever that goes; where
  the sentence has no unit with links on that side, to the one on the other. A sentence without links stays as it is.
- Units with the same mean are in neither order. Of two trees with as many discordant pairs, the one that swaps fewer
  such pairs is better.
- Of what is still equal, a straight node comes before an inverted one, and a shorter left half before a longer. So a
  run of nodes of one kind always branches to the right, [ 0 [ 1 2 ] ], as English phrases mostly do: links cannot tell
  it from [ [ 0 1 ] 2 ], and every order of a BTG has one tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wordorder.alignment.links import Links
from wordorder.compiled import compiled
from wordorder.reordering.ranks import check_links

Nulls = Literal["left", "right"]

_BLOCK = 1 << 12  # sentences that are worked on at once

# A tree is a row of numbers: leaves, and brackets as negative ones that index this tuple from its end.
_SYMBOLS = (">", "<", "]", "[")
_OPEN, _CLOSE, _OPEN_INVERTED, _CLOSE_INVERTED = -1, -2, -3, -4


@dataclass(frozen=True, slots=True)
class OracleTree:
    """order: (length,), the source units in target order; discordant: the pairs of units that it still gets wrong."""

    order: NDArray[np.int32]
    discordant: int
    _tokens: NDArray[np.int32]

    @property
    def text(self) -> str:
        """The tree as a line of :mod:`wordorder.data.trees`; an empty line for an empty sentence."""
        return " ".join([str(token) if token >= 0 else _SYMBOLS[token] for token in self._tokens.tolist()])


@dataclass
class OracleReport:
    """What the oracle saw. ``pairs`` are those of units with links; ``not_btg`` sentences have ``discordant`` ones."""

    sentences: int = 0
    without_links: int = 0
    not_btg: int = 0
    pairs: int = 0
    discordant: int = 0


def oracle_trees(
    links: Links, lengths: NDArray[np.int64], *, nulls: Nulls = "left", report: OracleReport | None = None
) -> Iterator[OracleTree]:
    """The tree of each sentence. lengths: (sentences,), of the source. ``report`` is counted up on the way."""
    check_links(links, lengths)
    report = OracleReport() if report is None else report
    for first in range(0, len(lengths), _BLOCK):
        part = lengths[first : first + _BLOCK]
        order_ends = np.cumsum(part)
        token_ends = np.cumsum(np.maximum(3 * part - 2, 0))  # n leaves and two brackets for each of n - 1 nodes
        orders = np.empty(order_ends[-1], dtype=np.int32)
        tokens = np.empty(token_ends[-1], dtype=np.int32)
        counts = np.empty((len(part), 2), dtype=np.int64)
        offsets = links.offsets[first : first + len(part) + 1]
        _find_trees(
            links.source, links.target, offsets, nulls == "right", orders, order_ends, tokens, token_ends, counts
        )
        linked, discordant = counts.T
        report.sentences += len(part)
        report.without_links += int(np.sum(linked == 0))
        report.not_btg += int(np.sum(discordant > 0))
        report.pairs += int(np.sum(linked * (linked - 1) // 2))
        report.discordant += int(discordant.sum())
        rows = (np.split(array, ends[:-1]) for array, ends in ((orders, order_ends), (tokens, token_ends)))
        for order, wrong, row in zip(next(rows), discordant.tolist(), next(rows), strict=True):
            yield OracleTree(order, wrong, row)


@compiled
def _find_trees(
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    link_offsets: NDArray[np.int64],
    nulls_right: bool,
    orders: NDArray[np.int32],
    order_ends: NDArray[np.int64],
    tokens: NDArray[np.int32],
    token_ends: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    order_begin = token_begin = 0
    for sentence in range(len(counts)):
        begin, end = link_offsets[sentence], link_offsets[sentence + 1]
        order = orders[order_begin : order_ends[sentence]]
        row = tokens[token_begin : token_ends[sentence]]
        order_begin, token_begin = order_ends[sentence], token_ends[sentence]
        means = np.empty(len(order), dtype=np.float64)
        edges = np.empty(len(order) + 1, dtype=np.int64)
        groups = _group(source[begin:end], target[begin:end], nulls_right, means, edges)
        counts[sentence, 0] = groups
        counts[sentence, 1] = 0
        if groups:
            pivots = np.empty((groups + 1, groups + 1), dtype=np.int64)
            counts[sentence, 1] = _best_pivots(means[:groups], pivots)
            _write_tree(pivots, edges[: groups + 1], order, row)
        elif len(order):
            edges[0], edges[1] = 0, len(order)
            _write_tree(np.empty((2, 2), dtype=np.int64), edges[:2], order, row)


@compiled
def _group(
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    nulls_right: bool,
    means: NDArray[np.float64],
    edges: NDArray[np.int64],
) -> int:
    """Return the number of units with links. Together with the units that keep to it, each is a group.

    Group g is the units edges[g] to edges[g + 1], and means[g] the mean of its targets; equal means are equal bits.
    """
    length = len(means)
    sums = np.zeros(length, dtype=np.int64)
    counts = np.zeros(length, dtype=np.int64)
    for link in range(len(source)):
        sums[source[link]] += target[link]
        counts[source[link]] += 1
    groups = 0
    for unit in range(length):
        if counts[unit]:
            means[groups] = sums[unit] / counts[unit]
            edges[groups + nulls_right] = unit + nulls_right
            groups += 1
    edges[0], edges[groups] = 0, length
    return groups


@compiled
def _best_pivots(means: NDArray[np.float64], pivots: NDArray[np.int64]) -> int:
    """Find where each span [b, e) is cut, k in a straight node and -k in an inverted one; return the discordant pairs.

    means: (n,); pivots: (n + 1, n + 1), filled for all spans of two groups or more.
    """
    n = len(means)
    unit = n * n  # of a discordant pair, more than all swapped ties together
    # Sums over all pairs of the first i units with the first j: what it costs to keep them in order, and to swap them.
    keep = np.zeros((n + 1, n + 1), dtype=np.int64)
    swap = np.zeros((n + 1, n + 1), dtype=np.int64)
    for i in range(n):
        row_keep = row_swap = 0
        for j in range(n):
            row_keep += unit * (means[i] > means[j])
            row_swap += unit * (means[i] < means[j]) + (means[i] == means[j])
            keep[i + 1, j + 1] = keep[i, j + 1] + row_keep
            swap[i + 1, j + 1] = swap[i, j + 1] + row_swap

    best = np.zeros((n + 1, n + 1), dtype=np.int64)
    for b in range(n - 2, -1, -1):
        for e in range(b + 2, n + 1):
            straight = inverted = np.int64(1) << 62
            straight_pivot = inverted_pivot = 0
            for k in range(b + 1, e):
                halves = best[b, k] + best[k, e]
                cost = halves + keep[k, e] - keep[b, e] - keep[k, k] + keep[b, k]
                if cost < straight:
                    straight, straight_pivot = cost, k
                cost = halves + swap[k, e] - swap[b, e] - swap[k, k] + swap[b, k]
                if cost < inverted:
                    inverted, inverted_pivot = cost, k
            best[b, e] = min(straight, inverted)
            pivots[b, e] = straight_pivot if straight <= inverted else -inverted_pivot
    return int(best[0, n] // unit)


@compiled
def _write_tree(
    pivots: NDArray[np.int64], edges: NDArray[np.int64], order: NDArray[np.int32], tokens: NDArray[np.int32]
) -> None:
    """Write the tree and its order."""
    # A stack of spans of groups, each with the place of its first unit in the order, and of brackets to close: the
    # bracket, how many, 0.
    stack = np.empty((2 * len(edges) + 2, 3), dtype=np.int64)
    _push(stack, 0, 0, len(edges) - 1, 0)
    depth, written = 1, 0
    while depth:
        depth -= 1
        begin, end, place = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        if begin < 0:
            for _ in range(end):
                tokens[written] = begin
                written += 1
            continue
        alone = end - begin == 1
        pivot = begin if alone else pivots[begin, end]
        if pivot < 0:
            tokens[written] = _OPEN_INVERTED
            written += 1
            _push(stack, depth, _CLOSE_INVERTED, 1, 0)
            _push(stack, depth + 1, -pivot, end, place)
            _push(stack, depth + 2, begin, -pivot, place + edges[end] - edges[-pivot])
            depth += 3
        elif pivot > begin + 1:
            tokens[written] = _OPEN
            written += 1
            _push(stack, depth, _CLOSE, 1, 0)
            _push(stack, depth + 1, pivot, end, place + edges[pivot] - edges[begin])
            _push(stack, depth + 2, begin, pivot, place)
            depth += 3
        else:
            # The units of a group are a run, which goes on to the right of the group in a straight node.
            units = edges[begin + 1] - edges[begin]
            for unit in range(edges[begin], edges[begin + 1]):
                order[place + unit - edges[begin]] = unit
                if not alone or unit + 1 < edges[end]:
                    tokens[written] = _OPEN
                    written += 1
                tokens[written] = unit
                written += 1
            _push(stack, depth, _CLOSE, units - 1 if alone else units, 0)
            depth += 1
            if not alone:
                _push(stack, depth, pivot, end, place + units)
                depth += 1


@compiled
def _push(stack: NDArray[np.int64], depth: int, first: int, second: int, third: int) -> None:
    stack[depth, 0], stack[depth, 1], stack[depth, 2] = first, second, third
