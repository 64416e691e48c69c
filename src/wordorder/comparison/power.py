"""The number of seeds that a family of comparisons needs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from wordorder.comparison.levels import last_level
from wordorder.statistics.power import Procedure, seeds_needed


@dataclass(frozen=True, kw_only=True)
class FamilyPower:
    """The values of a family of comparisons on which its number of seeds depends.

    Attributes:
        sigma: The residual standard deviation over seeds, in points of the metric. If the baseline varies more than the
            other systems, it is the one with which differences from the baseline have their standard error.
        nu_now: The degrees of freedom of the comparisons with the current seeds.
        systems: The number of systems.
        comparisons: The number of comparisons.
        procedure: The test procedure.
        seeds: The current number of seeds.
        last_level: The significance level of the last look, with which more seeds would be judged.
    """

    sigma: float
    nu_now: float
    systems: int
    comparisons: int
    procedure: Procedure
    seeds: int
    last_level: float

    @staticmethod
    def of(family: dict[str, Any], test: dict[str, Any] | None) -> FamilyPower:
        """Return the values of a tested family.

        Args:
            family: Values that apply to all comparisons, from :class:`.families.FamilyTest`.
            test: The test with the common standard error, from :func:`.verdicts.common_test`. It contains the variation
                of a baseline that varies more; without it, the standard deviation is that of all systems.
        """
        seeds = len(family["seeds"])
        sigma, nu = family["sigma"], family["nu"]
        if test:
            sigma, nu = test["standard_error"] * math.sqrt(seeds / 2), test["nu"]
        return FamilyPower(
            sigma=sigma,
            nu_now=nu,
            systems=round(family["nu"] / (seeds - 1)) + 1,
            comparisons=family["comparisons"],
            procedure="baseline" if family["procedure"] == "dunnett" else "declared pairs",
            seeds=seeds,
            last_level=last_level(family["level"]),
        )

    def needed(self, difference: float, sigma: float) -> int | None:
        """Return the number of seeds that detect a difference with 80 % probability; None if above 10,000."""
        return seeds_needed(
            difference,
            sigma,
            self.systems,
            alpha=self.last_level,
            procedure=self.procedure,
            m=self.comparisons,
            freedom=self.nu_now / (self.seeds - 1) if self.seeds > 1 else None,
        )
