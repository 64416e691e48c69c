"""Compact letter displays: groups of systems that are not significantly different, instead of a bold maximum.

Two systems share a letter if and only if no difference between them was found. Piepho (2004): begin with one group of
all; each significant pair splits every group that holds both; a group inside another is absorbed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from wordorder.statistics.all_pairs import all_pairs
from wordorder.statistics.blocked import Blocked


def letter_display(ranked: Sequence[str], different: Collection[tuple[str, str]]) -> dict[str, str]:
    """Assign letters to systems.

    Args:
        ranked: The systems, best first.
        different: The significantly different pairs.

    Returns:
        The letters of each system.
    """
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


def score_groups(model: Blocked, *, alpha: float, lower_is_better: bool = False) -> dict[str, str]:
    """Assign letters by Tukey's test of all pairs on the seeds that all systems share.

    Systems that diverged or have fewer than two seeds have no letter. If nothing can be tested, no system has one.

    Args:
        model: The scores.
        alpha: The level.
        lower_is_better: Whether a lower score is better.

    Returns:
        The letters of each system.
    """
    if model.problem is not None:
        return {}
    different = [pair for pair, found in all_pairs(model, alpha=alpha).differences.items() if found.p < alpha]
    sign = 1 if lower_is_better else -1
    ranked = sorted(model.systems, key=lambda name: sign * float(model.means[model.row(name)]))
    return letter_display(ranked, different)
