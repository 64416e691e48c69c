"""The answer of a study in words: what was found, how sure it is, and what would make it surer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordorder.comparison.levels import NOT_EXACT
from wordorder.comparison.power import FamilyPower
from wordorder.comparison.verdicts import baseline_varies, common_test, kind_of, unstable
from wordorder.config.models import Report
from wordorder.metrics.base import metric
from wordorder.report.overview import Alike, place
from wordorder.report.records import Record
from wordorder.results.frames import load_significance
from wordorder.tables.comparisons import is_small
from wordorder.tables.credibility import Item
from wordorder.wording import count_of, listed

NAMED = 4  # systems per outcome
PLACES = 4  # test sets with a sentence of their own
_PHRASES = {
    "better": "better than",
    "worse": "worse than",
    "equivalent": "equivalent to",
    "undecided": "undecided against",
    "untested": "not tested against",
}


@dataclass(frozen=True)
class Answer:
    """The sentences of each part of the answer."""

    found: list[str]
    sure: list[str]
    surer: list[str]


@dataclass(frozen=True)
class _Family:
    """The comparisons of one test set by one metric."""

    place: str
    metric: str
    comparisons: list[dict[str, Any]]
    summary: dict[str, Any]

    @property
    def label(self) -> str:
        return metric(self.metric).label

    @property
    def power(self) -> FamilyPower:
        """The power of comparisons between systems that vary no more than the others."""
        test = common_test(self.comparisons, self.summary)
        assert test is not None  # A family without a problem has a tested comparison.
        return FamilyPower.of(self.summary, test)

    def seeds_for(self, difference: float) -> int | None:
        """Return the number of seeds that find a difference, by the procedure of the family."""
        return self.power.needed(difference, self.power.sigma)

    def number(self, value: float, sign: str = "") -> str:
        return f"{value:{sign}.{metric(self.metric).digits}f}".replace("-", "−")

    def count(self, *kinds: str) -> int:
        return sum(kind_of(entry) in kinds for entry in self.comparisons)


def answer(
    report: Report, results: Path, records: Sequence[Record], items: Sequence[Item], alike: Sequence[Alike]
) -> Answer:
    """Answer the question of a study.

    Args:
        report: The study.
        results: The folder of the study's results.
        records: The records of all cells.
        items: The credibility checklist.
        alike: The encodings that do not differ significantly, which answer if no comparison is declared.

    Returns:
        The sentences.
    """
    families = [
        _Family(
            place(report, file["dataset"], file["size"], file["test"]), name, tested["comparisons"], tested["family"]
        )
        for file in load_significance(report, results)
        for name, tested in file["metrics"].items()
        if tested["comparisons"]
    ]
    tested = {family.metric for family in families}
    first = next((name for name in report.metrics if name in tested), report.metrics[0])
    main = [family for family in families if family.metric == first]
    return Answer(
        found=[*_found(main), *_other_metrics(families, main)] if families else _best(alike, report.encodings, first),
        sure=[*_sure(families), *_missing(records), *_checklist(items)],
        surer=_surer(main),
    )


def _here_only(entry: dict[str, Any]) -> bool:
    """Return whether a difference was found that might not hold on other sentences."""
    return kind_of(entry) in ("better", "worse") and entry["reach"] == "on this test set"


def _found(main: Sequence[_Family]) -> list[str]:
    """Give the outcome on each test set, by the first metric."""
    said = [_outcomes(family) for family in main[:PLACES]]
    if rest := main[PLACES:]:
        counts = Counter(kind_of(entry) for family in rest for entry in family.comparisons)
        outcomes = listed(f"{counts[kind]} {kind}" for kind in _PHRASES if counts[kind])
        said.append(f"On {count_of(len(rest), 'more test set')}: {outcomes}.")
    return said


def _outcomes(family: _Family) -> str:
    baselines = {entry["baseline"] for entry in family.comparisons}
    by_kind: dict[str, list[str]] = {}
    ordered = sorted(family.comparisons, key=lambda entry: -abs(entry["test"]["value"]) if entry["test"] else 0.0)
    for entry in ordered:
        remarks = ["within the margin"] if "," in entry["outcome"] else []
        remarks += ["on this test set only"] if _here_only(entry) else []
        value = f" ({', '.join([family.number(entry['test']['value'], '+'), *remarks])})" if entry["test"] else ""
        against = "" if len(baselines) == 1 else f" (against {entry['baseline']})"
        by_kind.setdefault(kind_of(entry), []).append(f"{entry['system']}{against}{value}")
    parts = []
    for kind, phrase in _PHRASES.items():
        if names := by_kind.get(kind):
            verb = "is" if len(names) == 1 else "are"
            systems = listed(names if len(names) <= NAMED + 1 else [*names[:NAMED], f"{len(names) - NAMED} more"])
            if len(baselines) > 1:
                parts.append(f"{systems} {verb} {phrase.rpartition(' ')[0]}")
            else:
                parts.append(f"{systems} {verb} {phrase} {next(iter(baselines)) if not parts else 'it'}")
    return f"On {family.place}, by {family.label}: {'; '.join(parts)}."


def _other_metrics(families: Sequence[_Family], main: Sequence[_Family]) -> list[str]:
    """Compare the outcomes by the other metrics with those by the first one."""
    by_first = {(family.place, e["system"], e["baseline"]): kind_of(e) for family in main for e in family.comparisons}
    said = []
    for name in dict.fromkeys(family.metric for family in families if family not in main):
        own = {
            (family.place, e["system"], e["baseline"]): kind_of(e)
            for family in families
            if family.metric == name
            for e in family.comparisons
        }
        same = sum(by_first.get(key) == kind for key, kind in own.items())
        if same == len(own):
            said.append(f"{metric(name).label} gives the same outcomes.")
        else:
            opposite = sum({by_first.get(key), kind} == {"better", "worse"} for key, kind in own.items())
            contrary = f", and the opposite one for {opposite}" if opposite else ""
            said.append(f"{metric(name).label} gives the same outcome for {same} of {len(own)} comparisons{contrary}.")
    return said


def _best(alike: Sequence[Alike], encodings: Sequence[str], first: str) -> list[str]:
    """Name the best encodings of each test set in a study without declared comparisons.

    An encoding with a diverged run or a single seed cannot be tested and shares no letter.
    """
    said = ["The study declares no comparisons."]
    for each in [each for each in alike if each.metric == metric(first).label][:PLACES]:
        best = next(iter(each.groups.values()))[0]  # It has several letters if a system uses its own spread.
        names = list(dict.fromkeys(name for group in each.groups.values() if best in group for name in group))
        rest = f"; no significant difference from it was found for {listed(names[1:])}" if names[1:] else ""
        untested = listed(name for name in encodings if not any(name in group for group in each.groups.values()))
        of = f" of those that could be tested (all but {untested})" if untested else ""
        said.append(f"On {each.place}, by {each.metric}, {names[0]} has the best mean{of}{rest}.")
    return said


def _sure(families: Sequence[_Family]) -> list[str]:
    """Give the level, the seeds and the sentences for which the outcomes hold."""
    tested = [
        family
        for family in families
        if not family.summary["problem"] and family.count("untested") < len(family.comparisons)
    ]
    untested = [family for family in families if family.summary["problem"]]
    said = [
        f"No verdict on {family.place} by {family.label}: {family.summary['problem']}." for family in untested[:PLACES]
    ]
    if rest := untested[PLACES:]:
        said.append(f"No verdict on {count_of(len(rest), 'more pair')} of a test set and a metric.")
    if not tested:
        return said
    level = max(family.summary["level"]["level"] for family in tested)
    seeds = sorted({len(family.summary["seeds"]) for family in tested})
    count = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    said.append(
        f"The verdicts rest on {count} seeds; on one test set and by one metric, all intervals together hold with "
        f"{100 * (1 - level):.3g} % confidence."
    )
    differ = [entry for family in tested for entry in family.comparisons if kind_of(entry) in ("better", "worse")]
    if differ:
        other = sum(entry["reach"] == "and on other sentences" for entry in differ)
        said.append(
            f"Of {count_of(len(differ), 'difference')}, {other if other else 'none'} would also be expected on other "
            f"sentences{'; the rest are shown only for these test sets' if other else ''}."
            if other < len(differ)
            else "All differences would also be expected on other sentences."
        )
    if any(not family.summary["level"]["exact"] for family in tested):
        said.append(NOT_EXACT)
    if any(baseline_varies(family.summary) for family in tested):
        said.append("The baseline varies more over the seeds than the other systems, which makes verdicts less sure.")
    if varying := list(dict.fromkeys(name for family in tested for name in unstable(family.summary))):
        said.append(
            f"On some test set, {listed(varying)} {'varies' if len(varying) == 1 else 'vary'} more over the seeds than "
            "the other systems; verdicts there use the system's own spread."
        )
    if small := [family for family in tested if is_small(family.summary)]:
        places = listed(f"{family.place} by {family.label}" for family in small)
        said.append(
            f"On {places}, the seeds vary less than the sentences on which they differ explain, probably by chance: "
            "rely only on differences that would also be expected on other sentences."
        )
    return said


def _missing(records: Sequence[Record]) -> list[str]:
    states = Counter(record.status for record in records if record.status != "finished")
    if not states:
        return []
    counts = listed(f"{count} {status}" for status, count in states.items())
    return [f"{sum(states.values())} of {len(records)} cells are missing ({counts})."]


def _checklist(items: Sequence[Item]) -> list[str]:
    met = sum(item.met for item in items)
    uncovered = listed(dict.fromkeys(item.uncovered for item in items if item.met and item.uncovered))
    said = f"{met} of {len(items)} requirements of a credible comparison are met"
    return [f"{said}, but {uncovered}." if uncovered else f"{said}."]


def _surer(main: Sequence[_Family]) -> list[str]:
    """Say how many seeds would decide what is undecided, by the first metric."""
    said = []
    for family in main[:PLACES]:
        undecided, summary = family.count("undecided"), family.summary
        where = f"On {family.place}" if len(main) > 1 else f"By {family.label}"
        if summary["problem"]:
            if summary["problem"] == "fewer than two seeds":
                said.append(f"{where}: finish at least two seeds of each system.")
            if summary["problem"] == "no score above the margin":
                said.append(f"{where}: train longer, or on more text, because no system has learned to translate.")
            continue
        if family.count("untested") == len(family.comparisons):
            said.append(f"{where}, no comparison could be tested.")
            continue
        if is_small(summary):
            said.append(
                f"{where}, more seeds would show whether the outcomes are luck: these vary suspiciously little."
            )
        if not undecided:
            untested = family.count("untested")
            more = f"; {count_of(untested, 'comparison')} could not be tested" if untested else ""
            said.append(f"{where}, all tested comparisons are decided; more seeds would narrow the intervals{more}.")
            continue
        now, detectable = len(summary["seeds"]), summary["detectable"]
        of = ", between systems that vary no more than the others," if unstable(summary) else ""
        said.append(
            f"{where}, {count_of(undecided, 'comparison')} {'is' if undecided == 1 else 'are'} undecided: {now} seeds "
            f"find a difference of {family.number(detectable)} {family.label}{of} with 80 % probability."
        )
        half = f"half of this difference needs {_seeds(family.seeds_for(detectable / 2), now)}"
        if (margin := summary["margin"]) is None:
            said.append(f"In each system, {half}.")
        elif (needed := summary["seeds_needed"]) is not None and needed <= now:
            said.append(f"These seeds are enough to find the margin, {family.number(margin)} {family.label}.")
        else:
            of_margin = f"the margin, {family.number(margin)} {family.label}, needs {_seeds(needed, now)}"
            said.append(f"In each system, {half}; {of_margin}.")
    if any(family.count("undecided") for family in main):
        said.append("Seeds added after seeing these results keep the level exact only as a declared look.")
    if any(_here_only(entry) for family in main for entry in family.comparisons):
        said.append("A larger test set would show whether the outcomes hold for other sentences.")
    return said


def _seeds(needed: int | None, now: int) -> str:
    return "more than 10,000 seeds" if needed is None else f"{needed:,} seeds ({needed - now:,} more)"
