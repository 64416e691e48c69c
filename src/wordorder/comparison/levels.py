"""The level at which a study decides, which is lower at looks before the last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from wordorder.config.models import Looks
from wordorder.statistics.looks import obrien_fleming_levels


@dataclass(frozen=True)
class Level:
    """The level of one look.

    Attributes:
        alpha: The level of the whole study.
        level: The level with which p-values are compared now, and that of the intervals.
        looks: The numbers of seeds at which the study looks at its results.
        exact: Whether ``level`` keeps ``alpha``: all looks were fixed before the first.
    """

    alpha: float
    level: float
    looks: list[int]
    exact: bool

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def level_of(
    alpha: float, seeds: Sequence[int], looks: Looks | None = None, earlier: Sequence[Sequence[int]] = ()
) -> Level:
    """Return the level for the present seeds.

    Args:
        alpha: The level of the whole study.
        seeds: The present seeds.
        looks: The looks that the study declares, if it does.
        earlier: The seeds of earlier looks at the same comparisons; a look that was not declared makes no level exact.
    """
    taken = [*(each for each in earlier if list(each) != list(seeds)), seeds]
    counts = sorted({len(each) for each in taken})
    if looks is None:
        return Level(alpha, alpha, counts, exact=len(taken) == 1)
    planned = looks.declared and all(list(each) == list(range(1, len(each) + 1)) for each in taken)
    planned = planned and set(counts) <= set(looks.looks)
    if not planned:
        return Level(alpha, alpha, sorted({*counts, *(look for look in looks.looks if look <= looks.now)}), exact=False)
    levels = dict(zip(looks.looks, obrien_fleming_levels(looks.looks, alpha=alpha), strict=True))
    return Level(alpha, levels[len(seeds)], looks.looks, exact=True)
