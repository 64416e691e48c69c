"""Which orderings of published tables ours confirm.

A paper that prints 27.68 for one system and 27.48 for another says, of one run each, that the first is better. Here
each such pair of a column of scores is looked up in ours: by the sign of our difference, and by Tukey's test over our
seeds (:mod:`wordorder.statistics.all_pairs`) of the systems of the column. What is published names the pairs and takes
no part in the test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from wordorder.config.models import Report
from wordorder.config.published_scores import PublishedScores, PublishedScoresRow, Shown
from wordorder.metrics.base import metric
from wordorder.published.scores import OurScores
from wordorder.published.statuses import Status
from wordorder.results.frames import groups
from wordorder.statistics.all_pairs import tukey_test
from wordorder.tables.table import Block, Row, Table, number, text


def orderings_frame(
    scores: pd.DataFrame, tables: Sequence[tuple[Shown, PublishedScores]], *, alpha: float
) -> pd.DataFrame:
    """A row for each pair of systems whose printed scores differ.

    paper, table, column; better and worse, as the paper orders them, and the encodings of ours; dataset, test, metric;
    published_gap and gap (better minus worse, ours of the means), n (seeds of the one with fewer), p, same_order and
    verdict: "confirmed" and "contradicted" are significant at ``alpha``; "untested" has too few seeds, or no spread; of
    what has no score it says why ("not run", "diverged", "not scored").
    """
    rows = []
    for shown, table in tables:
        ours = OurScores(scores, shown)
        for index, column in enumerate(table.columns):
            if not column.is_score:
                continue
            printed, lower_is_better = table.in_order(index), metric(column.metric).lower_is_better
            own = {row.row: ours.of(column, row.encoding, row.size) for row, _ in printed}
            p_values = tukey_test(own)
            for better, worse, published_gap in _ordered(printed, lower_is_better=lower_is_better):
                p = p_values.get((better.row, worse.row), p_values.get((worse.row, better.row)))
                dataset, test, size = ours.place(column, better.size)
                lacks = (ours.lack(column, row.encoding, row.size) for row in (better, worse) if not own[row.row])
                rows.append(
                    {"paper": table.paper, "table": table.table, "column": column.column}
                    | {"better": better.row, "worse": worse.row}
                    | {"better_encoding": better.encoding, "worse_encoding": worse.encoding}
                    | {"better_size": size, "worse_size": ours.place(column, worse.size)[2]}
                    | {"dataset": dataset, "test": test, "metric": column.metric, "published_gap": published_gap}
                    | _found(own[better.row], own[worse.row], lower_is_better, p, alpha=alpha, lack=next(lacks, None))
                )
    return pd.DataFrame(rows)


def _ordered(
    printed: Sequence[tuple[PublishedScoresRow, float]], *, lower_is_better: bool
) -> Iterator[tuple[PublishedScoresRow, PublishedScoresRow, float]]:
    """(better, worse, difference) for each pair of different scores."""
    for pair in combinations(printed, 2):
        (worse, low), (better, high) = sorted(pair, key=lambda each: each[1], reverse=lower_is_better)
        if low != high:
            yield better, worse, high - low


def _found(
    better: dict[int, float],
    worse: dict[int, float],
    lower_is_better: bool,
    p: float | None,
    *,
    alpha: float,
    lack: Status | None,
) -> dict[str, Any]:
    """Return gap, n, p, same_order and verdict, of scores by seed, or of their ``lack``."""
    if lack is not None:
        return {"gap": None, "n": 0, "p": None, "same_order": None, "verdict": lack.label}
    n = min(len(better), len(worse))
    gap = float(np.mean(list(better.values())) - np.mean(list(worse.values())))
    same = gap < 0 if lower_is_better else gap > 0
    if p is None:
        verdict = Status.UNTESTED
    elif p >= alpha:
        verdict = Status.NOT_TOLD_APART
    else:
        verdict = Status.CONFIRMED if same else Status.CONTRADICTED
    return {"gap": gap, "n": n, "p": p, "same_order": same, "verdict": verdict.label}


def orderings_table(scores: pd.DataFrame, tables: Sequence[tuple[Shown, PublishedScores]], report: Report) -> Table:
    """A block for each published table, a row for each of its columns and what of ours stands beside it."""
    data = orderings_frame(scores, tables, alpha=report.alpha)
    blocks = []
    for (paper, table), group in groups(data, ["paper", "table"]) if len(data) else ():
        shown = [
            {"Column": text(column), "Ours": text(", ".join([dataset, test, *_sizes(pairs)]))} | _counts(pairs)
            for (column, dataset, test), pairs in groups(group, ["column", "dataset", "test"])
        ]
        blocks.append(Block(f"{paper}, {table}: the order of its systems, and that of ours.", shown))
    notes = [
        "Pairs: those of one column whose printed scores differ. Same order: the means of ours differ in the same "
        "direction, which half of the pairs would do by chance alone. Confirmed, contradicted: they do so, or do the "
        "opposite, by Tukey's test over our seeds of the systems of the column, at "
        f"{100 * report.alpha:g} %. A paper's own scores are most often of one run each and take part in no test.",
    ]
    return Table("orderings", data, blocks, notes)


def _sizes(pairs: pd.DataFrame) -> list[str]:
    """Those of the models that were run, if any were."""
    run = pairs[pairs["n"] > 0]
    named = pairs if run.empty else run
    return list(dict.fromkeys([*named["better_size"], *named["worse_size"]]))


def _counts(pairs: pd.DataFrame) -> Row:
    run = pairs[pairs["n"] > 0]
    verdicts = pairs["verdict"].value_counts()
    same = int(run["same_order"].sum())
    order = text(f"{same} of {len(run)} run", key=same) if len(run) else text(", ".join(verdicts.index))
    return {
        "Pairs": number(len(pairs)),
        "Same order": order,
        "Confirmed": text(_named(pairs, Status.CONFIRMED) or "none"),
        "Contradicted": text(_named(pairs, Status.CONTRADICTED) or "none"),
        "Not told apart": number(verdicts.get(Status.NOT_TOLD_APART.label, 0)),
        "Untested": number(verdicts.get(Status.UNTESTED.label, 0)),
    }


def _named(pairs: pd.DataFrame, verdict: Status) -> str:
    return "; ".join(f"{row.better} > {row.worse}" for row in pairs.itertuples() if row.verdict == verdict.label)
