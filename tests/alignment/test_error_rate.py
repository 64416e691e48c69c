"""Tests of the alignment error rate against values computed manually and against its definition with sets."""

from __future__ import annotations

import random

import pytest

from wordorder.alignment.error_rate import error_rate
from wordorder.alignment.links import GoldLinks, Links


def gold(sure: list[list[tuple[int, int]]], possible: list[list[tuple[int, int]]]) -> GoldLinks:
    return GoldLinks(Links.of(sure), Links.of([[*s, *p] for s, p in zip(sure, possible, strict=True)]))


def test_by_hand() -> None:
    # Found 5: two sure, one possible, two wrong. One sure link is missed.
    found = Links.of([[(0, 0), (1, 1), (2, 2)], [(0, 1), (1, 0)]])
    rate = error_rate(found, gold([[(0, 0), (1, 2)], [(0, 1)]], [[(1, 1)], []]))
    assert (rate.found, rate.sure, rate.found_sure, rate.found_possible) == (5, 3, 2, 3)
    assert rate.precision == 3 / 5
    assert rate.recall == 2 / 3
    assert rate.aer == 1 - (2 + 3) / (5 + 3)


def test_gold_links_given_to_themselves() -> None:
    reference = gold([[(0, 0), (3, 1)], []], [[(1, 1)], [(2, 2)]])
    for links in (reference.sure, reference.possible):
        rate = error_rate(links, reference)
        assert (rate.precision, rate.recall, rate.aer) == (1, 1, 0)


def test_a_link_counts_in_its_own_sentence_only() -> None:
    rate = error_rate(Links.of([[(0, 1)], [(1, 0)]]), gold([[(1, 0)], [(0, 1)]], [[], []]))
    assert (rate.precision, rate.recall, rate.aer) == (0, 0, 1)


def test_against_the_definition() -> None:
    draw = random.Random(1)

    def links(chance: float) -> list[list[tuple[int, int]]]:
        return [[(i, j) for i in range(6) for j in range(5) if draw.random() < chance] for _ in range(30)]

    found, sure, possible = links(0.3), links(0.2), links(0.2)
    rate = error_rate(Links.of(found), gold(sure, possible))
    a, s, p = (
        {(n, *link) for n, pair in enumerate(rows) for link in pair}
        for rows in (found, sure, [[*x, *y] for x, y in zip(sure, possible, strict=True)])
    )
    assert rate.precision == pytest.approx(len(a & p) / len(a))
    assert rate.recall == pytest.approx(len(a & s) / len(s))
    assert rate.aer == pytest.approx(1 - (len(a & s) + len(a & p)) / (len(a) + len(s)))


def test_nothing_found_or_nothing_sure() -> None:
    nothing, something = Links.of([[]]), Links.of([[(0, 0)]])
    missed = error_rate(nothing, gold([[(0, 0)]], [[]]))
    assert (missed.precision, missed.recall, missed.aer) == (1, 0, 1)
    wrong = error_rate(something, gold([[]], [[]]))
    assert (wrong.precision, wrong.recall, wrong.aer) == (0, 1, 1)
    assert error_rate(nothing, gold([[]], [[]])).aer == 0
    assert error_rate(Links.of([]), gold([], [])).aer == 0


def test_other_sentences_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\b1 .*gold.* 2\b"):
        error_rate(Links.of([[]]), gold([[], []], [[], []]))
