"""The verdicts on a family of comparisons: all comparisons of one metric on one test set.

Every system is compared with one baseline by a step-down Dunnett test; other declared pairs by t-tests with Holm's
correction. Both estimate the residual variance from all systems at once (:mod:`wordorder.statistics.blocked`), except
for systems that vary more than the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from wordorder.comparison.levels import Level, Look, changed_comparisons, level_of
from wordorder.comparison.verdicts import sentence
from wordorder.config.models import Comparison, Family
from wordorder.metrics.base import Metric
from wordorder.statistics.all_pairs import Pairs, declared_pairs
from wordorder.statistics.blocked import Blocked, Difference, block, score_floor
from wordorder.statistics.dunnett import AgainstBaseline, against_baseline
from wordorder.statistics.power import Procedure, critical, detectable_of, seeds_needed, sigma_range
from wordorder.statistics.resampling import Array
from wordorder.statistics.seeds_and_sentences import (
    BothRandom,
    seeds_and_sentences,
    sentence_variance,
    small_spread_p,
    variance_components,
)
from wordorder.statistics.spread import SPREAD_LEVEL
from wordorder.statistics.verdicts import verdict

Cell = tuple[str, int]  # encoding, seed


@dataclass(frozen=True)
class FamilyTest:
    """The test of a family by one metric.

    Attributes:
        family: The comparisons.
        metric: The metric.
        scores: The score of each cell that has one.
        resampled: The scores of each cell on resamples of the test set, (S,); empty if the metric cannot be resampled.
        diverged: The encodings with a diverged training.
        earlier: The earlier looks at this family, in their order.
    """

    family: Family
    metric: Metric
    scores: Mapping[Cell, float]
    resampled: Mapping[Cell, Array]
    diverged: frozenset[str]
    earlier: tuple[Look, ...] = ()

    @cached_property
    def level(self) -> Level:
        """The level of this look."""
        used = self.model.seeds or self.family.seeds  # Without common seeds, nothing is tested.
        found = level_of(self.family.significance.alpha, used, self.family.looks, [look.seeds for look in self.earlier])
        return replace(found, exact=found.exact and not self.changed)

    @cached_property
    def changed(self) -> list[tuple[str, str]]:
        """The comparisons that were added or removed after the scores of their systems were known."""
        return changed_comparisons(self.family.pairs, self.earlier)

    @cached_property
    def model(self) -> Blocked:
        """The scores that the tests use."""
        by_system: dict[str, dict[int, float]] = {name: {} for name in self.family.encodings}
        for (name, seed), score in self.scores.items():
            by_system[name][seed] = score
        floor = score_floor(self.margin, lower_is_better=self.metric.lower_is_better)
        return block(by_system, seeds=self.family.seeds, diverged=self.diverged, floor=floor)

    @cached_property
    def baseline(self) -> str | None:
        """The baseline of all comparisons, if there is only one."""
        baselines = {comparison.baseline for comparison in self.family.comparisons}
        return baselines.pop() if len(baselines) == 1 else None

    @cached_property
    def test(self) -> AgainstBaseline | Pairs:
        """The differences of all comparisons."""
        if self.baseline is not None:
            systems = {comparison.system for comparison in self.family.comparisons}
            return against_baseline(self.model, self.baseline, alpha=self.level.level, among=systems)
        return declared_pairs(self.model, self.family.pairs, alpha=self.level.level)

    @property
    def _procedure(self) -> Procedure:
        return "baseline" if self.baseline is not None else "declared pairs"

    @property
    def margin(self) -> float | None:
        """The difference up to which two systems count as equivalent."""
        return self.family.margin.get(self.metric.name, self.metric.margin)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Values that apply to all comparisons, as they are written."""
        model, test, check, components = self.model, self.test, None, self._components()
        if isinstance(test, AgainstBaseline) and test.spread is not None:
            check = {"f": test.spread.f, "p": test.spread.p, "corrects": test.spread.corrects}
        return {
            "procedure": "dunnett" if self.baseline is not None else "declared pairs",
            "comparisons": test.m,
            "seeds": list(model.seeds),
            "dropped_seeds": list(model.dropped_seeds),
            "excluded": dict(model.excluded),
            "problem": test.problem,
            "sigma": None if test.problem else model.mse**0.5,
            "nu": None if test.problem else model.nu,
            "baseline_check": check,
            "unstable": {name: spread.p for name, spread in model.unstable.items()},
            "spread_check": self._spread_check(components),
            "level": asdict(self.level),
            **({"changed": self.changed} if self.changed else {}),
            "margin": self.margin,
            **self._power(),
            "components": components,
        }

    def _power(self) -> dict[str, Any]:
        """Return the detectable difference of these seeds, its range, and the number of seeds for the margin."""
        none = {"detectable": None, "detectable_range": None, "seeds_needed": None}
        if self.test.problem is not None:
            return none
        test = self.test
        found = detectable_of(test.standard_error, test.nu, test.critical)
        low, high = (found * edge for edge in sigma_range(1.0, test.nu))
        needed = self.margin and seeds_needed(
            self.margin,
            # A baseline that varies more has a larger variance of differences, with fewer degrees of freedom.
            test.standard_error * (self.model.n / 2) ** 0.5,
            self.model.k,
            alpha=self.level.last,
            procedure=self._procedure,
            m=test.m,
            freedom=test.nu / (self.model.n - 1),
        )
        return {"detectable": found, "detectable_range": [low, high], "seeds_needed": needed}

    def _components(self) -> dict[str, float] | None:
        """Return the standard deviations of the components of the scores."""
        model = self.model
        if model.problem is not None or not self.resampled:
            return None
        resampled = np.stack([[self.resampled[name, seed] for seed in model.seeds] for name in model.systems])
        return {name: variance**0.5 for name, variance in asdict(variance_components(model.scores, resampled)).items()}

    def _spread_check(self, components: dict[str, float] | None) -> dict[str, Any] | None:
        """Test whether the seeds vary less than the sentences of their translations explain."""
        if self.test.problem is not None or components is None or not components["residual_sentence"]:
            return None
        p = small_spread_p(self.model.mse, self.model.nu, components["residual_sentence"] ** 2)
        return {"p": p, "small": p < SPREAD_LEVEL}

    def compare(self, comparison: Comparison) -> dict[str, Any]:
        """Return the test of one comparison, its verdict, and the verdict as a sentence."""
        difference = self._difference(comparison)
        both, detectable = self._both(comparison, difference), self._detectable(difference)
        found = verdict(
            difference,
            margin=self.margin or 0.0,
            alpha=self.level.level,
            lower_is_better=self.metric.lower_is_better,
            both_random=both,
        )
        return {
            "test": None if difference is None else asdict(difference),
            "both": None if both is None else asdict(both),
            "detectable": detectable,
            "outcome": found.outcome.value,
            "reach": None if found.reach is None else found.reach.value,
            "verdict": sentence(
                comparison,
                type(self.metric),
                difference,
                found,
                self.summary,
                detectable=detectable,
                why=self._why(comparison),
            ),
        }

    def _detectable(self, difference: Difference | None) -> float | None:
        """Return the detectable difference of one comparison, whose systems may vary more than the others."""
        if difference is None:
            return None
        k, n, alpha = self.model.k, self.model.n, self.level.level
        c = critical(k, n, alpha=alpha, procedure=self._procedure, m=self.test.m, nu=difference.nu)
        return detectable_of(difference.standard_error, difference.nu, c)

    def _why(self, comparison: Comparison) -> str:
        """Return the reason why a comparison is not tested."""
        excluded = self.model.excluded
        reasons = [f"{name}: {excluded[name]}" for name in (comparison.system, comparison.baseline) if name in excluded]
        return "; ".join(reasons) or str(self.test.problem)

    def _difference(self, comparison: Comparison) -> Difference | None:
        if isinstance(self.test, AgainstBaseline):
            return self.test.differences.get(comparison.system)
        return self.test.differences.get((comparison.system, comparison.baseline))

    def _both(self, comparison: Comparison, difference: Difference | None) -> BothRandom | None:
        """Return the interval for other seeds and other sentences, simultaneous for the family."""
        if difference is None or not self.resampled:
            return None
        system, baseline = comparison.system, comparison.baseline
        rows = [self.resampled[system, seed] - self.resampled[baseline, seed] for seed in self.model.seeds]
        # Declared pairs have Bonferroni's intervals.
        m, alpha = (self.test.m, self.level.level) if self.baseline is not None else (1, self.level.level / self.test.m)
        variance, sentences = difference.standard_error**2, sentence_variance(np.stack(rows))
        return seeds_and_sentences(difference.value, variance, difference.nu, sentences, m=m, alpha=alpha)
