"""Reordering trees: binary bracketings of a sentence whose nodes are straight or inverted.

These are the trees of bracketing transduction grammar (Wu 1997, "Stochastic Inversion Transduction Grammars and
Bilingual Parsing of Parallel Corpora"). A leaf is the index of a source token. ``[ a b ]`` keeps the order of its two
halves in the target language, ``< a b >`` swaps them: ``< 0 [ 1 2 ] >`` reads 1 2 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from wordorder.errors import WordorderError

_CLOSING = {"[": "]", "<": ">"}


@dataclass(frozen=True, slots=True)
class Node:
    """A node whose halves ``left`` and ``right`` are adjacent in the source; ``inverted`` if the target swaps them."""

    left: Tree
    right: Tree
    inverted: bool = False


Tree = int | Node


def parse_tree(text: str) -> Tree:
    """Read a tree from one line.

    Args:
        text: The line.

    Returns:
        The tree.

    Raises:
        WordorderError: The brackets do not match, a node does not have two halves, or the leaves are not 0, 1, 2, ...
            from left to right.
    """
    stack: list[Tree | str] = []
    leaves = 0
    for token in text.split():
        if token in _CLOSING:
            stack.append(token)
        elif token in ("]", ">"):
            match stack[-3:]:
                case [str(opening), int() | Node() as left, int() | Node() as right] if _CLOSING[opening] == token:
                    stack[-3:] = [Node(left, right, inverted=token == ">")]
                case _:
                    raise _malformed(text, f"'{token}' does not close a node of exactly two halves")
        elif token == str(leaves):
            stack.append(leaves)
            leaves += 1
        else:
            raise _malformed(text, f"'{token}' was found where the leaf {leaves} or a bracket is expected")
    match stack:
        case [int() | Node() as tree]:
            return tree
        case _:
            raise _malformed(text, "it is not one closed tree")


def _malformed(text: str, problem: str) -> WordorderError:
    return WordorderError(
        f"The reordering tree '{text.strip()}' cannot be read: {problem}. A tree is a token index, '[ tree tree ]' "
        "(straight) or '< tree tree >' (inverted), all separated by spaces, with the indices 0, 1, 2, ... in order.",
        code="malformed-line",
        found=text.strip(),
    )


def format_tree(tree: Tree) -> str:
    """Format a tree for :func:`parse_tree`."""
    words: list[str] = []
    stack: list[Tree | str] = [tree]
    while stack:
        match stack.pop():
            case Node(left, right, inverted):
                opening = "<" if inverted else "["
                words.append(opening)
                stack += [_CLOSING[opening], right, left]
            case leaf_or_bracket:
                words.append(str(leaf_or_bracket))
    return " ".join(words)


def tree_order(tree: Tree) -> list[int]:
    """Return the source indices in the order of the target language."""
    order: list[int] = []
    stack = [tree]
    while stack:
        match stack.pop():
            case Node(left, right, inverted):
                stack += [left, right] if inverted else [right, left]
            case int() as leaf:
                order.append(leaf)
    return order
