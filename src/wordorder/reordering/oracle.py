"""The tree of a source sentence that fits its links best: a derivation of bracketing transduction grammar (Wu 1997).

The target position of a linked token is the mean of its targets. Two tokens are discordant if the tree orders them
differently. Among all binary trees over the sentence, with straight and inverted nodes, the one with the fewest
discordant pairs is found exactly, in O(n^3), since each pair is ordered by only one node, the lowest that contains
both. It has none if the links are a BTG permutation; 2413 and 3142 are the smallest permutations that are not.

Links leave much undetermined, and each choice is fixed:

- A token without links is attached to its left or right neighbour (``nulls``) and stays after or before it. If there is
  no linked token on that side, it is attached to the one on the other side. A sentence without links stays unchanged.
- Tokens with the same mean are in neither order. Of two trees with equal numbers of discordant pairs, the one that
  swaps fewer such pairs is better.
- In the remaining ties, a straight node precedes an inverted one, and a shorter left half a longer one. So a run of
  nodes of one kind always branches to the right, [ 0 [ 1 2 ] ], as English phrases mostly do. Links cannot distinguish
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

_BLOCK = 1 << 12  # sentences per batch

# A tree is a row of numbers: leaves, and brackets as negative numbers that index this tuple from its end.
_SYMBOLS = (">", "<", "]", "[")
_OPEN, _CLOSE, _OPEN_INVERTED, _CLOSE_INVERTED = -1, -2, -3, -4


@dataclass(frozen=True, slots=True)
class OracleTree:
    """A tree and its order.

    Attributes:
        order: The source tokens in target order, (length,).
        discordant: The number of discordant pairs of tokens.
    """

    order: NDArray[np.int32]
    discordant: int
    _tokens: NDArray[np.int32]

    @property
    def text(self) -> str:
        """The tree as a line of :mod:`wordorder.data.trees`; an empty line for an empty sentence."""
        return " ".join([str(token) if token >= 0 else _SYMBOLS[token] for token in self._tokens.tolist()])


@dataclass
class OracleReport:
    """Counts of the oracle: ``pairs`` of linked tokens; ``not_btg``, sentences with ``discordant`` pairs."""

    sentences: int = 0
    without_links: int = 0
    not_btg: int = 0
    pairs: int = 0
    discordant: int = 0


def oracle_trees(
    links: Links, lengths: NDArray[np.int64], *, nulls: Nulls = "left", report: OracleReport | None = None
) -> Iterator[OracleTree]:
    """Find the tree of each sentence.

    Args:
        links: The links.
        lengths: Lengths of the source sentences, (sentences,).
        nulls: The side to which tokens without links are attached.
        report: Counts to update.

    Yields:
        The trees.
    """
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
    """Group each linked token with the tokens attached to it, and return the number of groups.

    Group g holds the tokens edges[g] to edges[g + 1], and means[g] is the mean of its targets; equal means are equal
    bits.
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
    """Find the split of each span [b, e), k for a straight node and -k for an inverted one.

    Args:
        means: Target positions of the groups, (n,).
        pivots: Output, (n + 1, n + 1), for all spans of two or more groups.

    Returns:
        The number of discordant pairs.
    """
    n = len(means)
    unit = n * n  # cost of a discordant pair, more than all swapped ties together
    # Sums over all pairs of the first i tokens with the first j: the cost of keeping their order, and of swapping.
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
            # The units of a group are a run, which continues to the right of the group in a straight node.
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
