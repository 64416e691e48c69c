"""Tests of Nakagawa's ranks against the definition."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from wordorder.alignment.links import Links
from wordorder.reordering.ranks import corpus_ranks, ranks

Pairs = list[tuple[int, int]]


def by_definition(links: Pairs, length: int) -> list[int] | None:
    targets = [{target for source, target in links if source == unit} for unit in range(length)]
    aligned = [unit for unit in range(length) if targets[unit]]

    def not_after(i: int, j: int) -> bool:
        left = all(x < y for x in targets[i] - targets[j] for y in targets[j])
        return left and all(x < y for x in targets[i] for y in targets[j] - targets[i])

    for i, j in combinations(aligned, 2):
        if not (not_after(i, j) or not_after(j, i)):
            return None
    for i, j, k in product(aligned, repeat=3):
        if not_after(i, j) and not_after(j, k) and not not_after(i, k):
            return None
    before = {i: sum(not not_after(i, j) for j in aligned) for i in aligned}
    dense = {count: rank for rank, count in enumerate(sorted(set(before.values())))}
    return [dense[before[unit]] if unit in before else -1 for unit in range(length)]


def found(links: Pairs, length: int) -> list[int] | None:
    result = ranks(np.array(links, dtype=np.int32).reshape(-1, 2), length)
    return None if result is None else result.tolist()


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ([], [-1, -1, -1]),
        ([(0, 2), (2, 0)], [1, -1, 0]),
        ([(2, 9), (0, 4), (1, 7)], [0, 1, 2]),
        ([(0, 3), (1, 3), (2, 1)], [1, 1, 0]),  # a tie
        ([(0, 1), (0, 2), (1, 2), (1, 3), (2, 0)], [1, 2, 0]),  # 0 and 1 share a target and are still in order
        ([(0, 1), (0, 3), (1, 2), (2, 5)], None),  # 1 stands amid 0
        ([(0, 1), (0, 3), (1, 1), (1, 2), (1, 3)], None),  # 1 has all targets of 0 and one amid them
        ([(0, 1), (0, 2), (1, 1), (1, 2), (2, 2)], [0, 0, 1]),
        ([(0, 1), (0, 1), (1, 0), (1, 0)], [1, 0, -1]),  # a link that is given twice counts once
    ],
)
def test_ranks_by_hand(links: Pairs, expected: list[int] | None) -> None:
    assert found(links, 3) == expected == by_definition(links, 3)


def test_all_alignments_of_three_units_with_four() -> None:
    """2**12 alignments, which hold every way in which three units can relate."""
    cells = list(product(range(3), range(4)))
    rows, expected = [], []
    for chosen in product((False, True), repeat=len(cells)):
        links = [cell for cell, taken in zip(cells, chosen, strict=True) if taken]
        rows.append(links)
        expected.append(by_definition(links, 3))
    values, ranked = corpus_ranks(Links.of(rows), np.full(len(rows), 3))
    assert [row.tolist() if has else None for row, has in zip(values, ranked, strict=True)] == expected
    assert all((row == -1).all() for row, has in zip(values, ranked, strict=True) if not has)
    assert 1000 < ranked.sum() < 4000


def test_random_alignments_of_longer_sentences() -> None:
    """Sparse ones, whose links are given in any order; a third of them have ranks."""
    draw = np.random.default_rng(1)
    seen = []
    for _ in range(600):
        length = int(draw.integers(0, 9))
        centres = draw.permutation(length)
        links = [(unit, 2 * int(centres[unit])) for unit in range(length) if draw.random() < 0.8]
        links += [(unit, target + int(draw.integers(-3, 4))) for unit, target in links if draw.random() < 0.4]
        links = [(unit, max(target, 0)) for unit, target in links]
        draw.shuffle(links)
        result = found(links, length)
        assert result == by_definition(links, length), links
        seen.append(result is not None)
    assert 150 < sum(seen) < 550


def test_sentences_of_a_corpus_do_not_touch_one_another() -> None:
    rows: list[Pairs] = [[], [(0, 1), (1, 0)], [(0, 1), (0, 3), (1, 2)], [], [(1, 5)]]
    values, ranked = corpus_ranks(Links.of(rows), np.array([0, 2, 2, 1, 3]))
    assert [row.tolist() for row in values] == [[], [1, 0], [-1, -1], [-1], [-1, 0, -1]]
    assert ranked.tolist() == [True, True, False, True, True]


def test_five_hundred_units_in_reverse() -> None:
    links = np.array([(unit, 499 - unit) for unit in range(500)], dtype=np.int32)
    result = ranks(links, 500)
    assert result is not None and result.tolist() == list(range(499, -1, -1))


@pytest.mark.parametrize(
    ("rows", "lengths", "message"),
    [
        ([[(0, 0)], [(1, 0), (2, 4)]], [1, 2], r"sentence 1 .* 2-4\b"),
        ([[], [], [(-1, 0), (0, 3)]], [0, 0, 2], r"sentence 2 .* -1-0\b"),
        ([[(0, -1)]], [1], r"sentence 0 .* 0--1\b"),
        ([[(0, 0)]], [1, 1], r"\b1 sentences .*\b2\b"),
    ],
)
def test_links_that_do_not_fit_are_refused(rows: list[Pairs], lengths: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        corpus_ranks(Links.of(rows), np.array(lengths))
