"""Evenly spread samples of a corpus, which are the same in every process."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def spread(sentences: int, most: int) -> NDArray[np.bool_]:
    """Select ``most`` of ``sentences``, or all if there are fewer, (sentences,).

    The selection is evenly spread, because the parts of a corpus are concatenated.
    """
    most = min(most, sentences)
    return np.diff(np.arange(sentences + 1) * most // max(sentences, 1)) > 0
