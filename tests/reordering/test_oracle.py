"""Tests of the oracle against all BTG permutations, manually, and against gold trees of the generated pair."""

from __future__ import annotations

from functools import cache
from itertools import combinations, islice, permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from wordorder.alignment.links import Links
from wordorder.config.datasets import Generator
from wordorder.data.generate import generate
from wordorder.data.trees import Node, Tree, format_tree, parse_tree, tree_order
from wordorder.reordering.metrics import score_order
from wordorder.reordering.oracle import Nulls, OracleReport, OracleTree, oracle_trees
from wordorder.reordering.ranks import ranks

Pairs = list[tuple[int, int]]


def found(links: Pairs, length: int, nulls: Nulls = "left") -> OracleTree:
    source, target = np.array(links, dtype=np.int32).reshape(-1, 2).T.copy()
    links_of_one = Links(source, target, np.array([0, len(source)]))
    return next(oracle_trees(links_of_one, np.array([length]), nulls=nulls))


def swaps(orders: NDArray[np.int8]) -> NDArray[np.uint32]:
    """For each order, (orders, n), a bit for each pair of units: whether the later one stands first."""
    places = np.argsort(orders, axis=1)
    bits = np.zeros(len(orders), dtype=np.uint32)
    for bit, (i, j) in enumerate(combinations(range(orders.shape[1]), 2)):
        bits |= (places[:, i] > places[:, j]).astype(np.uint32) << np.uint32(bit)
    return bits


@cache
def btg_orders(length: int) -> NDArray[np.int8]:
    """Return the permutations without the patterns 2413 and 3142, which are those of a BTG (Wu 1997)."""
    every = np.array(list(permutations(range(length))), dtype=np.int8)
    keep = np.ones(len(every), dtype=bool)
    for four in combinations(range(length), 4):
        a, b, c, d = every[:, four].T
        keep &= ~((c < a) & (a < d) & (d < b)) & ~((b < d) & (d < a) & (a < c))
    return every[keep]


def canonical(tree: Tree) -> Tree:
    """The tree with every run of nodes of one kind branching to the right."""

    def run(part: Tree, inverted: bool) -> list[Tree]:
        if isinstance(part, Node) and part.inverted == inverted:
            return run(part.left, inverted) + run(part.right, inverted)
        return [canonical(part)]

    if not isinstance(tree, Node):
        return tree
    *others, result = run(tree, tree.inverted)
    for part in reversed(others):
        result = Node(part, result, tree.inverted)
    return result


# ------------------------------------------------------------------------------------------------------ brute force


def test_the_number_of_btg_permutations_is_that_of_schroeder() -> None:
    assert [len(btg_orders(length)) for length in range(1, 9)] == [1, 2, 6, 22, 90, 394, 1806, 8558]


@pytest.mark.parametrize("length", range(1, 9))
def test_all_permutations_of_up_to_eight_units(length: int) -> None:
    """Each is given as links; the closest BTG permutation is searched among all of them."""
    wanted = np.array(list(permutations(range(length))), dtype=np.int8)
    units = np.tile(np.arange(length, dtype=np.int32), len(wanted))
    targets = np.argsort(wanted, axis=1).astype(np.int32).ravel()
    lengths = np.full(len(wanted), length)
    report = OracleReport()
    trees = list(
        oracle_trees(Links(units, targets, np.arange(len(wanted) + 1) * length), lengths, nulls="left", report=report)
    )
    orders = np.array([tree.order for tree in trees], dtype=np.int8)
    counts = np.array([tree.discordant for tree in trees])

    btg, own, asked = swaps(btg_orders(length)), swaps(orders), swaps(wanted)
    nearest = np.array([np.bitwise_count(btg ^ bits).min() for bits in asked])
    np.testing.assert_array_equal(counts, nearest)
    np.testing.assert_array_equal(np.bitwise_count(own ^ asked), nearest)
    assert np.isin(own, btg).all()
    assert report.sentences == len(wanted) and report.not_btg == (nearest > 0).sum()
    assert report.discordant == nearest.sum() and report.pairs == len(wanted) * length * (length - 1) // 2
    for tree in trees[:: 1 + len(trees) // 500]:
        parsed = parse_tree(tree.text)
        assert parsed == canonical(parsed) and tree_order(parsed) == tree.order.tolist()


def attached(aligned: list[int], length: int, nulls: Nulls) -> dict[int, list[int]]:
    """Return the tokens attached to each token with links, including itself."""
    groups: dict[int, list[int]] = {unit: [] for unit in aligned}
    for unit in range(length):
        left = [other for other in aligned if other <= unit]
        right = [other for other in aligned if other >= unit]
        head = (left[-1:] + right[:1])[0] if nulls == "left" else (right[:1] + left[-1:])[0]
        groups[head].append(unit)
    return groups


@pytest.mark.parametrize("nulls", ["left", "right"])
def test_random_alignments_with_ties_and_units_without_links(nulls: Nulls) -> None:
    draw = np.random.default_rng(3)
    ties = unaligned = away = 0
    for _ in range(800):
        length = int(draw.integers(1, 9))
        cells = draw.random((length, int(draw.integers(1, 7)))) < draw.choice([0.15, 0.3, 0.5])
        links = [(int(i), int(j)) for i, j in np.argwhere(cells)]
        draw.shuffle(links)
        result = found(links, length, nulls)
        parsed = parse_tree(result.text)
        assert tree_order(parsed) == result.order.tolist() and parsed == canonical(parsed)
        aligned = [unit for unit in range(length) if cells[unit].any()]
        if not aligned:
            assert result.order.tolist() == list(range(length)) and result.discordant == 0
            continue
        # The order is one of groups, whose own order is that of the source.
        groups = attached(aligned, length, nulls)
        heads = [unit for unit in result.order.tolist() if unit in groups]
        assert result.order.tolist() == [unit for head in heads for unit in groups[head]]
        # No BTG order of the groups has fewer discordant pairs, nor as many and fewer swapped ties.
        means = np.array([np.flatnonzero(cells[unit]).mean() for unit in aligned])

        def costs(orders: NDArray[np.int8], means: NDArray[np.float64] = means) -> NDArray[np.int64]:
            places = np.argsort(orders, axis=1)
            total = np.zeros((len(orders), 2), dtype=np.int64)
            for i, j in combinations(range(len(means)), 2):
                swapped = places[:, i] > places[:, j]
                total[:, 0] += swapped & (means[i] < means[j]) | ~swapped & (means[i] > means[j])
                total[:, 1] += swapped & (means[i] == means[j])
            return total

        possible = costs(btg_orders(len(aligned)))
        own = costs(np.array([[aligned.index(head) for head in heads]], dtype=np.int8))[0].tolist()
        assert own == min(possible.tolist()) and own[0] == result.discordant
        ties += len(set(means)) < len(means)
        unaligned += len(aligned) < length
        away += result.discordant > 0
    assert ties > 200 and unaligned > 200 and away > 10


def test_a_reachable_order_is_a_complete_match_with_the_ranks() -> None:
    """The ranks and the mean targets are two ways to read links; where there are ranks, they agree."""
    draw = np.random.default_rng(4)
    compared = 0
    for _ in range(2000):
        length = int(draw.integers(2, 8))
        cells = np.argwhere(draw.random((length, 7)) < 0.18).astype(np.int32)
        wanted, tree = ranks(cells, length), found([(i, j) for i, j in cells.tolist()], length)
        if wanted is not None:
            tau = score_order(tree.order, wanted)["tau"]
            aligned = int((wanted >= 0).sum())
            assert (1 - tau) * (aligned * (aligned - 1) / 2) == pytest.approx(tree.discordant)
            compared += aligned >= 3
    assert compared > 300


# --------------------------------------------------------------------------------------------------------- manually


@pytest.mark.parametrize(
    ("links", "length", "nulls", "expected"),
    [
        ([], 0, "left", ""),
        ([], 1, "left", "0"),
        ([(0, 5)], 1, "right", "0"),
        ([], 4, "left", "[ 0 [ 1 [ 2 3 ] ] ]"),
        ([(0, 0), (1, 1), (2, 2)], 3, "left", "[ 0 [ 1 2 ] ]"),
        ([(0, 2), (1, 1), (2, 0)], 3, "left", "< 0 < 1 2 > >"),
        ([(0, 1), (1, 0), (2, 3), (3, 2)], 4, "left", "[ < 0 1 > < 2 3 > ]"),
        # unit 1 has no links: it keeps to the left or the right one
        ([(0, 1), (2, 0)], 3, "left", "< [ 0 1 ] 2 >"),
        ([(0, 1), (2, 0)], 3, "right", "< 0 [ 1 2 ] >"),
        # nothing on that side
        ([(1, 1), (2, 0)], 3, "left", "< [ 0 1 ] 2 >"),
        ([(0, 1), (1, 0)], 4, "right", "< 0 [ 1 [ 2 3 ] ] >"),
        ([(2, 0)], 5, "left", "[ 0 [ 1 [ 2 [ 3 4 ] ] ] ]"),
        # a tie stays in order, also where it could be swapped at no cost
        ([(0, 1), (1, 0), (2, 1)], 3, "left", "[ < 0 1 > 2 ]"),
        ([(0, 0), (0, 2), (1, 1)], 2, "left", "[ 0 1 ]"),
        # 2413: one pair is wrong, whatever one does; a straight node comes first
        ([(0, 1), (1, 3), (2, 0), (3, 2)], 4, "left", "[ 0 < 1 [ 2 3 ] > ]"),
    ],
)
def test_trees_by_hand(links: Pairs, length: int, nulls: Nulls, expected: str) -> None:
    result = found(links, length, nulls)
    assert result.text == expected
    assert result.order.tolist() == (tree_order(parse_tree(expected)) if expected else [])
    assert (result.text == "") == (length == 0)


def test_a_corpus_in_blocks_is_its_sentences_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordorder.reordering.oracle._BLOCK", 7)
    draw = np.random.default_rng(5)
    rows: list[Pairs] = []
    lengths = draw.integers(0, 12, 40)
    for length in lengths:
        rows.append([(int(i), int(j)) for i, j in np.argwhere(draw.random((length, 9)) < 0.15)])
    report = OracleReport()
    corpus = [
        (tree.text, tree.order.tolist(), tree.discordant)
        for tree in oracle_trees(Links.of(rows), lengths, nulls="right", report=report)
    ]
    single = [found(row, int(length), "right") for row, length in zip(rows, lengths, strict=True)]
    assert corpus == [(tree.text, tree.order.tolist(), tree.discordant) for tree in single]
    assert report.sentences == 40 and report.without_links == sum(not row for row in rows) > 0
    assert report.not_btg == sum(tree.discordant > 0 for tree in single) > 0
    assert report.discordant == sum(tree.discordant for tree in single)
    aligned = [len({i for i, _ in row}) for row in rows]
    assert report.pairs == sum(count * (count - 1) // 2 for count in aligned)


def test_no_sentence_at_all() -> None:
    assert list(oracle_trees(Links.of([]), np.zeros(0, dtype=np.int64))) == []


def test_five_hundred_units() -> None:
    """In reverse, and in an order of blocks that one tree reaches, with a unit without links after every fourth."""
    reverse = found([(unit, 499 - unit) for unit in range(500)], 500)
    assert reverse.discordant == 0 and reverse.order.tolist() == list(range(499, -1, -1))
    blocks = np.arange(500).reshape(20, 25)[::-1].reshape(-1)
    kept = [(unit, place) for place, unit in enumerate(blocks.tolist()) if unit % 5 != 4]
    result = found(kept, 500)
    assert result.discordant == 0 and result.order.tolist() == blocks.tolist()


def test_a_link_outside_its_sentence_is_refused() -> None:
    with pytest.raises(ValueError, match=r"sentence 1 .*\b2-0\b"):
        list(oracle_trees(Links.of([[(0, 0)], [(2, 0)]]), np.array([1, 2])))


# ------------------------------------------------------------------------------------------------ the generated pair


def test_the_gold_trees_of_the_generated_pair_are_recovered() -> None:
    """From the alignments alone, with 'the' keeping to the word after it: every order, and every tree up to the
    bracketing of its runs, which no alignment tells."""
    pairs = list(islice(generate(Generator(), "train"), 1500))
    links = Links.of(pair.alignment for pair in pairs)
    report = OracleReport()
    trees = oracle_trees(links, np.array([len(pair.source) for pair in pairs]), nulls="right", report=report)
    inverted = 0
    for pair, tree in zip(pairs, trees, strict=True):
        assert tree.order.tolist() == tree_order(pair.tree)
        assert tree.text == format_tree(canonical(pair.tree))
        inverted += "<" in tree.text
    assert inverted > 1400
    assert report.sentences == 1500 and report.not_btg == report.discordant == report.without_links == 0
