"""Test that the tables of a sentence give every node the weights of its features, computed slowly here."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from wordorder.reordering.features import FEATURES, ROOT, Tables, build_tables, hash_shift, node_features, unit_hashes

BITS = 14
MASK = 2**64 - 1
Node = tuple[int, int, int, int, int]


def mixed(value: int) -> int:
    """The finaliser of SplitMix64."""
    value = (value + 1) * 0x9E3779B97F4A7C15 & MASK
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & MASK
    return value ^ (value >> 31)


# The multiplier of each place, as the module's constants were made.
PLACES = ["before", "first", "second_last", "last_left", "first_right", "second", "last", "after", "sizes"]
MULTIPLIER = {place: mixed((1 << 40) + number) | 1 for number, place in enumerate(PLACES)}
IN_CONTEXT, AT_ROOT = mixed(1 << 41), mixed((1 << 41) + 1)
TEMPLATES = [
    "before", "first", "last_left", "first_right", "last", "after",
    "before first", "first last_left", "first first_right", "first last", "last_left first_right", "last_left last",
    "first_right last", "last after",
    "second_last last_left first_right", "first last_left first_right", "last_left first_right last",
    "last_left first_right second",
    "first last_left first_right last",
]  # fmt: skip
CONTEXT_TEMPLATES = ["first", "last_left", "first_right", "last", "first last"]


def slow_features(sentence: list[int], classes: list[int], node: Node) -> list[int]:
    """Indices of the weights of a node."""
    begin, pivot, end, label, context = node
    indices = []

    def plain(key: int) -> None:
        index = (key & MASK) >> (64 - BITS)
        indices.append(index - index % 2 + label)

    def told_apart(key: int) -> None:
        if context == ROOT:
            plain(key + AT_ROOT)
        else:
            index = (key + IN_CONTEXT & MASK) >> (64 - BITS)
            indices.append(index - index % 8 + 2 * context + label)

    left, right = pivot - begin, end - pivot
    balance = 0 if left > right else 1 if left < right else 2
    for kind, first, second in (
        (0, 0, 0),
        (1, min(end - begin, 99), 0),
        (2, min(left, 5), min(right, 5)),
        (3, balance, 0),
    ):
        plain(mixed((1 << 34) + 10000 * kind + 100 * first + second) * MULTIPLIER["sizes"])
    told_apart(0)
    where = {
        "before": begin - 1, "first": begin, "second_last": pivot - 2, "last_left": pivot - 1,
        "first_right": pivot, "second": pivot + 1, "last": end - 1, "after": end,
    }  # fmt: skip
    for kind in range(2 if classes else 1):

        def number(unit: int, kind: int = kind) -> int:
            if not 0 <= unit < len(sentence):
                return mixed((1 << 33) + kind)
            return mixed(sentence[unit] if kind == 0 else (1 << 32) + classes[sentence[unit]])

        for templates, add in ((TEMPLATES, plain), (CONTEXT_TEMPLATES, told_apart)):
            for template in templates:
                add(sum(number(where[place]) * MULTIPLIER[place] for place in template.split()))
    return indices


def all_nodes(length: int) -> list[Node]:
    """List every possible node of a tree over ``length`` tokens."""
    return [
        (begin, pivot, end, label, context)
        for begin, pivot, end in combinations(range(length + 1), 3)
        for label in range(2)
        for context in ([ROOT] if end - begin == length else range(4))
    ]


def table_score(tables: Tables, node: Node) -> float:
    """The sum that the description of the tables promises, without the weights of four places."""
    begin, pivot, end, label, context = node
    if context == ROOT:
        told_apart = tables.root_span[label] + tables.root_pivot[label, pivot]
    else:
        which = 2 * context + label
        told_apart = tables.span[which, begin, end] + tables.context_pivot[which, pivot]
    known = tables.begin_pivot[label, begin, pivot] + tables.pivot_end[label, pivot, end]
    return float(told_apart + known + tables.halves[label, pivot - begin, end - pivot])


@pytest.mark.parametrize("with_classes", [True, False])
@pytest.mark.parametrize("sentence", [[3, 1], [5, 0, 5, 2], [7, 7, 7, 1, 2, 6, 3], [*range(1, 8), *range(1, 7)]])
def test_tables_and_features_are_those_of_the_slow_definition(sentence: list[int], with_classes: bool) -> None:
    random = np.random.default_rng(len(sentence))
    weights = random.normal(size=1 << BITS).astype(np.float32)
    classes = [2, 0, 1, 3, 1, 0, 2, 2] if with_classes else []
    units = unit_hashes(np.array(sentence, dtype=np.int32), np.array(classes, dtype=np.int32))
    tables = build_tables(units, weights, np.float32(0))
    out = np.zeros(FEATURES, dtype=np.int64)
    for node in all_nodes(len(sentence)):
        expected = slow_features(sentence, classes, node)
        count = node_features(units, hash_shift(weights), np.array(node, dtype=np.int32), out)
        assert count == (FEATURES if with_classes else 29)
        assert sorted(out[:count]) == sorted(expected)
        four = [expected[-6], *([expected[-30]] if with_classes else [])]  # the last of TEMPLATES, of each kind
        assert table_score(tables, node) + weights[four].sum() == pytest.approx(weights[expected].sum(), abs=2e-5)


def test_the_inversion_penalty_is_taken_from_inverted_nodes_alone() -> None:
    weights = np.random.default_rng(0).normal(size=1 << BITS).astype(np.float32)
    units = unit_hashes(np.array([1, 2, 3, 4], dtype=np.int32), np.empty(0, dtype=np.int32))
    free, dear = (build_tables(units, weights, np.float32(penalty)) for penalty in (0, 0.5))
    for node in all_nodes(4):
        expected = 0.5 if node[3] else 0.0
        assert table_score(free, node) - table_score(dear, node) == pytest.approx(expected, abs=1e-5)


def test_features_tell_nodes_apart() -> None:
    """With this many weights two of the nodes of a sentence hardly share more than they must."""
    sentence = np.arange(1, 7, dtype=np.int32)
    units = unit_hashes(sentence, sentence[:0])
    nodes = all_nodes(6)
    out = np.zeros(FEATURES, dtype=np.int64)
    found = set()
    for node in nodes:
        count = node_features(units, np.uint64(64 - 22), np.array(node, dtype=np.int32), out)
        found.add(tuple(out[:count].tolist()))
    assert len(found) == len(nodes)
