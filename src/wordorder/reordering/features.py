"""The features of a node of a reordering tree, and the tables that reduce its score to a sum of a few numbers.

A node covers the tokens [begin, end), splits them before ``pivot``, and keeps (label 0) or inverts (label 1) its
halves. Its features are those of Nakagawa (2015), "Efficient Top-Down BTG Parsing for Machine Translation Preordering",
without parts of speech: the tokens at the positions below, separately and together, as words and as word classes; the
sizes of the halves; and the label of the parent together with the side of the node (its context).

    before | first … second_last last_left | first_right second … last | after
           begin                         pivot                        end

All of them depend only on (begin, pivot, end, label, context), and all but one on two of the three positions. So the
sum over a node needs one number from each of the tables of :class:`Tables`. Only the feature of four tokens is looked
up for every triple. The weights are in one hash table (Shi et al. 2009, "Hash Kernels for Structured Data"). The hash
of a feature is the sum of one random number for each position and token in it (Zobrist 1970), so sums are shared. The
weights of the two labels, and of all contexts if they matter, are adjacent in memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordorder.compiled import compiled

FORMAT = 1  # version of the features; models of other versions cannot be read

Weights = NDArray[np.float32]
Hashes = NDArray[np.uint64]

LABELS, CONTEXTS = 2, 4  # straight, inverted; the context is 2 × the label of the parent + 1 on its right side
ROOT = 4  # context of the root, which has no parent

# The finaliser of SplitMix64 (Steele et al. 2014) spreads a number over 64 bits.
_STEP, _MIX1, _MIX2 = (np.uint64(value) for value in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)


@compiled
def mix(value: np.uint64) -> np.uint64:
    """Spread a number over 64 bits."""
    value = (value + np.uint64(1)) * _STEP
    value = (value ^ (value >> _30)) * _MIX1
    value = (value ^ (value >> _27)) * _MIX2
    return value ^ (value >> _31)


# Multipliers for the position of a token in the hash: odd numbers without a pattern.
BEFORE = np.uint64(0x1937167E168D9373)
FIRST = np.uint64(0x0B9F1C6E4CAD87C9)
SECOND_LAST = np.uint64(0x3F91586BEF96E353)
LAST_LEFT = np.uint64(0xB6B87796A27BE215)
FIRST_RIGHT = np.uint64(0x4388A0161369AA6B)
SECOND = np.uint64(0xDEA5E2674FDED791)
LAST = np.uint64(0xC076E717CC87F49F)
AFTER = np.uint64(0x42D669E8649E14ED)
SIZES = np.uint64(0x6F3EF8766397BEEF)
# Added to the hash of a feature that distinguishes contexts.
IN_CONTEXT = np.uint64(0x0480C2CD40630642)
AT_ROOT = np.uint64(0xD6D0F4171C098DED)
_PAIR, _EIGHT = np.uint64(2**64 - LABELS), np.uint64(2**64 - LABELS * CONTEXTS)

# Kinds of mixed numbers: words, classes, positions outside of the sentence, sizes.
_CLASS, _OUTSIDE, _SIZE = np.uint64(1 << 32), np.uint64(1 << 33), np.uint64(1 << 34)
_LONGEST, _LARGEST = 99, 5  # sizes from here on are one: of a node, and of its halves


class Tables(NamedTuple):
    """The tables whose entries sum to the score of a node, with ``which = LABELS * context + label``.

    The sum is ``span[which, begin, end]``, ``begin_pivot[label, begin, pivot]``, ``pivot_end[label, pivot, end]``,
    ``context_pivot[which, pivot]``, ``halves[label, pivot - begin, end - pivot]`` and, with ``units``, the weights of
    four tokens. At the root, ``root_span[label]`` and ``root_pivot[label, pivot]`` replace the tables of contexts.
    """

    span: Weights
    begin_pivot: Weights
    pivot_end: Weights
    context_pivot: Weights
    halves: Weights
    root_span: Weights
    root_pivot: Weights
    units: Hashes
    weights: Weights
    shift: np.uint64


@compiled
def unit_hashes(sentence: NDArray[np.int32], classes: NDArray[np.int32]) -> Hashes:
    """Compute random numbers of the words and, unless ``classes`` is empty, of the classes: (1 or 2, length + 2).

    Those of token i are in column i + 1; the first and the last column are outside of the sentence.
    """
    length = len(sentence)
    hashes = np.empty((2 if len(classes) else 1, length + 2), dtype=np.uint64)
    for kind in range(len(hashes)):
        outside = mix(_OUTSIDE + np.uint64(kind))
        hashes[kind, 0] = outside
        hashes[kind, length + 1] = outside
        for unit in range(length):
            word = sentence[unit]
            value = np.uint64(word) if kind == 0 else _CLASS + np.uint64(classes[word])
            hashes[kind, unit + 1] = mix(value)
    return hashes


@compiled
def hash_shift(weights: Weights) -> np.uint64:
    """Return how far a hash is shifted to become an index of ``weights``, whose length is a power of 2."""
    shift = 64
    size = len(weights)
    while size > 1:
        size >>= 1
        shift -= 1
    return np.uint64(shift)


@compiled
def _size_hash(kind: int, first: int, second: int) -> np.uint64:
    return mix(_SIZE + np.uint64(kind * 10000 + first * 100 + second)) * SIZES


@compiled
def _halves_hashes(left: int, right: int) -> tuple[np.uint64, np.uint64]:
    """Compute hashes of the sizes of the two halves, and of which is the larger."""
    balance = 0 if right < left else 1 if right > left else 2
    return _size_hash(2, min(left, _LARGEST), min(right, _LARGEST)), _size_hash(3, balance, 0)


@compiled
def _add_pair(weights: Weights, shift: np.uint64, feature: np.uint64, sums: Weights) -> None:
    """Add the weights of both labels to ``sums`` (2,)."""
    index = (feature >> shift) & _PAIR
    sums[0] += weights[index]
    sums[1] += weights[index + np.uint64(1)]


@compiled
def _add_contexts(weights: Weights, shift: np.uint64, feature: np.uint64, sums: Weights) -> None:
    """Add the weights of all contexts and labels to ``sums`` (8,)."""
    index = ((feature + IN_CONTEXT) >> shift) & _EIGHT
    for which in range(LABELS * CONTEXTS):
        sums[which] += weights[index + np.uint64(which)]


@compiled
def build_tables(units: Hashes, weights: Weights, inversion_penalty: np.float32) -> Tables:
    """Compute the tables of a sentence from its :func:`unit_hashes`; inverted nodes cost ``inversion_penalty``."""
    length = units.shape[1] - 2
    shape = (LABELS, length + 1, length + 1)
    tables = Tables(
        np.zeros((LABELS * CONTEXTS, length, length + 1), dtype=np.float32),
        np.zeros(shape, dtype=np.float32),
        np.zeros(shape, dtype=np.float32),
        np.zeros((LABELS * CONTEXTS, length + 1), dtype=np.float32),
        np.zeros(shape, dtype=np.float32),
        np.zeros(LABELS, dtype=np.float32),
        np.zeros((LABELS, length + 1), dtype=np.float32),
        units,
        weights,
        hash_shift(weights),
    )
    _add_splits(tables, length)
    _add_halves(tables, length)
    _add_spans(tables, length, inversion_penalty)
    return tables


@compiled
def _add_splits(tables: Tables, length: int) -> None:
    """Add the parts that depend on the pivot, alone or with the begin or the end."""
    weights, shift = tables.weights, tables.shift
    for pivot in range(1, length):
        # What depends on it alone goes with every begin.
        alone = tables.begin_pivot[:, pivot, pivot]
        contexts, root = tables.context_pivot[:, pivot], tables.root_pivot[:, pivot]
        for kind in range(len(tables.units)):
            row = tables.units[kind]
            left, right = row[pivot] * LAST_LEFT, row[pivot + 1] * FIRST_RIGHT
            both = left + right
            second_last, second = row[pivot - 1] * SECOND_LAST, row[pivot + 2] * SECOND
            for feature in (left, right, both, second_last + both, both + second):
                _add_pair(weights, shift, feature, alone)
            for feature in (left, right):
                _add_contexts(weights, shift, feature, contexts)
                _add_pair(weights, shift, feature + AT_ROOT, root)
        for begin in range(pivot):
            sums = tables.begin_pivot[:, begin, pivot]
            sums[0], sums[1] = alone[0], alone[1]
            for kind in range(len(tables.units)):
                row = tables.units[kind]
                left, right = row[pivot] * LAST_LEFT, row[pivot + 1] * FIRST_RIGHT
                first = row[begin + 1] * FIRST
                for feature in (first + left, first + right, first + left + right):
                    _add_pair(weights, shift, feature, sums)
        for end in range(pivot + 1, length + 1):
            sums = tables.pivot_end[:, pivot, end]
            for kind in range(len(tables.units)):
                row = tables.units[kind]
                left, right = row[pivot] * LAST_LEFT, row[pivot + 1] * FIRST_RIGHT
                last = row[end] * LAST
                for feature in (left + last, right + last, left + right + last):
                    _add_pair(weights, shift, feature, sums)


@compiled
def _add_halves(tables: Tables, length: int) -> None:
    """Add the parts that depend on the sizes of the halves."""
    halves = tables.halves
    for left in range(1, length):
        for right in range(1, length - left + 1):
            if max(left, right) <= _LARGEST + 1:
                for feature in _halves_hashes(left, right):
                    _add_pair(tables.weights, tables.shift, feature, halves[:, left, right])
            else:  # as that of the smallest halves that have the same features
                smaller, other = min(left, _LARGEST + (left > right)), min(right, _LARGEST + (right > left))
                halves[0, left, right] = halves[0, smaller, other]
                halves[1, left, right] = halves[1, smaller, other]


@compiled
def _add_spans(tables: Tables, length: int, inversion_penalty: np.float32) -> None:
    """Add the parts that depend on begin and end."""
    weights, shift, root = tables.weights, tables.shift, tables.root_span
    pair = np.empty(LABELS, dtype=np.float32)
    for begin in range(length):
        for end in range(begin + 2, length + 1):
            pair[0], pair[1] = 0, -inversion_penalty
            contexts = tables.span[:, begin, end]
            _add_pair(weights, shift, _size_hash(0, 0, 0), pair)
            _add_pair(weights, shift, _size_hash(1, min(end - begin, _LONGEST), 0), pair)
            _add_contexts(weights, shift, np.uint64(0), contexts)
            for kind in range(len(tables.units)):
                row = tables.units[kind]
                first, last = row[begin + 1] * FIRST, row[end] * LAST
                before, after = row[begin] * BEFORE, row[end + 1] * AFTER
                for feature in (before, first, last, after, before + first, first + last, last + after):
                    _add_pair(weights, shift, feature, pair)
                for feature in (first, last, first + last):
                    _add_contexts(weights, shift, feature, contexts)
                    if end - begin == length:
                        _add_pair(weights, shift, feature + AT_ROOT, root)
            for which in range(LABELS * CONTEXTS):
                contexts[which] += pair[which % LABELS]
            if end - begin == length:
                _add_pair(weights, shift, AT_ROOT, root)
                root[0] += pair[0]
                root[1] += pair[1]


FEATURES = 5 + 2 * 24  # of a node: sizes and context, and those of words and of classes


@compiled
def node_features(units: Hashes, shift: np.uint64, node: NDArray[np.int32], out: NDArray[np.int64]) -> int:
    """Write the indices of a node's features in the weights to ``out`` (FEATURES,).

    The weights at these indices sum to the score from the tables.

    Args:
        units: Hashes of the sentence.
        shift: Shift of a hash.
        node: begin, pivot, end, label, context.
        out: Output.

    Returns:
        The number of features.
    """
    begin, pivot, end, label, context = node
    left_right, balance = _halves_hashes(pivot - begin, end - pivot)
    told_apart = AT_ROOT if context == ROOT else IN_CONTEXT
    mask = _PAIR if context == ROOT else _EIGHT
    place = label if context == ROOT else LABELS * context + label
    count = 0
    for feature in (_size_hash(0, 0, 0), _size_hash(1, min(end - begin, _LONGEST), 0), left_right, balance):
        out[count] = np.int64((feature >> shift) & _PAIR) + label
        count += 1
    out[count] = np.int64((told_apart >> shift) & mask) + place
    count += 1
    for kind in range(len(units)):
        row = units[kind]
        before, first = row[begin] * BEFORE, row[begin + 1] * FIRST
        left, right = row[pivot] * LAST_LEFT, row[pivot + 1] * FIRST_RIGHT
        last, after = row[end] * LAST, row[end + 1] * AFTER
        both = left + right
        plain = (
            before, first, left, right, last, after,
            before + first, first + left, first + right, first + last, both, left + last, right + last, last + after,
            row[pivot - 1] * SECOND_LAST + both, first + both, both + last, both + row[pivot + 2] * SECOND,
            first + both + last,
        )  # fmt: skip
        for feature in plain:
            out[count] = np.int64((feature >> shift) & _PAIR) + label
            count += 1
        for feature in (first, left, right, last, first + last):
            out[count] = np.int64(((feature + told_apart) >> shift) & mask) + place
            count += 1
    return count
