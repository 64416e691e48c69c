"""Alignment error rate, precision and recall.

Source: Och & Ney 2003, "A Systematic Comparison of Various Statistical Alignment Models", section 6. With A the links
that were found, S the sure and P the possible gold links, S a subset of P:

    precision = |A ∩ P| / |A|        recall = |A ∩ S| / |S|        AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordorder.alignment.links import GoldLinks, Links


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """Counts over a corpus, and the rates derived from them."""

    found: int
    sure: int
    found_sure: int
    found_possible: int

    @property
    def precision(self) -> float:
        """The precision; 1 if nothing was found, because nothing is wrong then."""
        return self.found_possible / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """The recall; 1 if there are no sure links, because nothing is missed then."""
        return self.found_sure / self.sure if self.sure else 1.0

    @property
    def aer(self) -> float:
        """The alignment error rate."""
        total = self.found + self.sure
        return 1 - (self.found_sure + self.found_possible) / total if total else 0.0


def error_rate(found: Links, gold: GoldLinks) -> ErrorRate:
    """Compare links with gold ones of the same sentence pairs, over the whole corpus."""
    if not len(found) == len(gold.sure) == len(gold.possible):
        raise ValueError(f"links of {len(found)} sentence pairs, but gold links of {len(gold.sure)}")
    width = 1 + max(
        (int(links.max()) for part in (found, gold.possible) for links in _ends(part) if len(links)), default=0
    )
    keys, sure, possible = (_keys(links, width) for links in (found, gold.sure, gold.possible))
    return ErrorRate(
        found=len(keys),
        sure=len(sure),
        found_sure=int(np.isin(keys, sure).sum()),
        found_possible=int(np.isin(keys, possible).sum()),
    )


def _ends(links: Links) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    return links.source, links.target


def _keys(links: Links, width: int) -> NDArray[np.int64]:
    """Return a distinct number for each link."""
    pairs = np.repeat(np.arange(len(links)), np.diff(links.offsets))
    return (pairs * width + links.source) * width + links.target
