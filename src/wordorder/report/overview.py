"""What a reader wants first: what was compared, how far it is done, and what was found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from wordorder.config.models import Page, Report
from wordorder.metrics.base import metric
from wordorder.report.records import Record
from wordorder.results.frames import groups, load_significance

LISTED = 12  # unfinished cells


@dataclass(frozen=True)
class Whisker:
    """A difference and its simultaneous interval, in per cent of a drawing's width.

    Attributes:
        low: The lower end of the interval.
        middle: The difference.
        high: The upper end.
        zero: Where no difference is.
        margin: Both ends of the margin within which systems are equivalent, cut at the edges; None without a margin.
    """

    low: float
    middle: float
    high: float
    zero: float
    margin: tuple[float, float] | None


@dataclass(frozen=True)
class Verdict:
    """The verdict on one comparison; ``kind`` is its style, ``outcome`` what is printed."""

    kind: str
    outcome: str
    system: str
    baseline: str
    sentence: str
    whisker: Whisker | None


@dataclass(frozen=True)
class Comparisons:
    """The declared comparisons of one dataset, size, test set and metric, and what these seeds could have found."""

    place: str
    metric: str
    verdicts: list[Verdict]
    power: str


@dataclass(frozen=True)
class Alike:
    """The encodings of one place and metric, best first, in groups that cannot be told apart: letter -> encodings."""

    place: str
    metric: str
    groups: dict[str, list[str]]


def facts(asked: Page, records: Sequence[Record]) -> list[tuple[str, list[str]]]:
    """What is compared, as names with their values."""
    report = asked.report
    languages = {name: f"{asked.source_languages[name]} → {asked.target_languages[name]}" for name in _names(report)}
    done = [record for record in records if record.status == "finished"]
    others = [record for record in records if record.status != "finished"]
    return [
        ("Datasets", [f"{data.title} ({languages[data.name]})" for data in report.datasets]),
        ("Test sets", list(dict.fromkeys(test for data in report.datasets for test in data.tests))),
        ("Encodings", list(report.encodings)),
        ("Baseline", [report.baseline]),
        ("Sizes", list(report.sizes)),
        ("Seeds", [str(seed) for seed in report.seeds]),
        ("Metrics", [metric(name).label for name in report.metrics]),
        ("Finished", [f"{len(done)} of {len(records)} cells"]),
        *([("Not finished", _listed(others))] if others else []),
    ]


def _listed(records: Sequence[Record]) -> list[str]:
    """The first cells by name and how many more there are; the table of records has all."""
    first = [f"{record.name}: {record.status}" for record in records[:LISTED]]
    return first + ([f"and {len(records) - LISTED} more"] if len(records) > LISTED else [])


def _names(report: Report) -> list[str]:
    return [data.name for data in report.datasets]


def comparisons(report: Report, results: Path) -> list[Comparisons]:
    """The verdicts, by dataset, size and test set, and then by metric, in the study's order."""
    found = []
    for file in load_significance(report, results):
        place = _place(report, file["dataset"], file["size"], file["test"])
        for name, tested in file["metrics"].items():
            if tested["comparisons"]:
                verdicts = _verdicts(tested["comparisons"], tested["family"]["margin"])
                found.append(Comparisons(place, metric(name).label, verdicts, _power(tested["family"], name)))
    return found


def _power(family: dict[str, Any], name: str) -> str:
    """What the seeds of a family could have found, and what is wrong with its level."""
    places, label = metric(name).digits, metric(name).label
    if family["problem"]:
        return f"No verdict: {family['problem']}."
    low, high = family["detectable_range"]
    said = (
        f"{len(family['seeds'])} seeds find a difference of {family['detectable']:.{places}f} {label} with 80 % "
        f"probability (95 % range {low:.{places}f} to {high:.{places}f})."
    )
    if family["margin"] is not None:
        needed = "more than 10,000" if family["seeds_needed"] is None else f"{family['seeds_needed']:,}"
        said += f" For {family['margin']:.{places}f} {label}, the margin, {needed} seeds are needed."
    if not family["level"]["exact"]:
        said += " Seeds were added after results had been seen, which was not declared: no level is exact."
    if (family["baseline_check"] or {}).get("corrects"):
        said += " The baseline varies more over the seeds than the other systems: these verdicts need more seeds."
    return said


def _verdicts(entries: list[dict[str, Any]], margin: float | None) -> list[Verdict]:
    intervals = [entry["test"] and entry["test"]["interval"] for entry in entries]
    ends = [0.0, *(end for interval in intervals if interval for end in interval)]
    low, span = min(ends), (max(ends) - min(ends)) or 1.0

    def across(value: float) -> float:
        return float(round(2 + 96 * min(max((value - low) / span, -0.02), 1.02), 2))

    return [
        Verdict(
            kind=entry["outcome"].partition(",")[0],
            outcome=entry["outcome"],
            system=entry["system"],
            baseline=entry["baseline"],
            sentence=entry["verdict"],
            whisker=interval
            and Whisker(
                low=across(interval[0]),
                middle=across(entry["test"]["value"]),
                high=across(interval[1]),
                zero=across(0.0),
                margin=None if margin is None else (across(-margin), across(margin)),
            ),
        )
        for entry, interval in zip(entries, intervals, strict=True)
    ]


def alike(report: Report, scores: pd.DataFrame) -> list[Alike]:
    """Which encodings share a letter of the table of scores, whose data are ``scores``.

    Nothing where there are too few seeds to tell encodings apart.
    """
    found = []
    for (dataset, size, test, name), rows in groups(scores, ["dataset", "size", "test", "metric"]):
        best_first = rows.sort_values("mean", ascending=metric(name).lower_is_better, kind="stable")
        lettered: dict[str, list[str]] = {}
        for row in best_first.to_dict("records"):
            for letter in _LETTERS.findall(row["group"]):
                lettered.setdefault(letter, []).append(row["encoding"])
        if lettered:
            found.append(Alike(_place(report, dataset, size, test), metric(name).label, dict(sorted(lettered.items()))))
    return found


# After z come (27), (28) ...
_LETTERS = re.compile(r"[a-z]|\(\d+\)")


def _place(report: Report, dataset: str, size: str, test: str) -> str:
    """Where something was found, without what is the same for the whole study."""
    titles = {data.name: data.title for data in report.datasets}
    parts = [titles[dataset]] if len(titles) > 1 else []
    parts += [size] if len(report.sizes) > 1 else []
    return ", ".join([*parts, test])
