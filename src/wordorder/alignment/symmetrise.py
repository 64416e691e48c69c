"""Symmetrisation: one alignment from two, each of which was made in one direction.

Koehn, Och & Marcu 2003, "Statistical Phrase-Based Translation": links in both directions are right more often, links in
either direction are more complete, and grow-diag-final-and extends the first set towards the second.
"""

from __future__ import annotations

from typing import get_args

import numpy as np
from numpy.typing import NDArray

from wordorder.alignment.links import Links
from wordorder.compiled import compiled
from wordorder.config.reordering import Symmetrisation

# Arrays of Links: source, target and offsets.
_Arrays = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]
_FORWARD, _BACKWARD, _BOTH, _CHOSEN = 1, 2, 3, 4  # bits of a cell of the alignment matrix


def symmetrise(forward: Links, backward: Links, how: Symmetrisation) -> Links:
    """Combine the links of two directions, both with the source token first.

    For grow-diag-final-and the order of added links matters. The matrix is scanned row by row; a row is a source token.
    A link that was added is extended in the same scan if it comes later. Scans repeat until one adds no link. The last
    step goes through all links of ``forward``, then through those of ``backward``.

    Args:
        forward: Links of one direction.
        backward: Links of the other direction.
        how: The method.

    Returns:
        The combined links.
    """
    if len(forward) != len(backward):
        raise ValueError(f"{len(forward)} sentence pairs in one direction, {len(backward)} in the other")
    if how not in get_args(Symmetrisation):
        raise ValueError(f"no symmetrisation '{how}'")
    room = len(forward.source) + len(backward.source)
    source, target = np.empty(room, np.int32), np.empty(room, np.int32)
    offsets = np.zeros(len(forward) + 1, np.int64)
    number = {"intersection": 0, "grow-diag-final-and": 1, "union": 2}[how]
    given = [(own.source, own.target, own.offsets) for own in (forward, backward)]
    links = _combine(given[0], given[1], number, (source, target, offsets))
    return Links(source[:links].copy(), target[:links].copy(), offsets)


@compiled
def _combine(forward: _Arrays, backward: _Arrays, how: int, into: _Arrays) -> int:
    """Fill ``into`` and return the number of links."""
    forward_source, forward_target, forward_offsets = forward
    backward_source, backward_target, backward_offsets = backward
    source, target, offsets = into
    links = 0
    for pair in range(len(offsets) - 1):
        f0, f1 = forward_offsets[pair], forward_offsets[pair + 1]
        b0, b1 = backward_offsets[pair], backward_offsets[pair + 1]
        rows = columns = 0
        for k in range(f0, f1):
            rows, columns = max(rows, forward_source[k] + 1), max(columns, forward_target[k] + 1)
        for k in range(b0, b1):
            rows, columns = max(rows, backward_source[k] + 1), max(columns, backward_target[k] + 1)
        cells = np.zeros((rows, columns), np.uint8)
        for k in range(f0, f1):
            cells[forward_source[k], forward_target[k]] |= _FORWARD
        for k in range(b0, b1):
            cells[backward_source[k], backward_target[k]] |= _BACKWARD
        for i in range(rows):
            for j in range(columns):
                if cells[i, j] == _BOTH or (how == 2 and cells[i, j]):
                    cells[i, j] |= _CHOSEN
        if how == 1:
            _grow(cells)
        for i in range(rows):
            for j in range(columns):
                if cells[i, j] & _CHOSEN:
                    source[links], target[links] = i, j
                    links += 1
        offsets[pair + 1] = links
    return links


@compiled
def _grow(cells: NDArray[np.uint8]) -> None:
    """Apply grow-diag-final-and, starting from the chosen cells."""
    rows, columns = cells.shape
    in_row, in_column = np.zeros(rows, np.bool_), np.zeros(columns, np.bool_)
    for i in range(rows):
        for j in range(columns):
            if cells[i, j] & _CHOSEN:
                in_row[i] = in_column[j] = True
    grown = True
    while grown:
        grown = False
        for i in range(rows):
            for j in range(columns):
                if not cells[i, j] & _CHOSEN:
                    continue
                # the four sides before the four corners
                for di, dj in ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)):
                    y, x = i + di, j + dj
                    if 0 <= y < rows and 0 <= x < columns and cells[y, x] and not (in_row[y] and in_column[x]):
                        cells[y, x] |= _CHOSEN
                        in_row[y] = in_column[x] = grown = True
    for direction in (_FORWARD, _BACKWARD):
        for i in range(rows):
            for j in range(columns):
                if cells[i, j] & direction and not in_row[i] and not in_column[j]:
                    cells[i, j] |= _CHOSEN
                    in_row[i] = in_column[j] = True
