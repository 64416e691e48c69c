"""The table of retention: the share of its score that each encoding keeps on harder test sets.

A difference between systems may grow or shrink from one test set to another, such as one of longer sentences or of
another domain. Two verdicts, one per test set, do not show that: "better here, undecided there" may be chance. This
table tests the difference of the shares itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from wordorder.comparison.levels import level_of
from wordorder.config.models import Report
from wordorder.metrics.base import metric
from wordorder.results.frames import groups
from wordorder.statistics.blocked import Blocked, block
from wordorder.statistics.dunnett import AgainstBaseline, against_baseline
from wordorder.tables.comparisons import NOT_EXACT
from wordorder.tables.table import Block, Row, Table, interval, mean_and_sd, number, p_values, text

_DIGITS = 1  # of per cent


def retention_table(scores: pd.DataFrame, report: Report, *, exact: bool = True) -> Table:
    """Make the table of retention: for each other test set, 100 · score / score on the first test set.

    Args:
        scores: From :func:`.results.frames.load_scores`.
        report: The study.
        exact: Whether no undeclared look preceded the tests of the study.
    """
    rows: list[dict[str, Any]] = []
    blocks: list[Block] = []
    level = level_of(report.alpha, report.seeds, report.looks)
    for dataset in report.datasets:
        shown: list[Row] = []
        for place, kept in _kept(scores[scores["dataset"] == dataset.name], dataset.tests):
            model = _model(kept, report)
            tested = against_baseline(model, report.baseline, alpha=level.level)
            for (encoding,), own in groups(kept, ["encoding"]):
                found = _row(encoding, tested, level.level, report)
                values = list(own["kept"])
                by_seed = dict(zip(own["seed"], values, strict=True))
                mean = pd.Series(values, dtype=float)
                rows.append({"dataset": dataset.name, **place, "encoding": encoding})
                rows[-1] |= {"kept": mean.mean(), "sd": mean.std(), "n": int(mean.count())} | found
                rows[-1] |= {f"seed {seed}": by_seed[seed] for seed in by_seed}
                cells: Row = {"Size": text(place["size"]), "Test": text(place["test"])}
                cells |= {"Metric": text(metric(place["metric"]).label), "Encoding": text(encoding)}
                cells |= {"Kept (%)": mean_and_sd(values, len(report.seeds), _DIGITS)}
                shown.append(cells | _shown(found, report.baseline))
        caption = f"{dataset.title}: scores in per cent of those on {dataset.tests[0]}, by the same models."
        nothing: Row = {"Metric": text("There is no other test set, or no metric of which a share has a meaning.")}
        blocks.append(Block(caption, shown or [nothing]))
    notes = list(_NOTES) if level.exact and exact else [*_NOTES, NOT_EXACT]
    return Table("retention", pd.DataFrame(rows), blocks, notes)


_NOTES = (
    "Kept: the score of a model on the test set, in per cent of its score on the first test set of the dataset; mean ± "
    "standard deviation over seeds. The difference from the baseline is in percentage points, with a simultaneous "
    "interval; p and verdict are of the step-down test of Dunnett within one size, test set and metric. Keeping more "
    "is not the same as a better score, which the table of significance tests.",
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


def _model(kept: pd.DataFrame, report: Report) -> Blocked:
    values: dict[str, dict[int, float]] = {name: {} for name in kept["encoding"].unique()}
    for row in kept.dropna(subset="kept").to_dict("records"):
        values[row["encoding"]][int(row["seed"])] = float(row["kept"])
    diverged = frozenset(kept.loc[kept["status"] == "diverged", "encoding"])
    return block(values, seeds=report.seeds, diverged=diverged)


def _row(encoding: str, tested: AgainstBaseline, level: float, report: Report) -> dict[str, Any]:
    difference = tested.differences.get(encoding)
    if encoding == report.baseline or difference is None:
        outcome = "" if encoding == report.baseline else "not compared"
        return {"difference": None, "low": None, "high": None, "p": None, "outcome": outcome}
    low, high = difference.interval
    outcome = "undecided" if difference.p >= level else "keeps more" if difference.value > 0 else "keeps less"
    return {"difference": difference.value, "low": low, "high": high, "p": difference.p, "outcome": outcome}


def _shown(found: dict[str, Any], baseline: str) -> Row:
    ends = None if found["low"] is None else (found["low"], found["high"])
    return {
        f"Difference from {baseline}": number(found["difference"], _DIGITS, sign="+"),
        "Interval": interval(ends, _DIGITS),
        "p": p_values(found["p"]),
        "Verdict": text(found["outcome"]),
    }
