"""Tests of numbers and lists in sentences."""

from __future__ import annotations

from wordorder.wording import count_of, listed


def test_a_noun_is_singular_after_one_only() -> None:
    assert [count_of(number, "seed") for number in (0, 1, 2)] == ["0 seeds", "1 seed", "2 seeds"]


def test_a_list_has_commas_and_one_and() -> None:
    assert [listed("abc"[:number]) for number in range(4)] == ["", "a", "a and b", "a, b and c"]
