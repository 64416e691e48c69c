"""Tests of Kendall's tau, fuzzy reordering score and complete match, manually and against their definitions."""

from __future__ import annotations

import json
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest

from wordorder.cli.main import main
from wordorder.data.ragged import Ragged
from wordorder.reordering.metrics import identity_orders, score_order, score_orders


def by_definition(order: list[int], ranks: list[int]) -> tuple[float, float, float]:
    kept = [ranks[unit] for unit in order if ranks[unit] >= 0]
    if len(kept) < 2:
        return 1.0, 1.0, 1.0
    pairs = list(combinations(kept, 2))
    tau = 1 - sum(first > second for first, second in pairs) / len(pairs)
    # Talbot et al.: 1 - (chunks - 1) / (units - 1), where begin and end are units.
    chunks = 1
    for first, second in pairwise([-1, *kept, max(kept) + 1]):
        chunks += second not in (first, first + 1)
    return tau, 1 - (chunks - 1) / (len(kept) + 1), float(kept == sorted(kept))


def scores(order: list[int], ranks: list[int]) -> tuple[float, float, float]:
    found = score_order(np.array(order, dtype=np.int32), np.array(ranks, dtype=np.int32))
    assert list(found) == ["tau", "fuzzy", "complete"]
    return found["tau"], found["fuzzy"], found["complete"]


@pytest.mark.parametrize(
    ("order", "ranks", "expected"),
    [
        ([0, 1, 2], [0, 1, 2], (1, 1, 1)),
        ([2, 1, 0], [2, 1, 0], (1, 1, 1)),
        ([0, 1, 2], [2, 1, 0], (0, 0, 0)),
        # begin|2 0 1|end, by ranks: two of four neighbours belong together (0 1, and none of begin 2, 2 0, 1 end)
        ([0, 1, 2], [2, 0, 1], (1 / 3, 1 / 4, 0)),
        ([0, 1, 2, 3], [0, -1, 2, 1], (2 / 3, 1 / 4, 0)),  # units 0, 2, 3: begin 0 is right
        ([3, 1, 0, 2], [0, 0, 1, 0], (1, 1, 1)),  # tied units in any order, before the last
        ([3, 2, 0, 1], [0, 0, 1, 0], (4 / 6, 3 / 5, 0)),  # 0 1 0 0: begin 0, 0 1 and 0 0 of five neighbours
        ([0, 1], [-1, 0], (1, 1, 1)),
        ([1, 0], [-1, -1], (1, 1, 1)),
        ([], [], (1, 1, 1)),
    ],
)
def test_scores_by_hand(order: list[int], ranks: list[int], expected: tuple[float, float, float]) -> None:
    assert scores(order, ranks) == pytest.approx(expected)
    assert by_definition(order, ranks) == pytest.approx(expected)


def corpus(sentences: int) -> tuple[list[list[int]], list[list[int]]]:
    draw = np.random.default_rng(2)
    orders, ranks = [], []
    for _ in range(sentences):
        length = int(draw.integers(0, 12))
        raw = draw.integers(-1, max(2, length - 2), length)
        dense = {value: rank for rank, value in enumerate(sorted(set(raw.tolist()) - {-1}))}
        ranks.append([dense.get(value, -1) for value in raw.tolist()])
        near = np.argsort(raw + draw.normal(0, 1, length)) if draw.random() < 0.8 else draw.permutation(length)
        orders.append(near.tolist())
    return orders, ranks


def test_a_corpus_against_the_definitions() -> None:
    orders, ranks = corpus(500)
    found = score_orders(Ragged.of(orders), Ragged.of(ranks))
    expected = np.array([by_definition(order, row) for order, row in zip(orders, ranks, strict=True)])
    np.testing.assert_allclose(np.stack([found.tau, found.fuzzy, found.complete], axis=1), expected, atol=1e-15)
    assert list(found.means().values()) == pytest.approx(expected.mean(axis=0))
    assert len(set(np.round(found.tau, 6))) > 50 and 0.05 < found.complete.mean() < 0.8


def test_sentences_without_ranks_are_left_out() -> None:
    orders, ranks = corpus(60)
    ranked = np.arange(60) % 3 != 1
    found = score_orders(Ragged.of(orders), Ragged.of(ranks), ranked)
    kept = [by_definition(orders[index], ranks[index]) for index in np.flatnonzero(ranked)]
    assert len(found.tau) == 40 and found.tau.tolist() == pytest.approx([tau for tau, _, _ in kept])
    nothing = score_orders(Ragged.of(orders), Ragged.of(ranks), np.zeros(60, dtype=bool))
    assert all(np.isnan(value) for value in nothing.means().values())


def test_where_there_is_no_sentence_there_is_no_score(tmp_path: Path) -> None:
    paths = {name: tmp_path / name for name in ("orders", "links", "output")}
    paths["orders"].touch()
    paths["links"].touch()
    assert (
        main(["stage", "score-orders", *(text for name, path in paths.items() for text in (f"--{name}", str(path)))])
        == 0
    )
    found = json.loads(paths["output"].read_text(), parse_constant=pytest.fail)  # NaN is no JSON
    none = dict.fromkeys(("tau", "fuzzy", "complete"))
    assert found == {"sentences": 0, "with_ranks": 0, "predicted": none, "identity": none}


def test_identity_orders_keep_every_sentence() -> None:
    ranks = Ragged.of([[0, 1, 2], [2, 1, 0], [0, 2, 1], [0, -1]])
    tau = score_orders(identity_orders(ranks.offsets), ranks).means()["tau"]
    assert 1 - tau == pytest.approx((0 + 1 + 1 / 3 + 0) / 4)
    assert [row.tolist() for row in identity_orders(ranks.offsets)] == [[0, 1, 2]] * 3 + [[0, 1]]


@pytest.mark.parametrize(
    ("orders", "ranks", "message"),
    [
        ([[0, 1]], [[0]], "different sentences"),
        ([[0, 1], [0]], [[0], [0, 1]], "different sentences"),
        ([[0], [0, 2]], [[0], [0, 1]], "does not have"),
        ([[0, -1]], [[0, 1]], "does not have"),
    ],
)
def test_orders_that_do_not_fit_are_refused(orders: list[list[int]], ranks: list[list[int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        score_orders(Ragged.of(orders), Ragged.of(ranks))
