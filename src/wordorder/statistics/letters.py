"""Which systems cannot be told apart: a compact letter display instead of a bold maximum.

Two systems share a letter if and only if no difference between them was found. Piepho (2004): begin with one group of
all; each significant pair splits every group that holds both; a group inside another is absorbed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from wordorder.statistics.all_pairs import tukey_test


def letter_display(ranked: Sequence[str], different: Collection[tuple[str, str]]) -> dict[str, str]:
    """The letters of each of the ``ranked`` systems, best first; ``different`` are the pairs that were told apart."""
    groups: list[frozenset[str]] = [frozenset(ranked)] if ranked else []
    for pair in different:
        split = [group - {one} for group in groups if group.issuperset(pair) for one in pair]
        groups = [group for group in groups if not group.issuperset(pair)] + split
        groups = [group for group in dict.fromkeys(groups) if not any(group < other for other in groups)]
    rank = {name: index for index, name in enumerate(ranked)}
    groups.sort(key=lambda group: sorted(rank[name] for name in group))
    return {name: "".join(_letter(i) for i, group in enumerate(groups) if name in group) for name in ranked}


def _letter(index: int) -> str:
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    return alphabet[index] if index < len(alphabet) else f"({index + 1})"


def score_groups(
    scores: Mapping[str, Mapping[int, float]], *, alpha: float, lower_is_better: bool = False
) -> dict[str, str]:
    """Letters from Tukey's test over the seeds of all pairs; ``scores``: system -> seed -> score.

    Systems with fewer than two seeds have no letter. What could not be tested was not told apart.
    """
    known = {name: of for name, of in scores.items() if len(of) > 1}
    if len(known) < 2:
        return {}
    different = [pair for pair, p in tukey_test(known).items() if p < alpha]
    sign = 1 if lower_is_better else -1
    ranked = sorted(known, key=lambda name: sign * float(np.mean(list(known[name].values()))))
    return letter_display(ranked, different)
