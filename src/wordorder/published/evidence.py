"""Evidence for claims: comparisons of systems over seeds, slopes over seeds, and the verdict on all evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy import stats

from wordorder.statistics.all_pairs import declared_pairs
from wordorder.statistics.blocked import Blocked, Difference, block
from wordorder.statistics.power import TARGET, power_of, seeds_needed
from wordorder.statistics.verdicts import Outcome, verdict

Values = Mapping[str, Mapping[int, float]]
"""For each system, a number per seed or other repeated unit."""
_MOST_SEEDS = 1000  # the search for the number of seeds that a slope needs ends here


class Found(StrEnum):
    """The verdict on a claim."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"
    EQUIVALENT = "equivalent"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Evidence:
    """One comparison, slope, count or computation.

    Attributes:
        found: The verdict on the claim.
        place: The study, column, dataset, test set and model size; for computations the place in the paper.
        about: The compared systems, the single system, or the computation.
        value: The difference in favour of the claim, the slope, or the computed number.
        low: The lower end of the simultaneous 95 % interval, or the lower bound of the claim.
        high: The upper end or bound.
        p: The p-value.
        units: The number of seeds.
        needed: The number of seeds that would decide; None if it is unknown or too large.
        note: A remark for the reader.
    """

    found: Found
    place: str
    about: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    units: int = 0
    needed: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Family:
    """Ordered pairs of systems that are tested together.

    Attributes:
        place: The study, column, dataset, test set and model size.
        values: The numbers of all systems at this place.
        pairs: The pairs (better, worse) that the paper claims.
        gaps: The published differences of the pairs that have one.
        lower_is_better: Whether a lower number is better.
        margin: The largest difference between equivalent systems; None if the study declares none.
        at_least: Whether the claim is only that the first system of a pair is not worse by more than the margin.
        note: A remark for the reader of the verdicts.
    """

    place: str
    values: Values
    pairs: Sequence[tuple[str, str]]
    gaps: Mapping[tuple[str, str], float]
    lower_is_better: bool = False
    margin: float | None = None
    at_least: bool = False
    note: str = ""

    def evidence(self, level: float) -> list[Evidence]:
        """Test the pairs by t-tests on the seed-blocked model, corrected for the number of pairs.

        Args:
            level: The significance level of the family.

        Returns:
            One piece of evidence per pair, in the order of the pairs.
        """
        known = {name: of for name, of in self.values.items() if of}
        model = block(known)
        tested = declared_pairs(model, list(self.pairs), alpha=level)
        found = []
        for pair in self.pairs:
            lacking = [name for name in pair if name not in known]
            if lacking:
                reason = f"{' and '.join(lacking)} not run"
                found.append(Evidence(Found.NOT_RUN, self.place, _named(pair), note=reason))
            elif pair in tested.differences:
                found.append(self._judged(pair, tested.differences[pair], model, level))
            else:
                found.append(self._untested(pair, known, str(tested.problem or model.excluded)))
        return found

    def _sign(self) -> int:
        return -1 if self.lower_is_better else 1

    def _untested(self, pair: tuple[str, str], known: Values, problem: str) -> Evidence:
        """Judge a pair without a test: numbers without variance, such as memory, decide; a single seed does not."""
        one, other = (list(known[name].values()) for name in pair)
        value = self._sign() * (float(np.mean(one)) - float(np.mean(other)))
        found = Found.UNDECIDED
        if problem == "no variance":
            better = value >= -(self.margin or 0.0) if self.at_least else value > 0
            found = Found.CONFIRMED if better else Found.CONTRADICTED
        note = "; ".join(filter(None, (problem, self.note)))
        return Evidence(found, self.place, _named(pair), value, units=min(len(one), len(other)), note=note)

    def _judged(self, pair: tuple[str, str], difference: Difference, model: Blocked, level: float) -> Evidence:
        outcome = verdict(
            difference, margin=self.margin or 0.0, alpha=level, lower_is_better=self.lower_is_better
        ).outcome
        sign = self._sign()
        low, high = sorted(sign * end for end in difference.interval)
        found = _OUTCOMES[outcome]
        if self.at_least and self.margin is not None:
            least, most = sorted(sign * end for end in difference.equivalence_interval)
            found = Found.UNDECIDED
            if least > -self.margin:
                found = Found.CONFIRMED
            elif most < -self.margin:
                found = Found.CONTRADICTED
        return Evidence(
            found,
            self.place,
            _named(pair),
            sign * difference.value,
            low,
            high,
            difference.p,
            model.n,
            self._needed(pair, model, level) if found is Found.UNDECIDED else None,
            self.note,
        )

    def _needed(self, pair: tuple[str, str], model: Blocked, level: float) -> int | None:
        """Return the number of seeds that detects the published difference, or the margin, with 80 % power."""
        sought = self.margin if self.at_least else abs(self.gaps.get(pair) or 0.0) or self.margin
        if not sought:
            return None
        return seeds_needed(
            sought, math.sqrt(model.mse), model.k, alpha=level, procedure="declared pairs", m=len(self.pairs)
        )


_OUTCOMES = {
    Outcome.BETTER: Found.CONFIRMED,
    Outcome.BETTER_WITHIN: Found.CONFIRMED,
    Outcome.WORSE: Found.CONTRADICTED,
    Outcome.WORSE_WITHIN: Found.CONTRADICTED,
    Outcome.EQUIVALENT: Found.EQUIVALENT,
    Outcome.UNDECIDED: Found.UNDECIDED,
    Outcome.UNTESTED: Found.UNDECIDED,
}


def _named(pair: tuple[str, str]) -> str:
    return f"{pair[0]} against {pair[1]}"


def slope_evidence(place: str, about: str, slopes: Sequence[float], *, rises: bool, level: float) -> Evidence:
    """Test whether the mean slope over seeds has the claimed sign, by a one-sample t-test.

    Args:
        place: The study, analysis, dataset, test set and model size.
        about: The claim in words.
        slopes: One slope per seed.
        rises: Whether the claimed slope is positive.
        level: The significance level.

    Returns:
        The evidence; its value is positive if the slope has the claimed sign.
    """
    n, sign = len(slopes), 1 if rises else -1
    mean = sign * float(np.mean(slopes))
    if n < 2 or not (spread := float(np.std(slopes, ddof=1))):
        return Evidence(Found.UNDECIDED, place, about, mean, units=n, note="fewer than two seeds, or no spread")
    error, critical = spread / math.sqrt(n), float(stats.t.isf(level / 2, n - 1))
    p = float(2 * stats.t.sf(abs(mean) / error, n - 1))
    found = Found.UNDECIDED if p >= level else Found.CONFIRMED if mean > 0 else Found.CONTRADICTED
    needed = None
    if found is Found.UNDECIDED:
        enough = (
            more
            for more in range(n + 1, _MOST_SEEDS)
            if power_of(mean, spread / math.sqrt(more), more - 1, float(stats.t.isf(level / 2, more - 1))) >= TARGET
        )
        needed = next(enough, None)
    note = "slope in the claimed direction; seeds needed are for a slope as large as this one"
    return Evidence(found, place, about, mean, mean - critical * error, mean + critical * error, p, n, needed, note)


def together(evidence: Sequence[Evidence]) -> Found:
    """Return the verdict on a claim.

    A claim is contradicted if any of its parts is contradicted, and confirmed only if all parts are confirmed.

    Args:
        evidence: The evidence for all parts of the claim.
    """
    found = {each.found for each in evidence}
    if Found.CONTRADICTED in found:
        return Found.CONTRADICTED
    if found <= {Found.NOT_RUN}:
        return Found.NOT_RUN
    if found & {Found.UNDECIDED, Found.NOT_RUN}:
        return Found.UNDECIDED
    return Found.EQUIVALENT if Found.EQUIVALENT in found else Found.CONFIRMED


def seeds_to_decide(evidence: Sequence[Evidence]) -> int | None:
    """Return the number of seeds that would decide all undecided evidence; None if it is unknown for any of it."""
    needed = [each.needed for each in evidence if each.found is Found.UNDECIDED]
    known = [each for each in needed if each is not None]
    return max(known) if known and len(known) == len(needed) else None
