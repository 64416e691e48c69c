"""An inversion transduction grammar, which derives both sides at once (Wu 1997).

A derivation is a binary tree over pairs of words. Each node keeps or swaps the order of its halves on the target side.
So a finished derivation contains the two sentences, their exact alignment and their exact reordering tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from wordorder.data.trees import Node, Tree


@dataclass(frozen=True, slots=True)
class Word:
    """A source word with its translation; ``None`` means that it has no counterpart."""

    source: str
    target: str | None


@dataclass(frozen=True, slots=True)
class Join:
    """Two constituents, adjacent on both sides."""

    left: Derivation
    right: Derivation
    inverted: bool


@dataclass(frozen=True, slots=True)
class Marked:
    """A constituent followed, on the target side only, by a particle that translates nothing."""

    constituent: Derivation
    particle: str


Derivation = Word | Join | Marked


def straight(left: Derivation, right: Derivation) -> Join:
    """Join two constituents in the same order on both sides."""
    return Join(left, right, inverted=False)


def inverted(left: Derivation, right: Derivation) -> Join:
    """Join two constituents in opposite orders."""
    return Join(left, right, inverted=True)


class SentencePair(NamedTuple):
    """Two sentences with their alignment and reordering tree."""

    source: list[str]
    target: list[str]
    alignment: list[tuple[int, int]]
    """Pairs (source index, target index), counted from 0 and sorted."""
    tree: Tree
    """A tree over all source words; a word without a counterpart is the straight left sister of the next one."""


def read_off(derivation: Derivation) -> SentencePair:
    """Return both sentences of a derivation, their alignment and their reordering tree."""
    source: list[str] = []

    def visit(part: Derivation) -> tuple[Tree, list[tuple[str, int | None]]]:
        """Append the part's source words; return its tree, and its target words with their source indices."""
        match part:
            case Word():
                index = len(source)
                source.append(part.source)
                return index, [] if part.target is None else [(part.target, index)]
            case Marked():
                tree, target = visit(part.constituent)
                return tree, [*target, (part.particle, None)]
            case Join():
                left_tree, left = visit(part.left)
                right_tree, right = visit(part.right)
                return Node(left_tree, right_tree, part.inverted), right + left if part.inverted else left + right

    tree, target = visit(derivation)
    alignment = sorted((index, position) for position, (_, index) in enumerate(target) if index is not None)
    return SentencePair(source, [word for word, _ in target], alignment, tree)
