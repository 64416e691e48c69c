"""One pass of online learning over sentences: the compiled core of :mod:`wordorder.reordering.train`.

The tree of a sentence is not known, only the ranks that it has to fit. So the weights move towards the best-scoring
tree that fits (the reference) and away from the best-scoring tree of all, if that does not fit (the latent structured
perceptron, Sun et al. 2009, "Latent Variable Perceptron Algorithm for Structured Classification").
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordorder.compiled import compiled
from wordorder.reordering.chart import (
    FITTING,
    LOSS,
    Nodes,
    Target,
    best_tree,
    no_target,
    rank_target,
    tree_order,
)
from wordorder.reordering.features import (
    FEATURES,
    Hashes,
    Weights,
    build_tables,
    hash_shift,
    node_features,
    unit_hashes,
)
from wordorder.reordering.metrics import count_agreement

PERCEPTRON, PASSIVE_AGGRESSIVE = 0, 1
TAU, CHUNKS = 0, 1
# Cost of a discordant pair when the loss is added; chosen on development text.
PAIR_COST = 0.1
_LARGEST_STEP = 1.0  # C of PA-I (Crammer et al. 2006, "Online Passive-Aggressive Algorithms")

Integers = NDArray[np.int32]


class Model(NamedTuple):
    """The weights during training, all (2^k,).

    ``average`` sums the changes of the weights, each times the remaining share of the training, so that after the last
    sentence it is their mean over all steps. ``changes`` is zero between sentences.
    """

    weights: Weights
    average: NDArray[np.float64]
    changes: Weights


@compiled
def learn(
    values: Integers,
    offsets: NDArray[np.int64],
    ranks: Integers,
    classes: Integers,
    sentences: NDArray[np.int64],
    model: Model,
    done: int,
    total: int,
    learner: int,
    loss: int,
) -> int:
    """Learn from the ``sentences`` in turn. Every sentence has ranks that a tree fits.

    ``done`` of ``total`` steps were taken before.

    Returns:
        The number of sentences that changed the weights.
    """
    zero = np.float32(0)
    free = no_target()
    changed = 0
    for index in range(len(sentences)):
        begin, end = offsets[sentences[index]], offsets[sentences[index] + 1]
        length = end - begin
        if length < 2:
            continue
        own = ranks[begin:end]
        units = unit_hashes(values[begin:end], classes)
        tables = build_tables(units, model.weights, zero)
        found = np.empty((length - 1, 5), dtype=np.int32)
        fitting = rank_target(own, FITTING, zero)
        target = rank_target(own, LOSS, np.float32(PAIR_COST)) if loss == TAU else free
        score = best_tree(tables, target, found)
        if fits(found, fitting):
            continue
        reference = np.empty((length - 1, 5), dtype=np.int32)
        violation = float(score) - float(best_tree(tables, fitting, reference))
        if loss == CHUNKS:
            violation += np.sqrt(_breaks(found, own))
        remaining = (total - done - index) / total
        _move(model, units, reference, found, violation, learner, remaining)
        changed += 1
    return changed


@compiled
def fits(nodes: Nodes, target: Target) -> bool:
    """Return whether every node fits the ranks of ``target``."""
    for index in range(len(nodes)):
        begin, pivot, end, label = nodes[index, 0], nodes[index, 1], nodes[index, 2], nodes[index, 3]
        if label == 0 and target.highest[begin, pivot] > target.lowest[pivot, end]:
            return False
        if label == 1 and target.lowest[begin, pivot] < target.highest[pivot, end]:
            return False
    return True


@compiled
def _breaks(nodes: Nodes, ranks: Integers) -> int:
    """Count neighbours in the tree's order that do not belong together (see :mod:`wordorder.reordering.metrics`)."""
    order = np.empty(len(ranks), dtype=np.int32)
    tree_order(nodes, order)
    _, _, together, neighbours = count_agreement(order, ranks)
    return neighbours - together


@compiled
def _move(
    model: Model, units: Hashes, reference: Nodes, found: Nodes, violation: float, learner: int, remaining: float
) -> None:
    """Add the features of ``reference`` and subtract those of ``found``, times the step of the learner."""
    shift = hash_shift(model.weights)
    places = np.empty(FEATURES, dtype=np.int64)
    norm = 0.0  # the squared norm of the change, updated incrementally
    for tree in range(2):
        sign = np.float32(1 - 2 * tree)
        for node in reference if tree == 0 else found:
            for place in places[: node_features(units, shift, node, places)]:
                norm += 2.0 * sign * model.changes[place] + 1.0
                model.changes[place] += sign
    step = 1.0
    if learner == PASSIVE_AGGRESSIVE:
        step = min(_LARGEST_STEP, violation / norm) if norm > 0 else 0.0
    for tree in range(2):
        for node in reference if tree == 0 else found:
            for place in places[: node_features(units, shift, node, places)]:
                change = step * model.changes[place]
                model.changes[place] = 0
                model.weights[place] += np.float32(change)
                model.average[place] += change * remaining


@compiled
def find_fitting(offsets: NDArray[np.int64], ranks: Integers, ranked: NDArray[np.bool_]) -> None:
    """Set ``ranked`` (sentences,) to False if no tree fits the ranks."""
    for sentence in range(len(ranked)):
        if ranked[sentence]:
            own = ranks[offsets[sentence] : offsets[sentence + 1]]
            ranked[sentence] = _some_tree_fits(own[own >= 0])


@compiled
def _some_tree_fits(ranks: Integers) -> bool:
    """Return whether ranks, all of them known, can be split down to single tokens.

    If a tree fits a sequence, its restriction fits every part of it, so the first split found suffices.
    """
    length = len(ranks)
    open_spans = np.empty((length + 1, 2), dtype=np.int64)
    open_spans[0] = 0, length
    count = 1
    lowest, highest = np.empty(length + 1, dtype=np.int32), np.empty(length + 1, dtype=np.int32)
    while count:
        count -= 1
        begin, end = open_spans[count]
        if end - begin < 2:
            continue
        # Of the units from each one to the end of the span.
        lowest[end - 1] = highest[end - 1] = ranks[end - 1]
        for unit in range(end - 2, begin, -1):
            lowest[unit] = min(ranks[unit], lowest[unit + 1])
            highest[unit] = max(ranks[unit], highest[unit + 1])
        low = high = ranks[begin]
        pivot = begin + 1
        while pivot < end and not (high <= lowest[pivot] or low >= highest[pivot]):
            low, high = min(low, ranks[pivot]), max(high, ranks[pivot])
            pivot += 1
        if pivot == end:
            return False
        open_spans[count] = begin, pivot
        open_spans[count + 1] = pivot, end
        count += 2
    return True
