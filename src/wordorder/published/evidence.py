"""Evidence for claims: comparisons of systems over seeds, slopes over seeds, and the verdict on all evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from scipy import stats

from wordorder.statistics.all_pairs import declared_pairs
from wordorder.statistics.blocked import Blocked, Difference, block, score_floor
from wordorder.statistics.power import TARGET, power_of, seeds_needed
from wordorder.statistics.resampling import TIE
from wordorder.statistics.verdicts import Outcome, verdict
from wordorder.wording import listed

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
        stands_in: What of ours stands in for the paper's languages, data, model size or settings; empty if nothing.
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
    stands_in: str = ""


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
        relation: What the claim says of the first system of a pair: that it is better, not worse by more than the
            margin, or better in every seed.
        note: A remark for the reader of the verdicts.
        stands_in: As in :class:`Evidence`.
        lacks: Why systems have no values, such as 'diverged'; others were not run.
        part: The part of the claim that the family decides, such as a column of a table; empty if the claim has one.
        exact: Whether numbers that do not vary over the seeds, such as counts or memory, decide without a test. Scores
            do not: all seeds may reach the lowest or highest one.
        seeds: The declared seeds; those of any system if empty.
    """

    place: str
    values: Values
    pairs: Sequence[tuple[str, str]]
    gaps: Mapping[tuple[str, str], float]
    lower_is_better: bool = False
    margin: float | None = None
    relation: str = "better"
    note: str = ""
    stands_in: str = ""
    lacks: Mapping[str, str] = field(default_factory=dict)
    part: str = ""
    exact: bool = True
    seeds: Sequence[int] = ()

    @property
    def run(self) -> bool:
        """Whether both systems of some pair have values."""
        return any(self.values.get(one) and self.values.get(other) for one, other in self.pairs)

    @property
    def at_least(self) -> bool:
        """Whether the claim is only that the first system of a pair is not worse by more than the margin."""
        return self.relation == "not worse"

    def evidence(self, level: float) -> list[Evidence]:
        """Test the pairs by t-tests on the seed-blocked model, corrected for the number of pairs.

        Args:
            level: The significance level of the family.

        Returns:
            One piece of evidence per pair, in the order of the pairs.
        """
        known = {name: of for name, of in self.values.items() if of}
        model = block(known, floor=score_floor(self.margin, lower_is_better=self.lower_is_better))
        tested = declared_pairs(model, list(self.pairs), alpha=level)
        found = []
        for pair in self.pairs:
            lacking = [name for name in pair if name not in known]
            if lacking:
                reason = " and ".join(f"{name} {self.lacks.get(name, 'not run')}" for name in lacking)
                found.append(Evidence(Found.NOT_RUN, self.place, _named(pair), note=reason))
            elif self.relation == "better in every seed":
                found.append(self._in_every_seed(pair, known))
            elif pair in tested.differences:
                found.append(self._judged(pair, tested.differences[pair], model, level))
            else:
                excluded = [f"{name}: {model.excluded[name]}" for name in pair if name in model.excluded]
                found.append(self._untested(pair, known, str(tested.problem or "; ".join(excluded))))
        return found

    def _sign(self) -> int:
        return -1 if self.lower_is_better else 1

    def _in_every_seed(self, pair: tuple[str, str], known: Values) -> Evidence:
        one, other = (known[name] for name in pair)
        gaps = [self._sign() * (one[seed] - other[seed]) for seed in one.keys() & other.keys()]
        better = sum(gap > 0 for gap in gaps)
        declared = {*self.seeds, *(seed for of in known.values() for seed in of)}
        missing = sorted(declared - (one.keys() & other.keys()))
        note = f"better in {better} of {len(gaps)} seeds; the number is the least difference"
        found, needed = Found.CONFIRMED if len(gaps) > 1 else Found.UNDECIDED, None
        if better < len(gaps):
            found = Found.CONTRADICTED
        elif missing:
            found, needed = Found.UNDECIDED, len(declared)
            note += f"; without {'seed' if len(missing) == 1 else 'seeds'} {listed(map(str, missing))}"
        value, n = min(gaps, default=None), len(gaps)
        return Evidence(
            found, self.place, _named(pair), value, units=n, needed=needed, note=note, stands_in=self.stands_in
        )

    def _untested(self, pair: tuple[str, str], known: Values, problem: str) -> Evidence:
        """Judge a pair without a test: exact numbers that do not vary decide; a single seed does not."""
        one, other = (list(known[name].values()) for name in pair)
        value = self._sign() * (float(np.mean(one)) - float(np.mean(other)))
        found = Found.UNDECIDED
        if problem == "no variance" and self.exact:
            better = value >= -(self.margin or 0.0) if self.at_least else value > 0
            found = Found.CONFIRMED if better else Found.CONTRADICTED
        note, units = "; ".join(filter(None, (problem, self.note))), min(len(one), len(other))
        return Evidence(found, self.place, _named(pair), value, units=units, note=note, stands_in=self.stands_in)

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
            self._needed(pair, difference, model, level) if found is Found.UNDECIDED else None,
            self.note,
            self.stands_in,
        )

    def _needed(self, pair: tuple[str, str], difference: Difference, model: Blocked, level: float) -> int | None:
        """Return the number of seeds that detects the difference that is sought with 80 % power, at least one more.

        That is the published difference; without one the margin; without a margin a difference as large as ours.
        """
        published = 0.0 if self.at_least else abs(self.gaps.get(pair) or 0.0)
        sought = published or self.margin or abs(difference.value)
        if not sought:
            return None
        needed = seeds_needed(
            sought,
            difference.standard_error * math.sqrt(model.n / 2),  # that of this pair, one of which may vary more
            model.k,
            alpha=level,
            procedure="declared pairs",
            m=len(self.pairs),
            freedom=difference.nu / (model.n - 1),
        )
        return needed and max(needed, model.n + 1)


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


def slope_evidence(
    place: str, about: str, slopes: Sequence[float], *, rises: bool, level: float, stands_in: str = ""
) -> Evidence:
    """Test whether the mean slope over seeds has the claimed sign, by a one-sample t-test.

    Args:
        place: The study, analysis, dataset, test set and model size.
        about: The claim in words.
        slopes: One slope per seed.
        rises: Whether the claimed slope is positive.
        level: The significance level.
        stands_in: As in :class:`Evidence`.

    Returns:
        The evidence; its value is positive if the slope has the claimed sign.
    """
    n, sign = len(slopes), 1 if rises else -1
    mean = sign * float(np.mean(slopes))
    if not np.isfinite(slopes).all():
        return Evidence(Found.UNDECIDED, place, about, units=n, note="a slope is not finite", stands_in=stands_in)
    if n < 2 or (spread := float(np.std(slopes, ddof=1))) <= TIE:
        note = "fewer than two seeds, or no spread"
        return Evidence(Found.UNDECIDED, place, about, mean, units=n, note=note, stands_in=stands_in)
    error, critical = spread / math.sqrt(n), float(stats.t.isf(level / 2, n - 1))
    p = float(2 * stats.t.sf(abs(mean) / error, n - 1))
    found = Found.UNDECIDED if p >= level else Found.CONFIRMED if mean > 0 else Found.CONTRADICTED
    needed = _enough(mean, spread, n, degrees=1, level=level) if found is Found.UNDECIDED else None
    note = "slope in the claimed direction; seeds needed are for a slope as large as this one"
    low, high = mean - critical * error, mean + critical * error
    return Evidence(found, place, about, mean, low, high, p, n, needed, note, stands_in)


def gain_evidence(
    place: str,
    about: str,
    larger: Sequence[float],
    smaller: Sequence[float],
    *,
    published: float | None,
    level: float,
    stands_in: str = "",
) -> Evidence:
    """Test whether a mean gain is larger than another one, by Welch's t-test.

    Args:
        place: The studies, dataset, test set and model sizes.
        about: The claim in words.
        larger: The gains that the paper finds larger, one per seed.
        smaller: The other gains, one per seed.
        published: The published difference of the gains; None without one.
        level: The significance level.
        stands_in: As in :class:`Evidence`.

    Returns:
        The evidence; its value is positive if the difference of the gains has the claimed sign.
    """
    value = float(np.mean(larger)) - float(np.mean(smaller))
    n = min(len(larger), len(smaller))
    variance = sum(float(np.var(gains, ddof=1)) / len(gains) for gains in (larger, smaller)) if n > 1 else 0.0
    if math.sqrt(variance) <= TIE:
        note = "fewer than two seeds, or no spread"
        return Evidence(Found.UNDECIDED, place, about, value, units=n, note=note, stands_in=stands_in)
    test = stats.ttest_ind(larger, smaller, equal_var=False)
    low, high = test.confidence_interval(1 - level)
    found = Found.UNDECIDED if test.pvalue >= level else Found.CONFIRMED if value > 0 else Found.CONTRADICTED
    needed = None
    if found is Found.UNDECIDED:
        spread = math.sqrt(variance * n)
        needed = _enough(published or value, spread, n, degrees=2, level=level)
    return Evidence(
        found, place, about, value, float(low), float(high), float(test.pvalue), n, needed, stands_in=stands_in
    )


def _enough(sought: float, spread: float, n: int, *, degrees: int, level: float) -> int | None:
    """Return the number of seeds above n at which a t-test finds a mean, or a difference of means, with 80 % power.

    Args:
        sought: The mean or difference.
        spread: Its standard error times the root of the number of seeds.
        n: The number of seeds that was not enough.
        degrees: Degrees of freedom of the test for each seed beyond the first.
        level: The significance level.

    Returns:
        The number of seeds; None if it is above 1,000.
    """
    for more in range(n + 1, _MOST_SEEDS):
        nu = degrees * (more - 1)
        if power_of(sought, spread / math.sqrt(more), nu, float(stats.t.isf(level / 2, nu))) >= TARGET:
            return more
    return None


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


def seeds_to_decide(evidence: Sequence[Evidence]) -> str:
    """Say how many seeds would decide all undecided evidence.

    Args:
        evidence: The evidence for all parts of a claim.

    Returns:
        The number; "more than …" if some of the evidence needs more than that; "at least 2" if some has a single seed;
        "a first run" if nothing is undecided but a part has not been run.
    """
    undecided = [each for each in evidence if each.found is Found.UNDECIDED]
    known = [each.needed for each in undecided if each.needed is not None]
    if not undecided:
        return "a first run"
    if len(known) == len(undecided):
        return f"{max(known):,}"
    return "at least 2" if any(each.units < 2 for each in undecided) else f"more than {_MOST_SEEDS:,}"
