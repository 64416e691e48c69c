"""Tests of symmetrisation on small matrices, and against a slow version that follows the definition."""

from __future__ import annotations

import random
from typing import get_args

import pytest

from wordorder.alignment.links import Links
from wordorder.alignment.symmetrise import symmetrise
from wordorder.config.reordering import Symmetrisation

Pairs = set[tuple[int, int]]


def combined(forward: Pairs, backward: Pairs, how: Symmetrisation) -> Pairs:
    (found,) = symmetrise(Links.of([forward]), Links.of([backward]), how)
    assert found.tolist() == sorted(found.tolist())
    return {(i, j) for i, j in found.tolist()}


def matrix(*lines: str) -> tuple[Pairs, Pairs, Pairs]:
    """A row a source unit: 'f' forward only, 'b' backward only, 'x' both; a capital is in grow-diag-final-and."""
    cells = {(i, j): cell for i, line in enumerate(lines) for j, cell in enumerate(line.split())}
    forward = {place for place, cell in cells.items() if cell in "fFX"}
    backward = {place for place, cell in cells.items() if cell in "bBX"}
    return forward, backward, {place for place, cell in cells.items() if cell in "FBX"}


BY_HAND = {
    "both agree": matrix("X .", ". X"),
    "a neighbour of which one side is free": matrix("X F .", ". . X"),
    "a corner": matrix("X . .", ". B .", ". . X"),
    "no neighbour where both sides are taken": matrix("X f", ". X"),
    "a chain is grown link by link": matrix("X . .", "B . .", "B . .", "B . ."),
    "a chain against the scan": matrix("B . .", "B . .", "B . .", "X . ."),
    # No neighbour, both sides free: the last step adds it, from either direction.
    "far and free": matrix("X . . .", ". . . .", ". . . F"),
    "far and free backward": matrix("X . . .", ". . . .", ". . . B"),
    # Row 2 is free but column 0 is not.
    "far, one side free": matrix("X . .", ". . .", "f . ."),
    # Forward goes first and takes row 2.
    "forward before backward": matrix("X . . . .", ". . . . .", ". . F . b"),
    "nothing in common": matrix("F .", ". F"),
    # Both are neighbours of (1, 1). The side (0, 1) comes before the corner (0, 0) and takes row 0.
    "sides before corners": matrix("f F .", ". X .", "X . ."),
    "nothing": matrix(". .", ". ."),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name: str) -> None:
    forward, backward, expected = BY_HAND[name]
    assert combined(forward, backward, "intersection") == forward & backward
    assert combined(forward, backward, "union") == forward | backward
    assert combined(forward, backward, "grow-diag-final-and") == expected


def grow_diag_final_and(forward: Pairs, backward: Pairs, rows: int, columns: int) -> Pairs:
    """Compute grow-diag-final-and as Koehn, Och & Marcu write it, with lists and sets."""
    union, found = forward | backward, forward & backward
    neighbours = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]

    def free(i: int, j: int) -> tuple[bool, bool]:
        return all(link[0] != i for link in found), all(link[1] != j for link in found)

    while True:
        before = set(found)
        for i in range(rows):
            for j in range(columns):
                if (i, j) in found:
                    for di, dj in neighbours:
                        new = i + di, j + dj
                        if new in union and any(free(*new)):
                            found.add(new)
        if found == before:
            break
    for direction in (forward, backward):
        for link in sorted(direction):
            if all(free(*link)):
                found.add(link)
    return found


def test_many_random_matrices() -> None:
    draw = random.Random(1)
    pairs = []
    for _ in range(300):
        rows, columns = draw.randint(1, 7), draw.randint(1, 7)
        forward = {(draw.randrange(rows), j) for j in range(columns) if draw.random() < 0.8}
        backward = {(i, draw.randrange(columns)) for i in range(rows) if draw.random() < 0.8}
        pairs.append((forward, backward, grow_diag_final_and(forward, backward, rows, columns)))
    directions = Links.of([pair[0] for pair in pairs]), Links.of([pair[1] for pair in pairs])
    found = symmetrise(*directions, "grow-diag-final-and")
    assert [{(i, j) for i, j in links.tolist()} for links in found] == [expected for _, _, expected in pairs]
    assert sum(a & b < expected < a | b for a, b, expected in pairs) > 50, "the matrices must differ"


@pytest.mark.parametrize("how", get_args(Symmetrisation))
def test_empty_pairs_stay_where_they_are(how: Symmetrisation) -> None:
    links = Links.of([[], [(0, 0)], [], [(1, 2)], []])
    found = symmetrise(links, links, how)
    assert found.offsets.tolist() == [0, 0, 1, 1, 2, 2]
    assert len(symmetrise(Links.of([]), Links.of([]), how)) == 0


def test_different_texts_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\b1 .*\b2 "):
        symmetrise(Links.of([[]]), Links.of([[], []]), "union")
    with pytest.raises(ValueError, match="'both'"):
        symmetrise(Links.of([[]]), Links.of([[]]), "both")  # type: ignore[arg-type]
