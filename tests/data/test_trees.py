"""Tests of reordering trees: their text, and the order that they represent."""

from __future__ import annotations

import pytest

from raises import raises
from wordorder.data.trees import Node, Tree, format_tree, parse_tree, tree_order


@pytest.mark.parametrize(
    ("text", "tree", "order"),
    [
        ("0", 0, [0]),
        ("< 0 [ 1 2 ] >", Node(0, Node(1, 2), inverted=True), [1, 2, 0]),
        ("[ < 0 < 1 2 > > 3 ]", Node(Node(0, Node(1, 2, inverted=True), inverted=True), 3), [2, 1, 0, 3]),
    ],
)
def test_a_tree_is_read_and_written(text: str, tree: Tree, order: list[int]) -> None:
    assert parse_tree(text) == tree
    assert format_tree(tree) == text
    assert tree_order(tree) == order


def test_trees_may_be_as_deep_as_a_sentence_is_long() -> None:
    tree: Node | int = 0
    for leaf in range(1, 5000):
        tree = Node(tree, leaf, inverted=True)
    assert tree_order(parse_tree(format_tree(tree))) == list(reversed(range(5000)))


@pytest.mark.parametrize(
    "text",
    ["", "1", "[ 0 1", "[ 0 1 >", "[ 0 ]", "[ 0 1 2 ]", "0 1", "[ 1 0 ]", "[ 0 x ]", "]", "[ 0 01 ]", "[ [ 0 1 ]"],
)
def test_a_malformed_tree_is_refused(text: str) -> None:
    with raises("malformed-line"):
        parse_tree(text)
