"""Ranks: the order that links imply for the tokens of a source sentence.

Source: Nakagawa 2015, "Efficient Top-Down BTG Parsing for Machine Translation Preordering", section 3.2. Token i is not
after token j, i <= j, if and only if every target of i that j lacks is left of all targets of j, and every target of j
that i lacks is right of all targets of i. Tokens with the same targets tie and share a rank. If neither i <= j nor j <=
i for some two tokens, the sentence has no ranks. The relation is transitive: if i <= j <= k, the targets that i and k
must share are between the smallest of k and the largest of i, and there i agrees with j and j with k. So it suffices to
sort the tokens by their smallest and largest target and to compare neighbours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordorder.alignment.links import Links
from wordorder.compiled import compiled
from wordorder.data.ragged import Ragged

UNRANKED = -1  # rank of a token without links, and of all tokens of a sentence without ranks


def ranks(links: NDArray[np.int32], length: int) -> NDArray[np.int32] | None:
    """Compute ranks 0, 1, 2, ... of the tokens.

    Args:
        links: Source and target tokens, (n, 2), in any order.
        length: Length of the source sentence.

    Returns:
        The ranks, (length,), -1 for tokens without links; None if two tokens are incomparable.

    Raises:
        ValueError: A source token is outside the sentence.
    """
    source, target = np.asarray(links, dtype=np.int32).reshape(-1, 2).T.copy()
    found, ranked = corpus_ranks(Links(source, target, np.array([0, len(source)])), np.array([length]))
    return found.values if ranked[0] else None


def corpus_ranks(links: Links, lengths: NDArray[np.int64]) -> tuple[Ragged, NDArray[np.bool_]]:
    """Compute :func:`ranks` of many sentences.

    Args:
        links: The links.
        lengths: Lengths of the source sentences, (sentences,).

    Returns:
        The ranks, and whether each sentence has ranks, (sentences,); the others have only -1.
    """
    check_links(links, lengths)
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    values = np.full(offsets[-1], UNRANKED, dtype=np.int32)
    ranked = np.zeros(len(lengths), dtype=np.bool_)
    _rank_sentences(links.source, links.target, links.offsets, offsets, values, ranked)
    return Ragged(values, offsets), ranked


def check_links(links: Links, lengths: NDArray[np.int64]) -> None:
    """Check that ``links`` belong to the same number of sentences, and that these contain all linked tokens.

    Raises:
        ValueError: They do not.
    """
    if len(links) != len(lengths):
        raise ValueError(f"links of {len(links)} sentences for {len(lengths)} sentences")
    outside = (links.source < 0) | (links.source >= np.repeat(lengths, np.diff(links.offsets))) | (links.target < 0)
    if outside.any():
        link = int(outside.argmax())
        sentence = int(np.searchsorted(links.offsets, link, side="right")) - 1
        raise ValueError(
            f"sentence {sentence} of {lengths[sentence]} units has the link {links.source[link]}-{links.target[link]}"
        )


@compiled
def _rank_sentences(
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    link_offsets: NDArray[np.int64],
    offsets: NDArray[np.int64],
    values: NDArray[np.int32],
    ranked: NDArray[np.bool_],
) -> None:
    for sentence in range(len(ranked)):
        row = values[offsets[sentence] : offsets[sentence + 1]]
        begin, end = link_offsets[sentence], link_offsets[sentence + 1]
        ranked[sentence] = _rank(source[begin:end], target[begin:end], row)
        if not ranked[sentence]:
            row[:] = UNRANKED


@compiled
def _rank(source: NDArray[np.int32], target: NDArray[np.int32], row: NDArray[np.int32]) -> bool:
    # The sorted targets of unit i are targets[begins[i] : ends[i]].
    begins = np.zeros(len(row) + 1, dtype=np.int64)
    for unit in source:
        begins[unit + 1] += 1
    for unit in range(len(row)):
        begins[unit + 1] += begins[unit]
    ends = begins[:-1].copy()
    targets = np.empty(len(target), dtype=np.int32)
    for link in range(len(source)):
        _insert(targets, begins[source[link]], ends, source[link], target[link])

    # Sort the units that have links by their smallest and largest target.
    units = np.empty(len(row), dtype=np.int64)
    count = 0
    for unit in range(len(row)):
        if ends[unit] == begins[unit]:
            continue
        place = count
        smallest, largest = targets[begins[unit]], targets[ends[unit] - 1]
        while place:
            other = units[place - 1]
            first = targets[begins[other]]
            if first < smallest or (first == smallest and targets[ends[other] - 1] <= largest):
                break
            units[place] = other
            place -= 1
        units[place] = unit
        count += 1

    rank = 0
    for place in range(count):
        unit = units[place]
        if place:
            before = units[place - 1]
            first, second = targets[begins[before] : ends[before]], targets[begins[unit] : ends[unit]]
            if not _not_after(first, second):
                return False
            if first[0] != second[0] or first[-1] != second[-1]:
                rank += 1
        row[unit] = rank
    return True


@compiled
def _insert(
    targets: NDArray[np.int32], begin: np.int64, ends: NDArray[np.int64], unit: np.int32, target: np.int32
) -> None:
    """Insert ``target`` into the sorted targets of ``unit``, unless it is already there."""
    place = ends[unit]
    while place > begin and targets[place - 1] >= target:
        place -= 1
    if place < ends[unit] and targets[place] == target:
        return
    for later in range(ends[unit], place, -1):
        targets[later] = targets[later - 1]
    targets[place] = target
    ends[unit] += 1


@compiled
def _not_after(first: NDArray[np.int32], second: NDArray[np.int32]) -> bool:
    """Return whether two sorted sets of targets agree from the smallest of ``second`` to the largest of ``first``."""
    begin = len(first)
    while begin and first[begin - 1] >= second[0]:
        begin -= 1
    # If these targets are the same, the next of 'second' is larger than all of 'first'.
    shared = len(first) - begin
    return shared <= len(second) and np.array_equal(first[begin:], second[:shared])
