"""The overview of the page: the compared systems, the progress and the verdicts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from wordorder.comparison.levels import NOT_EXACT
from wordorder.comparison.verdicts import baseline_varies, kind_of, unstable
from wordorder.config.models import Report
from wordorder.config.pages import Page
from wordorder.metrics.base import metric
from wordorder.report.records import Record
from wordorder.results.frames import groups, load_significance
from wordorder.tables.comparisons import is_small

LISTED = 12  # unfinished cells; the table of records lists all


@dataclass(frozen=True)
class Whisker:
    """A difference and its simultaneous interval, as positions in a drawing, in per cent of its width.

    Attributes:
        low: The lower end of the interval.
        middle: The difference.
        high: The upper end of the interval.
        zero: The position of a difference of zero.
        margin: Both ends of the equivalence margin, clipped to the drawing; None if the study has no margin.
    """

    low: float
    middle: float
    high: float
    zero: float
    margin: tuple[float, float] | None


@dataclass(frozen=True)
class Verdict:
    """The verdict on one comparison.

    Attributes:
        kind: The first word of the outcome, which selects the style.
        outcome: The printed outcome.
        system: The compared encoding.
        baseline: The encoding with which it is compared.
        sentence: The verdict in words.
        whisker: The interval; None if the comparison could not be tested.
    """

    kind: str
    outcome: str
    system: str
    baseline: str
    sentence: str
    whisker: Whisker | None


@dataclass(frozen=True)
class Comparisons:
    """The declared comparisons of one dataset, size, test set and metric.

    Attributes:
        place: The test set, with the dataset and size if the study has several.
        metric: The label of the metric.
        verdicts: The verdicts, in the order of the study.
        power: A text on the differences that the seeds could have found.
    """

    place: str
    metric: str
    verdicts: list[Verdict]
    power: str


@dataclass(frozen=True)
class Alike:
    """The encodings that do not differ significantly, for one test set and metric.

    Attributes:
        place: The test set, with the dataset and size if the study has several.
        metric: The label of the metric.
        groups: By significance letter, the encodings that share it, best first.
    """

    place: str
    metric: str
    groups: dict[str, list[str]]


def facts(asked: Page, records: Sequence[Record]) -> list[tuple[str, list[str]]]:
    """List what the study compares.

    Args:
        asked: The configuration of the page.
        records: The records of all cells.

    Returns:
        Pairs of a name, such as "Seeds", and its values.
    """
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
        *([("Not in the bundle", asked.lacking)] if asked.lacking else []),
    ]


def _listed(records: Sequence[Record]) -> list[str]:
    """Name the first cells with their status, and count the rest."""
    first = [f"{record.name}: {record.status}" for record in records[:LISTED]]
    return first + ([f"and {len(records) - LISTED} more"] if len(records) > LISTED else [])


def _names(report: Report) -> list[str]:
    return [data.name for data in report.datasets]


def comparisons(report: Report, results: Path) -> list[Comparisons]:
    """Load the verdicts on the declared comparisons.

    Args:
        report: The reported part of the study's configuration.
        results: The folder of the study's results.

    Returns:
        One entry per test set and metric, in the order of the study.
    """
    found = []
    for file in load_significance(report, results):
        title = place(report, file["dataset"], file["size"], file["test"])
        for name, tested in file["metrics"].items():
            if tested["comparisons"]:
                verdicts = _verdicts(tested["comparisons"], tested["family"]["margin"])
                found.append(Comparisons(title, metric(name).label, verdicts, _power(tested["family"], name)))
    return found


def _power(family: dict[str, Any], name: str) -> str:
    """Describe the differences that the seeds of a family could have found, and any defect of its level."""
    places, label = metric(name).digits, metric(name).label
    if family["problem"]:
        return f"No verdict: {family['problem']}."
    low, high = family["detectable_range"]
    of = ", between systems that vary no more than the others," if unstable(family) else ""
    said = (
        f"{len(family['seeds'])} seeds find a difference of {family['detectable']:.{places}f} {label}{of} with 80 % "
        f"probability (95 % range {low:.{places}f} to {high:.{places}f})."
    )
    if family["margin"] is not None:
        needed = "more than 10,000" if family["seeds_needed"] is None else f"{family['seeds_needed']:,}"
        said += f" To find the margin of {family['margin']:.{places}f} {label}, {needed} seeds are needed."
    if not family["level"]["exact"]:
        said += f" {NOT_EXACT}"
    if baseline_varies(family):
        said += " The baseline varies more over seeds than the other systems do, so these verdicts need more seeds."
    if varying := ", ".join(unstable(family)):
        said += f" Verdicts on a system that varies more over seeds than the others ({varying}) use its own spread."
    if is_small(family):
        said += (
            " The seeds vary less than the sentences on which they differ explain, probably by chance; then these "
            "intervals are too narrow."
        )
    return said


def _verdicts(entries: list[dict[str, Any]], margin: float | None) -> list[Verdict]:
    intervals = [entry["test"] and entry["test"]["interval"] for entry in entries]
    ends = [0.0, *(end for interval in intervals if interval for end in interval)]
    low, span = min(ends), (max(ends) - min(ends)) or 1.0

    def across(value: float) -> float:
        return float(round(2 + 96 * min(max((value - low) / span, -0.02), 1.02), 2))

    return [
        Verdict(
            kind=kind_of(entry),
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
    """Group the encodings that share a significance letter.

    Args:
        report: The reported part of the study's configuration.
        scores: The data of the table of scores.

    Returns:
        One entry per test set and metric; none where too few seeds were run for letters.
    """
    found = []
    for (dataset, size, test, name), rows in groups(scores, ["dataset", "size", "test", "metric"]):
        best_first = rows.sort_values("mean", ascending=metric(name).lower_is_better, kind="stable")
        lettered: dict[str, list[str]] = {}
        for row in best_first.to_dict("records"):
            for letter in _LETTERS.findall(row["group"]):
                lettered.setdefault(letter, []).append(row["encoding"])
        if lettered:
            in_order = dict(sorted(lettered.items(), key=lambda each: (len(each[0]), each[0])))
            found.append(Alike(place(report, dataset, size, test), metric(name).label, in_order))
    return found


# The letter display continues after z with (27), (28) ...
_LETTERS = re.compile(r"[a-z]|\(\d+\)")


def place(report: Report, dataset: str, size: str, test: str) -> str:
    """Name a test set, with the dataset and size only if the study has several."""
    titles = {data.name: data.title for data in report.datasets}
    parts = [titles[dataset]] if len(titles) > 1 else []
    parts += [size] if len(report.sizes) > 1 else []
    return ", ".join([*parts, test])
