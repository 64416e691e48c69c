"""The level at which a study decides, which is lower at looks before the last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from pydantic import Field, RootModel

from wordorder.config.base import Model
from wordorder.config.seeds import Looks
from wordorder.errors import WordorderError
from wordorder.files import read_json, write_json
from wordorder.statistics.looks import obrien_fleming_levels

NOT_EXACT = (
    "Seeds were added without a declared look, or are missing at one, or comparisons were changed after their scores "
    "were known: no level is exact."
)
"""What a reader has to know of a :class:`Level` that is not exact."""


@dataclass(frozen=True)
class Level:
    """The level of one look.

    Attributes:
        alpha: The level of the whole study.
        level: The level with which p-values are compared now, and that of the intervals.
        looks: The numbers of seeds at which the study looks at its results.
        exact: Whether ``level`` keeps ``alpha``: all looks and comparisons were fixed before the first.
        last: The level of the last look, with which more seeds would be judged.
    """

    alpha: float
    level: float
    looks: list[int]
    exact: bool
    last: float


def level_of(
    alpha: float, seeds: Sequence[int], looks: Looks | None = None, earlier: Sequence[Sequence[int]] = ()
) -> Level:
    """Return the level for the present seeds.

    If seeds of a declared look are missing, alpha is spent at the numbers of seeds that were compared. Lan and DeMets
    (1983) allow this if the looks do not depend on the results, which is unknown here, so that the level is not exact.

    Args:
        alpha: The level of the whole study.
        seeds: The present seeds.
        looks: The declared looks of the study, if any.
        earlier: The seeds of earlier looks at the same comparisons. After an undeclared look, no level is exact.

    Returns:
        The level.
    """
    taken = [*(each for each in earlier if sorted(each) != sorted(seeds)), seeds]
    counts = sorted({len(each) for each in taken})
    if looks is None:
        return Level(alpha, alpha, counts, exact=len(taken) == 1, last=alpha)
    if not looks.declared or not {seed for each in taken for seed in each} <= set(range(1, looks.looks[-1] + 1)):
        known = sorted({*counts, *(look for look in looks.looks if look <= looks.now)})
        return Level(alpha, alpha, known, exact=False, last=alpha)
    planned = all(sorted(each) == list(range(1, len(each) + 1)) for each in taken) and set(counts) <= set(looks.looks)
    at = looks.looks if planned else sorted({*counts, looks.looks[-1]})
    levels = dict(zip(at, obrien_fleming_levels(at, alpha=alpha), strict=True))
    return Level(alpha, levels[len(seeds)], at, exact=planned, last=levels[at[-1]])


def last_level(level: Mapping[str, Any]) -> float:
    """Return the level of the last look from a file of significance tests.

    Files of earlier versions have only that of the present look.
    """
    last: float = level.get("last", level["level"])
    return last


def looks_file(comparison: str | Path) -> Path:
    """Return the file that stores the looks of a comparison in the same folder.

    Snakemake deletes the comparison before it is made again, but not this file.
    """
    return Path(comparison).with_suffix(".looks")


class Look(Model):
    """What one look at the scores of a test set has shown.

    Attributes:
        seeds: The seeds that were compared.
        systems: All systems that had scores of these seeds; empty in files of earlier versions.
        comparisons: The declared comparisons, each a system and its baseline.
    """

    seeds: list[int]
    systems: list[str] = Field(default=[])
    comparisons: list[tuple[str, str]] = Field(default=[])


class _Looks(RootModel[list[Look]]):
    pass


def changed_comparisons(declared: Iterable[tuple[str, str]], earlier: Iterable[Look]) -> list[tuple[str, str]]:
    """Return the comparisons that were added or removed after an earlier look had shown the scores of both systems.

    A comparison with a system that is new since then is no change, nor is one that was removed and has come back.

    Args:
        declared: The present comparisons, each a system and its baseline.
        earlier: The earlier looks, in their order.
    """
    named = {frozenset(pair): pair for pair in declared}
    present, was_declared = set(named), dict[frozenset[str], bool]()  # when the scores of a pair became known
    for look in earlier:
        then = {frozenset(pair): pair for pair in look.comparisons}
        named = then | named
        for pair in map(frozenset, combinations(look.systems, 2)):
            was_declared.setdefault(pair, pair in then)
    return [named[pair] for pair, before in was_declared.items() if before != (pair in present)]


def read_looks(path: Path) -> list[Look]:
    """Return the looks so far, in their order.

    Raises:
        WordorderError: The file does not hold looks.
    """
    try:
        looks = read_json(path) if path.exists() else []
        # Files of earlier versions hold only lists of seeds.
        return _Looks.model_validate([{"seeds": each} if isinstance(each, list) else each for each in looks]).root
    except (ValueError, TypeError) as error:
        raise WordorderError(
            f"{path} does not hold earlier looks, such as [[1, 2, 3]]: {' '.join(str(error).split())}. Delete it if "
            "there was none.",
            code="damaged-file",
            path=path,
        ) from error


def remember_look(path: Path, look: Look) -> None:
    """Add a look, unless it is known."""
    looks = read_looks(path)
    if look not in looks:
        write_json(path, _Looks([*looks, look]).model_dump(mode="json"))
