"""Conversion of the order of words to the positions of their subwords."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def subword_positions(order: Sequence[int], starts: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Compute the position that each subword takes when the words are in ``order``.

    Args:
        order: The indices of the words in target order, each once.
        starts: Whether a subword begins a word, (n,). The subwords of a word stay together and in their order.

    Returns:
        The positions, (n,).
    """
    first = np.flatnonzero(starts)
    if sorted(order) != list(range(len(first))) or (len(starts) and not starts[0]):
        raise ValueError(f"{list(order)} is not a permutation of the {len(first)} words that begin at {first.tolist()}")
    words = np.array(order, dtype=np.int64)
    lengths = np.diff(first, append=len(starts))
    moved = np.empty_like(first)
    moved[words] = np.cumsum(lengths[words]) - lengths[words]
    return np.arange(len(starts)) + np.repeat(moved - first, lengths)
