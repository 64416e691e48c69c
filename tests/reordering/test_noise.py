"""Tests of noise in positions: permutations, the share that moves, and what the random numbers depend on."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from wordorder.reordering.noise import noisy


def corpus(sentences: int, longest: int = 30) -> list[NDArray[np.int64]]:
    draw = np.random.default_rng(1)
    return [draw.permutation(int(length)) for length in draw.integers(0, longest + 1, sentences)]


def moved(rows: list[NDArray[np.int64]], found: list[NDArray[np.int64]]) -> list[int]:
    return [int((row != changed).sum()) for row, changed in zip(rows, found, strict=True)]


@pytest.mark.parametrize("ratio", [0.02, 0.05, 0.1, 0.2, 0.5])
def test_the_share_of_moved_positions(ratio: float) -> None:
    rows = corpus(6000)
    found = list(noisy(rows, ratio, seed=1))
    for row, changed in zip(rows, found, strict=True):
        assert sorted(changed.tolist()) == sorted(row.tolist()), "a permutation"
    counts = moved(rows, found)
    assert sum(counts) / sum(map(len, rows)) == pytest.approx(ratio, rel=0.03)
    # Each sentence has its share, up to the rounding to whole swaps.
    assert all(count % 2 == 0 for count in counts)
    assert all(abs(count - ratio * len(row)) < 2 for row, count in zip(rows, counts, strict=True))


def test_swaps_are_of_pairs() -> None:
    """Done twice, a swap undoes itself: where i has taken the position of j, j has taken that of i."""
    rows = corpus(300)
    for row, changed in zip(rows, noisy(rows, 0.3, seed=2), strict=True):
        holder = {position: token for token, position in enumerate(row.tolist())}
        partner = [holder[position] for position in changed.tolist()]
        assert [partner[token] for token in partner] == list(range(len(row)))


def test_every_pair_of_tokens_is_as_likely() -> None:
    rows = [np.arange(5)] * 20000
    pairs = np.zeros((5, 5), dtype=int)
    for changed in noisy(rows, 0.2, seed=3):
        one, *others = np.flatnonzero(changed != np.arange(5)).tolist() or [0]
        for two in others:
            pairs[one, two] += 1
    # A half of the sentences have one swap: 1,000 for each of ten pairs, with a standard deviation of 31.
    assert pairs[np.triu_indices(5, 1)].min() > 880 and pairs.sum() == pytest.approx(10000, abs=300)


def test_ratio_0_changes_nothing_and_rows_that_come_in_are_left_alone() -> None:
    rows = corpus(200)
    before = [row.copy() for row in rows]
    assert sum(moved(rows, list(noisy(rows, 0.0, seed=4)))) == 0
    assert sum(moved(rows, list(noisy(rows, 0.2, seed=4)))) > 0
    assert sum(moved(before, rows)) == 0


def test_ratio_1_moves_all_but_an_odd_one() -> None:
    rows = corpus(300, longest=9)
    assert moved(rows, list(noisy(rows, 1.0, seed=5))) == [len(row) // 2 * 2 for row in rows]


def test_noise_depends_on_the_seed_and_the_number_of_the_sentence_alone() -> None:
    rows = [np.arange(20)] * 60
    whole = [row.tolist() for row in noisy(rows, 0.2, seed=6)]
    again = [row.tolist() for row in noisy(rows, 0.2, seed=6)]
    parts = [row.tolist() for start in (40, 0, 20) for row in noisy(rows[start : start + 20], 0.2, 6, first=start)]
    assert whole == again == parts[20:] + parts[:20]
    other = [row.tolist() for row in noisy(rows, 0.2, seed=7)]
    assert sum(row == changed for row, changed in zip(whole, other, strict=True)) < 3
    assert len({tuple(row) for row in whole}) > 57
    # The next seed is not this one, one sentence later.
    assert other[:-1] != whole[1:]


def test_lists_and_short_sentences() -> None:
    found = [row.tolist() for row in noisy([[], [0], [1, 0]], 1.0, seed=8)]
    assert found == [[], [0], [0, 1]]


def test_the_same_noise_on_every_machine() -> None:
    (found,) = noisy([range(12)], 0.5, seed=1, first=9)
    assert found.tolist() == GOLDEN


GOLDEN = [0, 1, 2, 6, 5, 4, 3, 7, 8, 11, 10, 9]  # found with a second program, in plain Python


@pytest.mark.parametrize(("ratio", "seed", "message"), [(-0.1, 1, "ratio of -0.1"), (1.5, 1, "1.5"), (0.1, -1, "seed")])
def test_settings_out_of_range_are_refused_at_once(ratio: float, seed: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        noisy([], ratio, seed)
