"""Word classes by exchange clustering.

Sources: Kneser and Ney 1993, "Improved Clustering Techniques for Class-Based Statistical Language Modelling"; Martin,
Liermann and Ney 1998, "Algorithms for Bigram and Trigram Word Clustering".

The classes are those of a bigram model that predicts a token from the class of the previous token, p(w | v) = p(w |
class of w) p(class of w | class of v). Up to a constant, its log-likelihood of the text is

    sum over pairs of classes of f(N(c, d)) - 2 sum over classes of f(N(c)),    f(n) = n log n,

with N the counts of neighbouring classes and of classes. Each token in turn, the most frequent first, moves to the
class where this is highest, until no token moves. Sentence boundaries have a separate class and never move.

Class 0 holds the unknown token and all tokens that are too rare for their neighbours to be informative. They never
move. So a token that a parser meets for the first time has the class of the tokens that it has seen once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, csr_array

from wordorder.compiled import compiled
from wordorder.data.ragged import Ragged
from wordorder.data.text import decode_lines
from wordorder.data.units import UNKNOWN_UNIT, Vocabulary
from wordorder.errors import WordorderError, at_line
from wordorder.files import open_bytes, write_text

RARE_CLASS = 0

_TABLE = 1 << 16  # number of tabulated values of f; larger arguments are rare and computed
_LEAST_GAIN = 1e-7  # in nats; smaller gains are rounding errors, which could cause cycles


class _Neighbours(NamedTuple):
    """Neighbours on one side: those of token u, and their counts, are at ``offsets[u]:offsets[u + 1]``."""

    offsets: NDArray[np.int64]
    units: NDArray[np.int32]
    times: NDArray[np.int64]

    @classmethod
    def of(cls, counts: csr_array | csc_array) -> _Neighbours:
        """Take the rows of a matrix by rows, or the columns of a matrix by columns."""
        return cls(counts.indptr.astype(np.int64), counts.indices.astype(np.int32, copy=False), counts.data)


class _Context(NamedTuple):
    """The context of one token.

    Attributes:
        classes: The classes of its neighbours.
        before: How often each class precedes it.
        after: How often each class follows it.
        itself: How often it is its own neighbour.
        occurrences: How often it occurs.
    """

    classes: NDArray[np.int64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    itself: int
    occurrences: int


def exchange_classes(
    blocks: Iterable[Ragged], units: int, classes: int, *, iterations: int = 10, minimum: int = 2
) -> NDArray[np.int32]:
    """Cluster tokens into classes.

    Memory grows with the number of distinct pairs of neighbouring tokens, not with the text.

    Args:
        blocks: The sentences, block by block, as token indices below ``units``.
        units: Number of tokens.
        classes: Number of classes.
        iterations: Largest number of iterations. Too few give worse classes, not wrong ones.
        minimum: Tokens with fewer occurrences have class 0.

    Returns:
        The class, 0 … ``classes`` - 1, of each token, (units,).
    """
    if classes < 1 or units < 1:
        raise ValueError(f"{classes} classes of {units} units")
    bigrams = _count_bigrams(blocks, units)
    counts = bigrams.sum(axis=1)[:units]  # one token or boundary follows each token
    found = np.full(units, RARE_CLASS, dtype=np.int32)
    frequent = np.flatnonzero(counts >= minimum)
    frequent = frequent[frequent != UNKNOWN_UNIT]
    if classes == 1 or not len(frequent):
        return found
    frequent = frequent[np.argsort(-counts[frequent], kind="stable")]
    found[frequent] = 1 + np.arange(len(frequent)) % (classes - 1)

    membership = np.append(found, classes).astype(np.int64)
    following, preceding = _Neighbours.of(bigrams), _Neighbours.of(bigrams.tocsc())
    between = _class_bigrams(following, membership, classes + 1)
    table = np.array([_entropy_term(n) for n in range(_TABLE)])
    for _ in range(iterations):
        if not _exchange(frequent, counts, following, preceding, membership, between, between.sum(axis=1), table):
            break
    return membership[:-1].astype(np.int32)


def _count_bigrams(blocks: Iterable[Ragged], units: int) -> csr_array:
    """Count neighbouring tokens: how often v follows u is at (u, v). The boundary of sentences is token ``units``.

    Counts are merged only with counts of about the same size, so that each is merged a few times.
    """
    sums = [csr_array((units + 1, units + 1), dtype=np.int64)]
    for block in blocks:
        if len(block.values) and (most := block.values.max()) >= units:
            raise ValueError(f"a sentence has unit {most}, but the units are 0 to {units - 1}")
        text = np.insert(block.values, block.offsets, units)
        once = np.ones(len(text) - 1, dtype=np.int64)
        sums.append(coo_array((once, (text[:-1], text[1:])), shape=(units + 1, units + 1)).tocsr())
        while len(sums) > 1 and sums[-2].nnz < 2 * sums[-1].nnz:
            sums.append(sums.pop() + sums.pop())
    while len(sums) > 1:
        sums.append(sums.pop() + sums.pop())
    return sums.pop()


@compiled
def _class_bigrams(following: _Neighbours, membership: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """Count neighbouring classes, (classes, classes)."""
    between = np.zeros((classes, classes), dtype=np.int64)
    for unit in range(len(membership)):
        for index in range(following.offsets[unit], following.offsets[unit + 1]):
            between[membership[unit], membership[following.units[index]]] += following.times[index]
    return between


@compiled
def _entropy_term(count: int) -> float:
    return count * math.log(count) if count > 0 else 0.0


@compiled
def _f(count: int, table: NDArray[np.float64]) -> float:
    return table[count] if count < len(table) else _entropy_term(count)


@compiled
def _exchange(
    frequent: NDArray[np.int64],
    counts: NDArray[np.int64],
    following: _Neighbours,
    preceding: _Neighbours,
    membership: NDArray[np.int64],
    between: NDArray[np.int64],
    sizes: NDArray[np.int64],
    table: NDArray[np.float64],
) -> int:
    """Move each token to its best class, in place, and return how many moved."""
    classes = len(sizes) - 1
    after = np.zeros(classes + 1, dtype=np.int64)  # how often the token precedes each class, and follows it
    before = np.zeros(classes + 1, dtype=np.int64)
    moved = 0
    for unit in frequent:
        itself = _count_classes(following, unit, membership, after)
        _count_classes(preceding, unit, membership, before)
        context = _Context(np.flatnonzero(after + before), before, after, itself, counts[unit])

        old = membership[unit]
        _add(between, sizes, old, context, -1)
        best = old
        highest = _gain(between, sizes, old, context, table) + _LEAST_GAIN
        for candidate in range(1, classes):
            gain = _gain(between, sizes, candidate, context, table)
            if gain > highest:
                best, highest = candidate, gain
        _add(between, sizes, best, context, 1)
        membership[unit] = best
        moved += best != old
        after[context.classes] = 0
        before[context.classes] = 0
    return moved


@compiled
def _count_classes(neighbours: _Neighbours, unit: int, membership: NDArray[np.int64], into: NDArray[np.int64]) -> int:
    """Add the counts of a token's neighbours to their classes, and return how often it is its own neighbour."""
    itself = 0
    for index in range(neighbours.offsets[unit], neighbours.offsets[unit + 1]):
        other = neighbours.units[index]
        if other == unit:
            itself = neighbours.times[index]
        else:
            into[membership[other]] += neighbours.times[index]
    return itself


@compiled
def _add(between: NDArray[np.int64], sizes: NDArray[np.int64], to: int, context: _Context, sign: int) -> None:
    """Put a token into a class, or with ``sign`` -1 remove it."""
    for other in context.classes:
        between[other, to] += sign * context.before[other]
        between[to, other] += sign * context.after[other]
    between[to, to] += sign * context.itself
    sizes[to] += sign * context.occurrences


@compiled
def _gain(
    between: NDArray[np.int64],
    sizes: NDArray[np.int64],
    to: int,
    context: _Context,
    table: NDArray[np.float64],
) -> float:
    """Compute the gain in log-likelihood when a token without a class joins class ``to``."""
    before, after = context.before, context.after
    gain = -2 * (_f(sizes[to] + context.occurrences, table) - _f(sizes[to], table))
    own = between[to, to]
    gain += _f(own + before[to] + after[to] + context.itself, table) - _f(own, table)
    for other in context.classes:
        if other != to:
            if before[other]:
                now = between[other, to]
                gain += _f(now + before[other], table) - _f(now, table)
            if after[other]:
                now = between[to, other]
                gain += _f(now + after[other], table) - _f(now, table)
    return gain


def write_classes(path: str | Path, vocabulary: Vocabulary, classes: NDArray[np.int32]) -> None:
    """Write one line per known token: token TAB class. ``classes`` is (vocabulary.size,), 0 for the unknown token."""
    if len(classes) != vocabulary.size or classes[UNKNOWN_UNIT] != RARE_CLASS:
        raise ValueError("classes of another vocabulary, or the unknown unit is not in class 0")
    known = classes[UNKNOWN_UNIT + 1 :].tolist()
    lines = (f"{unit}\t{number}\n" for unit, number in zip(vocabulary.units, known, strict=True))
    write_text(path, "".join(lines))


def read_classes(path: str | Path, vocabulary: Vocabulary, classes: int) -> NDArray[np.int32]:
    """Read the class, 0 … ``classes`` - 1, of each token of ``vocabulary``, (vocabulary.size,).

    Tokens missing in the file have class 0.
    """
    listed: dict[str, int] = {}
    rule = f"A line should hold a unit, a tab and the number of its class, from 0 to {classes - 1}."
    with open_bytes(path) as file:
        for number, line in enumerate(decode_lines(file, path, keep_tabs=True, keep_marks=True), start=1):
            unit, _, found = line.rpartition("\t")
            if not (unit and found.isascii() and found.isdecimal() and len(found) < 10 and int(found) < classes):
                raise at_line(path, number, f"'{line}' is not a word class. {rule}", found=line)
            if unit in listed:
                sentence = f"'{unit}' has a class already. List every unit once."
                raise at_line(path, number, sentence, code="duplicate-name", found=unit)
            listed[unit] = int(found)
    if not listed:
        raise WordorderError(f"{path} is empty. {rule}", code="empty-file", path=path)
    return np.array([RARE_CLASS, *(listed.get(unit, RARE_CLASS) for unit in vocabulary.units)], dtype=np.int32)
