"""The seed-blocked model: scores of systems that share their seeds.

The score of system i with seed j is mu_i + b_j + e_ij, with a normal e of the same variance for all systems. What a
seed adds to all systems alike cancels in differences. The variance of the rest, estimated from all systems at once,
gives their standard error. Differences of a system that varies more than the others use its own variance
(:mod:`wordorder.statistics.spread`).

Notation: k systems, n seeds.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from wordorder.statistics.resampling import TIE, Array
from wordorder.statistics.spread import OwnSpread, own_spread, residual_variance, unstable_rows

Exclusion = Literal["diverged", "fewer than two seeds"]
"""The reason why a system is excluded from a test."""
Problem = Literal[
    "fewer than two systems",
    "fewer than two seeds",
    "scores are not finite",
    "no variance",
    "no score above the margin",
    "baseline diverged",
    "baseline unfinished",
]
"""The reason why no system is tested."""


@dataclass(frozen=True)
class Blocked:
    """Scores of k systems with the same n seeds.

    Attributes:
        systems: Names of the systems that are tested.
        seeds: The seeds that all of them have.
        scores: Their scores, (k, n).
        declared: The number of systems that were declared, including the excluded ones. Corrections for the number of
            comparisons use it.
        excluded: Systems that take no part, each with the reason.
        dropped_seeds: Declared seeds that at least one tested system lacks, and which no system uses.
        floor: Scores up to this number belong to models that have learned nothing; if there are no others, nothing is
            tested.
    """

    systems: tuple[str, ...]
    seeds: tuple[int, ...]
    scores: Array
    declared: int
    excluded: Mapping[str, Exclusion] = field(default_factory=dict)
    dropped_seeds: tuple[int, ...] = ()
    floor: float = -math.inf

    @property
    def k(self) -> int:
        """The number of systems that are tested."""
        return len(self.systems)

    @property
    def n(self) -> int:
        """The number of seeds."""
        return len(self.seeds)

    @property
    def nu(self) -> int:
        """Degrees of freedom of the residual variance."""
        return (self.k - 1) * (self.n - 1)

    @cached_property
    def means(self) -> Array:
        """The mean of each system over the seeds, (k,)."""
        means: Array = self.scores.mean(axis=1)
        return means

    @cached_property
    def mse(self) -> float:
        """The residual variance; nan if it cannot be estimated."""
        return residual_variance(self.scores)

    @property
    def standard_error(self) -> float:
        """The standard error of a difference of two means, unless one of the systems varies more than the others."""
        return math.sqrt(2 * self.mse / self.n) if self.n else math.nan

    @cached_property
    def unstable(self) -> dict[str, OwnSpread]:
        """The systems that vary more over the seeds than the others, each with its own variance."""
        return {self.systems[row]: found for row, found in unstable_rows(self.scores).items()}

    def spread_of(self, system: str) -> OwnSpread | None:
        """Compare the variance of a system with that of the others; None if there are fewer than two others.

        Others that vary more themselves are left out, unless fewer than two would remain.
        """
        others = [row for row, name in enumerate(self.systems) if name != system]
        stable = [row for row in others if self.systems[row] not in self.unstable]
        if len(others) < 2:
            return None
        compared = stable if len(stable) > 1 else others
        return own_spread(self.scores[[*compared, self.row(system)]], len(compared))

    def error(self, system: str, other: str, unstable: Mapping[str, OwnSpread] | None = None) -> tuple[float, float]:
        """Return the standard error of a difference of two means, and its degrees of freedom.

        Args:
            system: One system.
            other: The other system.
            unstable: The systems that have variances of their own; by default :attr:`unstable`.
        """
        own = self.unstable if unstable is None else unstable
        varying = [name for name in (system, other) if name in own]
        if len(varying) == 2:
            rest = self.scores[self.row(system)] - self.scores[self.row(other)]
            return math.sqrt(max(float(rest.var(ddof=1)), TIE**2) / self.n), float(self.n - 1)
        if varying:
            return math.sqrt(own[varying[0]].variance), own[varying[0]].nu
        return self.standard_error, float(self.nu)

    @property
    def problem(self) -> Problem | None:
        """The reason why nothing can be tested, or None."""
        if self.k < 2:
            return "fewer than two systems"
        if self.n < 2:
            return "fewer than two seeds"
        if not math.isfinite(self.mse):
            return "scores are not finite"
        if math.sqrt(self.mse) <= TIE:
            return "no variance"
        return "no score above the margin" if self.scores.max() <= self.floor else None

    def row(self, system: str) -> int:
        """Return the row of a system in ``scores``."""
        return self.systems.index(system)

    def difference(self, system: str, other: str) -> float:
        """Return the mean of one system minus that of another."""
        return float(self.means[self.row(system)] - self.means[self.row(other)])


def block(
    scores: Mapping[str, Mapping[int, float]],
    *,
    seeds: Sequence[int] | None = None,
    diverged: Collection[str] = (),
    floor: float = -math.inf,
) -> Blocked:
    """Arrange scores by system and seed.

    Args:
        scores: The scores of finished runs: system -> seed -> score. A declared system without scores has an empty
            mapping.
        seeds: The declared seeds; by default those of any system.
        diverged: Systems with a diverged run. They count as declared, but are excluded.
        floor: As in :class:`Blocked`.

    Returns:
        The arranged scores.
    """
    wanted = sorted({seed for of in scores.values() for seed in of}) if seeds is None else list(seeds)
    known = {name: {seed: of[seed] for seed in wanted if seed in of} for name, of in scores.items()}
    excluded: dict[str, Exclusion] = dict.fromkeys(sorted(diverged), "diverged")
    if len(wanted) > 1:
        unfinished = (name for name, of in known.items() if len(of) < 2 and name not in excluded)
        excluded |= dict.fromkeys(unfinished, "fewer than two seeds")
    systems = [name for name in known if name not in excluded and known[name]]
    common = [seed for seed in wanted if all(seed in known[name] for name in systems)] if systems else []
    matrix = np.array([[known[name][seed] for seed in common] for name in systems], dtype=float)
    return Blocked(
        systems=tuple(systems),
        seeds=tuple(common),
        scores=matrix.reshape(len(systems), len(common)),
        declared=len({*scores, *diverged}),
        excluded=excluded,
        dropped_seeds=tuple(seed for seed in wanted if seed not in common),
        floor=floor,
    )


def score_floor(margin: float | None, *, lower_is_better: bool) -> float:
    """Return the largest score of models that have learned nothing: the margin of equivalence, if there is one.

    Such models are not equivalent: their scores are alike because none can be lower.
    """
    return -math.inf if margin is None or lower_is_better else margin


@dataclass(frozen=True)
class Difference:
    """A tested difference of two systems.

    Attributes:
        value: Mean of the system minus mean of the other.
        standard_error: Its standard error.
        nu: Degrees of freedom of the standard error.
        t: Their quotient.
        p: The p-value that decides, adjusted for the number of comparisons.
        p_single_step: The adjusted p-value that belongs to ``interval``. It may be larger than ``p``.
        interval: The simultaneous interval of confidence 1 - alpha.
        equivalence_interval: The simultaneous interval of confidence 1 - 2 alpha, which decides equivalence.
    """

    value: float
    standard_error: float
    nu: float
    t: float
    p: float
    p_single_step: float
    interval: tuple[float, float]
    equivalence_interval: tuple[float, float]


def around(value: float, half_width: float) -> tuple[float, float]:
    """Return the interval ``value`` ± ``half_width``."""
    return value - half_width, value + half_width
