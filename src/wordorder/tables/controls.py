"""The table of controls: each encoding next to its control, which has the same parameters without order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from wordorder.comparison.levels import NOT_EXACT, level_of
from wordorder.config.models import Report
from wordorder.config.pages import CONTROLS, Controls
from wordorder.metrics.base import metric
from wordorder.results.blocks import blocked
from wordorder.results.frames import groups, margins_of
from wordorder.statistics.all_pairs import Pair, declared_pairs
from wordorder.statistics.blocked import score_floor
from wordorder.statistics.verdicts import verdict
from wordorder.tables.comparisons import all_exact, place_of, untested, unused_notes
from wordorder.tables.table import Block, Cell, Row, Table, interval, mean_and_sd, number, p_values, text

_ORDER, _PARAMETERS = "encoding - control", "control - baseline"


def controls_table(scores: pd.DataFrame, records: pd.DataFrame, tested: list[dict[str, Any]], asked: Controls) -> Table:
    """Make the table of controls.

    Args:
        scores: From :func:`.results.frames.load_scores`.
        records: From :func:`.results.frames.load_records`.
        tested: From :func:`.results.frames.load_significance`, for the margins and the looks of the study.
        asked: The study and its controls.
    """
    report = asked.report
    margins = margins_of(tested)
    rows: list[dict[str, Any]] = []
    blocks: list[Block] = []
    unused: dict[str, list[str]] = {}
    for dataset in report.datasets:
        shown: list[Row] = []
        own = scores[scores["dataset"] == dataset.name]
        for (size, test, name), column in groups(own, ["size", "test", "metric"]):
            trained = report.encodings_of(size)
            pairs = {each: of for each, of in asked.controls.items() if {each, of} <= set(trained)}
            place = {"dataset": dataset.name, "size": size, "test": test, "metric": name}
            margin = margins.get((dataset.name, size, test, name))
            compared, unused[place_of(place)] = _test(column, name, pairs, report, margin)
            counts = _parameters(records, dataset.name, size)
            for control, encoding in pairs.items():
                found = {what: compared[pair] for what, pair in _pairs(control, encoding, report, trained)}
                names = {"encoding": encoding, "control": control, "baseline": report.baseline}
                sizes = {f"{role}_parameters": counts.get(each) for role, each in names.items()}
                rows += [place | names | {"comparison": what} | found[what] | sizes for what in found]
                cells: Row = {"Size": text(size), "Test": text(test), "Metric": text(metric(name).label)}
                cells |= {"Encoding": text(encoding)} | _means(column, names, name, report)
                cells |= {"Parameters (M)": _millions(counts, encoding), "Control's (M)": _millions(counts, control)}
                shown.append(cells | _shown("Encoding − control", found.get(_ORDER), name))
                shown[-1] |= _shown(f"Control − {report.baseline}", found.get(_PARAMETERS), name)
        if shown:
            blocks.append(Block(f"{dataset.title}: encodings, their controls and {report.baseline}.", shown))
    notes = list(_NOTES) if all_exact(tested) else [*_NOTES, NOT_EXACT]
    return Table(CONTROLS, pd.DataFrame(rows), blocks, [*notes, *unused_notes(unused)])


_NOTES = (
    "A control has the parameters and the computations of its encoding, but derives the position of a token from the "
    "token only, so that it carries no order. Encoding − control is the gain from order; control − baseline is the "
    "gain from parameters without order.",
    "Intervals and verdicts: t-tests on the seed-blocked model with Holm's correction within the comparisons of one "
    "size, test set and metric of this table; intervals are simultaneous. The table of significance tests another "
    "family of comparisons.",
)


def _pairs(control: str, encoding: str, report: Report, trained: list[str]) -> Iterator[tuple[str, Pair]]:
    yield _ORDER, (encoding, control)
    if report.baseline in trained and report.baseline not in (control, encoding):
        yield _PARAMETERS, (control, report.baseline)


def _test(
    column: pd.DataFrame, name: str, pairs: Mapping[str, str], report: Report, margin: float | None
) -> tuple[dict[Pair, dict[str, Any]], list[str]]:
    """Test all pairs of one size, test set and metric together; return also what the test does not use."""
    trained = list(column["encoding"].unique())
    wanted = [pair for each, of in pairs.items() for _, pair in _pairs(each, of, report, trained)]
    lower = metric(name).lower_is_better
    model = blocked(column, report.seeds, floor=score_floor(margin, lower_is_better=lower))
    level = level_of(report.alpha, model.seeds or report.seeds, report.looks).level
    tested = declared_pairs(model, wanted, alpha=level)
    found = {}
    for pair in wanted:
        difference = tested.differences.get(pair)
        low, high = difference.interval if difference else (None, None)
        judged = verdict(difference, margin=margin or 0.0, alpha=level, lower_is_better=lower)
        found[pair] = {
            "difference": difference and difference.value,
            "low": low,
            "high": high,
            "p": difference and difference.p,
            "margin": margin,
            "outcome": judged.outcome.value,
        }
    return found, untested(tested.model.excluded, tested.model.dropped_seeds, tested.problem) if wanted else []


def _parameters(records: pd.DataFrame, dataset: str, size: str) -> dict[str, float]:
    """Return the trainable parameters by encoding."""
    own = records[(records["dataset"] == dataset) & (records["size"] == size)].dropna(subset="parameters")
    return {name: float(rows["parameters"].iloc[0]) for (name,), rows in groups(own, ["encoding"])}


def _means(column: pd.DataFrame, names: Mapping[str, str], name: str, report: Report) -> Row:
    return {
        heading: mean_and_sd(
            list(column.loc[column["encoding"] == names[role], "score"]), len(report.seeds), metric(name).digits
        )
        for role, heading in (("encoding", "Mean"), ("control", "Control's mean"), ("baseline", "Baseline's mean"))
    }


def _millions(counts: Mapping[str, float], name: str) -> Cell:
    count = counts.get(name)
    return number(None if count is None else count / 1e6, 3)


def _shown(heading: str, found: dict[str, Any] | None, name: str) -> Row:
    found, digits = found or {}, metric(name).digits
    ends = None if found.get("low") is None else (found["low"], found["high"])
    return {
        heading: number(found.get("difference"), digits, sign="+"),
        f"{heading}, interval": interval(ends, digits),
        f"{heading}, p": p_values(found.get("p")),
        f"{heading}, verdict": text(found.get("outcome", "not compared")),
    }
