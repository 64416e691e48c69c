"""Tests of chart and beam against an enumeration of all derivations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from wordorder.reordering.beam import beam_tree
from wordorder.reordering.chart import FITTING, LOSS, Target, best_tree, no_target, rank_target, tree_order
from wordorder.reordering.features import (
    FEATURES,
    ROOT,
    Hashes,
    Tables,
    Weights,
    build_tables,
    node_features,
    unit_hashes,
)
from wordorder.reordering.learn import find_fitting, fits

Node = tuple[int, int, int, int, int]
BITS = 14


def derivations(begin: int, end: int, context: int = ROOT) -> Iterator[list[Node]]:
    """All trees over a span: parents first, left halves before right ones; straight first, then small pivots."""
    if end - begin == 1:
        yield []
        return
    for label in range(2):
        for pivot in range(begin + 1, end):
            for left in derivations(begin, pivot, 2 * label):
                for right in derivations(pivot, end, 2 * label + 1):
                    yield [(begin, pivot, end, label, context), *left, *right]


def slow_order(nodes: list[Node], length: int) -> list[int]:
    def read(begin: int, end: int) -> list[int]:
        if end - begin == 1:
            return [begin]
        (pivot, label) = next((p, label) for b, p, e, label, _ in nodes if (b, e) == (begin, end))
        halves = [read(begin, pivot), read(pivot, end)]
        return [unit for half in (reversed(halves) if label else halves) for unit in half]

    return read(0, length) if length else []


def discordant(order: list[int], ranks: list[int]) -> int:
    known = [ranks[unit] for unit in order if ranks[unit] >= 0]
    return sum(first > second for place, first in enumerate(known) for second in known[place + 1 :])


def sentence_tables(length: int, seed: int, spread: float = 1.0) -> tuple[Hashes, Weights, Tables]:
    random = np.random.default_rng(seed)
    weights = (spread * random.normal(size=1 << BITS)).astype(np.float32)
    classes = random.integers(0, 4, 20).astype(np.int32)
    units = unit_hashes(random.integers(0, 20, length).astype(np.int32), classes)
    return units, weights, build_tables(units, weights, np.float32(0))


def score(nodes: list[Node], units: Hashes, weights: Weights, tables: Tables) -> float:
    out = np.zeros(FEATURES, dtype=np.int64)
    return sum(
        float(weights[out[: node_features(units, tables.shift, np.array(node, dtype=np.int32), out)]].sum())
        for node in nodes
    )


def search(tables: Tables, length: int, target: Target | None = None) -> tuple[float, list[Node]]:
    nodes = np.full((max(length - 1, 0), 5), -1, dtype=np.int32)
    found = best_tree(tables, no_target() if target is None else target, nodes)
    return float(found), [tuple(node) for node in nodes.tolist()]


@pytest.mark.parametrize("length", range(7))
@pytest.mark.parametrize("seed", range(3))
def test_the_best_of_all_trees_is_found(length: int, seed: int) -> None:
    units, weights, tables = sentence_tables(length, seed)
    found, nodes = search(tables, length)
    every = list(derivations(0, length)) if length else [[]]
    scores = [score(tree, units, weights, tables) for tree in every]
    assert found == pytest.approx(max(scores), abs=1e-4)
    assert nodes == every[int(np.argmax(scores))]


def random_ranks(length: int, random: np.random.Generator) -> list[int]:
    """Draw ranks with ties and tokens without a rank; often no tree fits."""
    ranks = random.integers(-1, max(length - 1, 1), length)
    known = sorted({int(rank) for rank in ranks if rank >= 0})
    return [known.index(int(rank)) if rank >= 0 else -1 for rank in ranks]


@pytest.mark.parametrize("length", range(1, 7))
def test_the_best_tree_that_fits_is_found_and_others_are_told(length: int) -> None:
    random = np.random.default_rng(length)
    every = list(derivations(0, length))
    without = 0
    for seed in range(8):
        units, weights, tables = sentence_tables(length, seed)
        ranks = random_ranks(length, random)
        if seed == 0 and length >= 4:
            ranks = [1, 3, 0, 2, *[-1] * (length - 4)]  # which no tree gives
        fitting = [tree for tree in every if discordant(slow_order(tree, length), ranks) == 0]
        target = rank_target(np.array(ranks, dtype=np.int32), FITTING, np.float32(0))
        found, nodes = search(tables, length, target)
        kept = np.ones(1, dtype=bool)
        find_fitting(np.array([0, length]), np.array(ranks, dtype=np.int32), kept)
        assert kept[0] == bool(fitting)
        for tree in every[::7]:
            assert fits(np.array(tree, dtype=np.int32).reshape(-1, 5), target) == (tree in fitting)
        if not fitting:
            assert found == -np.inf
            without += 1
            continue
        scores = [score(tree, units, weights, tables) for tree in fitting]
        assert found == pytest.approx(max(scores), abs=1e-4)
        assert nodes == fitting[int(np.argmax(scores))]
    assert without or length < 4


@pytest.mark.parametrize("length", range(2, 7))
def test_the_loss_is_added(length: int) -> None:
    random = np.random.default_rng(length)
    every = list(derivations(0, length))
    for seed in range(3):
        units, weights, tables = sentence_tables(length, seed, spread=0.2)
        ranks = random_ranks(length, random)
        found, nodes = search(tables, length, rank_target(np.array(ranks, dtype=np.int32), LOSS, np.float32(0.7)))
        scores = [
            score(tree, units, weights, tables) + 0.7 * discordant(slow_order(tree, length), ranks) for tree in every
        ]
        assert found == pytest.approx(max(scores), abs=1e-4)
        assert nodes == every[int(np.argmax(scores))]


def test_of_equal_trees_the_straight_one_with_the_smallest_pivots_is_taken() -> None:
    units = unit_hashes(np.arange(4, dtype=np.int32), np.empty(0, dtype=np.int32))
    tables = build_tables(units, np.zeros(1 << BITS, dtype=np.float32), np.float32(0))
    expected = [(0, 1, 4, 0, ROOT), (1, 2, 4, 0, 1), (2, 3, 4, 0, 1)]
    assert search(tables, 4) == (0.0, expected)
    nodes = np.empty((3, 5), dtype=np.int32)
    beam_tree(tables, 5, nodes)
    assert [tuple(node) for node in nodes.tolist()] == expected


@pytest.mark.parametrize("length", range(7))
def test_a_tree_is_read_in_target_order(length: int) -> None:
    every = list(derivations(0, length)) if length else [[]]
    for tree in every[:: max(1, len(every) // 50)]:
        order = np.empty(length, dtype=np.int32)
        tree_order(np.array(tree, dtype=np.int32).reshape(-1, 5), order)
        assert order.tolist() == slow_order(tree, length)


@pytest.mark.parametrize("length", range(7))
def test_a_beam_that_holds_everything_finds_the_best_tree(length: int) -> None:
    width = max(1, sum(1 for _ in derivations(0, length)) if length else 1)
    for seed in range(3):
        _, _, tables = sentence_tables(length, seed)
        found, expected = search(tables, length)
        nodes = np.empty((max(length - 1, 0), 5), dtype=np.int32)
        assert beam_tree(tables, width, nodes) == pytest.approx(found, abs=1e-4)
        assert [tuple(node) for node in nodes.tolist()] == expected


def slow_beam(length: int, width: int, units: Hashes, weights: Weights, tables: Tables) -> float:
    """The definition: hypotheses are (score, open spans); all splits of the leftmost, and the best of them."""
    beam = [(0.0, [(0, length, ROOT)])]
    for _ in range(length - 1):
        candidates = []
        for known, (first, *rest) in beam:
            begin, end, context = first
            for label in range(2):
                for pivot in range(begin + 1, end):
                    halves = [(begin, pivot, 2 * label), (pivot, end, 2 * label + 1)]
                    own = score([(begin, pivot, end, label, context)], units, weights, tables)
                    candidates.append((known + own, [half for half in halves if half[1] - half[0] > 1] + rest))
        beam = sorted(candidates, key=lambda candidate: -candidate[0])[:width]
    return beam[0][0]


@pytest.mark.parametrize("width", [1, 2, 5])
def test_a_narrow_beam_is_that_of_the_definition(width: int) -> None:
    worse = 0
    for seed in range(10):
        length = 5 + seed % 4
        units, weights, tables = sentence_tables(length, seed)
        nodes = np.empty((length - 1, 5), dtype=np.int32)
        found = beam_tree(tables, width, nodes)
        assert found == pytest.approx(slow_beam(length, width, units, weights, tables), abs=1e-4)
        assert found == pytest.approx(score([tuple(n) for n in nodes.tolist()], units, weights, tables), abs=1e-4)
        best, _ = search(tables, length)
        assert found <= best + 1e-4
        worse += found < best - 1e-3
    assert worse or width > 1, "the test must meet a beam that is too narrow"
