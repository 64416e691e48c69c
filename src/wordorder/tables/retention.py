"""The table of retention: the share of its score that each system keeps on the test sets after the first.

A difference between systems may grow or shrink from one test set to another, such as one of longer sentences or of
another domain. Two verdicts, one per test set, do not show that: "better here, undecided there" may be chance. This
table tests the difference of the shares itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from wordorder.comparison.levels import NOT_EXACT
from wordorder.config.models import Report
from wordorder.metrics.base import metric
from wordorder.results.blocks import blocked
from wordorder.results.frames import groups
from wordorder.statistics.all_pairs import Pair, Pairs, declared_pairs
from wordorder.statistics.blocked import Difference
from wordorder.statistics.dunnett import AgainstBaseline, against_baseline
from wordorder.tables.comparisons import all_exact, place_of, untested, unused_notes
from wordorder.tables.table import Block, Row, Table, interval, mean_and_sd, number, p_values, text

_DIGITS = 1  # of per cent
_OUTCOME = ["difference", "low", "high", "p", "outcome"]
_COLUMNS = ["dataset", "size", "first", "test", "metric", "system", "baseline", "kept", "baseline_kept", *_OUTCOME]


def retention_table(scores: pd.DataFrame, tested: list[dict[str, Any]], report: Report) -> Table:
    """Make the table of retention: for each other test set, 100 · score / score on the first test set.

    Args:
        scores: From :func:`.results.frames.load_scores`.
        tested: From :func:`.results.frames.load_significance`, for the comparisons of the study.
        report: The study.
    """
    rows: list[dict[str, Any]] = []
    blocks: list[Block] = []
    unused: dict[str, list[str]] = {}
    metrics = {(file["dataset"], file["size"], file["test"]): file["metrics"] for file in tested}
    for dataset in report.datasets:
        shown: list[Row] = []
        for place, kept in _kept(scores[scores["dataset"] == dataset.name], dataset.tests):
            first, found = (
                metrics.get((dataset.name, place["size"], place[role]), {}).get(place["metric"])
                for role in ("first", "test")
            )
            learned = not any(map(_learned_nothing, (first, found)))
            outcomes, unused[place_of({"dataset": dataset.name} | place)] = _compare(
                kept, found, report.seeds, learned=learned
            )
            for pair, outcome in outcomes.items():
                shares = [list(kept.loc[kept["encoding"] == name, "kept"]) for name in pair]
                means = [pd.Series(each, dtype=float).mean() for each in shares]
                names = dict(zip(("system", "baseline", "kept", "baseline_kept"), (*pair, *means), strict=True))
                rows.append({"dataset": dataset.name} | place | names | outcome)
                cells: Row = {"Size": text(place["size"]), "Test": text(place["test"])}
                cells |= {"Metric": text(metric(place["metric"]).label)}
                for heading, name, values in zip(("System", "Baseline"), pair, shares, strict=True):
                    cells[heading] = text(name)
                    cells[f"{heading}'s share (%)"] = mean_and_sd(values, len(report.seeds), _DIGITS)
                shown.append(cells | _shown(outcome))
        caption = (
            f"{dataset.title}: scores in per cent of those on {dataset.tests[0].partition('@')[0]}, by the same models."
        )
        blocks.append(Block(caption, shown or [{"Metric": text(_NOTHING)}]))
    notes = list(_NOTES) if all_exact(tested) else [*_NOTES, NOT_EXACT]
    return Table("retention", pd.DataFrame(rows, columns=_COLUMNS), blocks, [*notes, *unused_notes(unused)])


_NOTHING = "No comparisons, no other test set, or no metric of which a share has a meaning."
_NOTES = (
    "Share: the score of a model on the test set, in per cent of its score on the first test set of the dataset; mean "
    "± standard deviation over seeds. The difference is in percentage points, with a simultaneous interval; p and "
    "verdict are those of the procedure that the table of significance names, within one size, test set and metric. "
    "Keeping more is not the same as a better score, which that table tests.",
    "Metrics without a zero that means no agreement, such as COMET, and those of which lower is better have no rows.",
)


def _kept(scores: pd.DataFrame, tests: list[str]) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Yield the place of each comparison, and its cells with the column ``kept``, in per cent.

    Test sets that were translated with several decodings ('TEST@DECODING') are compared within a decoding.
    """
    for test in tests:
        first = next(each for each in tests if each.partition("@")[2] == test.partition("@")[2])
        if test == first:
            continue
        own = scores[scores["test"].isin([first, test])]
        for (size, name), cells in groups(own, ["size", "metric"]):
            if not metric(name).ratio_scale:
                continue
            status = cells[cells["test"] == first].set_index(["encoding", "seed"])["status"]
            pivoted = cells.pivot(index=["encoding", "seed"], columns="test", values="score").reindex(status.index)
            base = pivoted[first].where(pivoted[first] > 0)  # a model that has learned nothing keeps no share
            kept = (100 * pivoted[test] / base).to_frame("kept").assign(status=status).reset_index()
            yield {"size": size, "first": first, "test": test, "metric": name}, kept


def _learned_nothing(found: dict[str, Any] | None) -> bool:
    return ((found or {}).get("family") or {}).get("problem") == "no score above the margin"


def _compare(
    kept: pd.DataFrame, found: dict[str, Any] | None, seeds: list[int], *, learned: bool
) -> tuple[dict[Pair, dict[str, Any]], list[str]]:
    """Compare the shares by the same procedure and level as the scores.

    Args:
        kept: The shares, one row per cell.
        found: The significance tests of the scores.
        seeds: The seeds of the study.
        learned: Whether models have learned something on both test sets; otherwise nothing is compared.

    Returns:
        The outcome of each comparison of the study, and which systems and seeds the test does not use.
    """
    pairs = [(entry["system"], entry["baseline"]) for entry in (found or {"comparisons": []})["comparisons"]]
    family = found and found["family"]
    if not family or not pairs or not learned:
        return {pair: _outcome(None, 0.0) for pair in pairs}, []
    model, level = blocked(kept, seeds, "kept"), family["level"]["level"]
    tested: AgainstBaseline | Pairs
    differences: Mapping[Pair, Difference]
    if family["procedure"] == "dunnett":
        (baseline,) = {of for _, of in pairs}
        tested = against_baseline(model, baseline, alpha=level, among=[system for system, _ in pairs])
        differences = {(system, baseline): of for system, of in tested.differences.items()}
    else:
        tested = declared_pairs(model, pairs, alpha=level)
        differences = tested.differences
    outcomes = {pair: _outcome(differences.get(pair), level) for pair in pairs}
    return outcomes, untested(model.excluded, model.dropped_seeds, tested.problem)


def _outcome(difference: Difference | None, level: float) -> dict[str, Any]:
    if difference is None:
        return dict.fromkeys(_OUTCOME) | {"outcome": "not compared"}
    outcome = "undecided" if difference.p >= level else "keeps more" if difference.value > 0 else "keeps less"
    return dict(zip(_OUTCOME, (difference.value, *difference.interval, difference.p, outcome), strict=True))


def _shown(found: dict[str, Any]) -> Row:
    ends = None if found["low"] is None else (found["low"], found["high"])
    return {
        "Difference": number(found["difference"], _DIGITS, sign="+"),
        "Interval": interval(ends, _DIGITS),
        "p": p_values(found["p"]),
        "Verdict": text(found["outcome"]),
    }
