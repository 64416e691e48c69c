"""Which orderings of published tables ours confirm.

A paper that prints 27.68 for one system and 27.48 for another says, of one run each, that the first is better. Here
each such pair of a column is looked up in our scores: by the sign of our difference, and by a paired t-test over our
seeds, with Holm's correction over the pairs of the column. What is published names the pairs and takes part in no test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import pandas as pd

from wordorder.config.models import Report
from wordorder.config.published_scores import PublishedColumn, PublishedScores, Shown
from wordorder.evaluation.over_seeds import correct, paired_t_test
from wordorder.evaluation.published import NOT_RUN, OurScores
from wordorder.evaluation.results import groups
from wordorder.evaluation.scores import LOWER_IS_BETTER
from wordorder.evaluation.tables import Table

CONFIRMED, CONTRADICTED, NOT_TOLD, UNTESTED = "confirmed", "contradicted", "not told apart", "untested"


def orderings_frame(
    scores: pd.DataFrame, tables: Sequence[tuple[Shown, PublishedScores]], *, alpha: float
) -> pd.DataFrame:
    """A row for each pair of systems whose printed scores differ.

    paper, table, column; better and worse (as the paper orders them) and the encodings of ours; dataset, test, metric;
    published_gap and gap (better minus worse; ours is the mean over the n seeds that both finished), p_holm, verdict:
    "confirmed" and "contradicted" are significant at ``alpha``, "untested" has fewer than two seeds or no spread.
    """
    rows = []
    for shown, table in tables:
        ours = OurScores(scores, shown)
        for index, column in enumerate(table.columns):
            found = list(_pairs(table, index, column, ours))
            correct([test for _, test in found if test is not None])
            rows += [
                {"paper": table.paper, "table": table.table, "column": column.column, **row}
                | _verdict(test, column.metric, alpha)
                for row, test in found
            ]
    return pd.DataFrame(rows)


def _pairs(
    table: PublishedScores, index: int, column: PublishedColumn, ours: OurScores
) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """The pairs of a column with their tests; None where one of the two was not run."""
    lower_is_better = column.metric in LOWER_IS_BETTER
    printed = [(row, score) for row in table.rows if (score := row.scores[index]) is not None]
    for pair in combinations(printed, 2):
        (worse, low), (better, high) = sorted(pair, key=lambda each: each[1], reverse=lower_is_better)
        if low == high:
            continue
        of_better, of_worse = (ours.of(column, row.encoding, row.size) for row in (better, worse))
        seeds = [seed for seed in of_better if seed in of_worse]
        test = paired_t_test([of_better[seed] for seed in seeds], [of_worse[seed] for seed in seeds]) if seeds else None
        dataset, test_set, _ = ours.place(column, better.size)
        row = {"better": better.row, "worse": worse.row}
        row |= {"better_encoding": better.encoding, "worse_encoding": worse.encoding}
        row |= {"dataset": dataset, "test": test_set, "metric": column.metric}
        yield row | {"published_gap": high - low, "n": len(seeds)}, test


def _verdict(test: dict[str, Any] | None, metric: str, alpha: float) -> dict[str, Any]:
    """gap, p_holm, same_order (of the means), verdict"""
    if test is None:
        return {"gap": None, "p_holm": None, "same_order": None, "verdict": NOT_RUN}
    gap, p = test["mean_difference"], test["p_holm"]
    same = (gap < 0) == (metric in LOWER_IS_BETTER) and gap != 0
    found = {"gap": gap, "p_holm": p, "same_order": same}
    if p is None or p >= alpha:
        return found | {"verdict": UNTESTED if p is None else NOT_TOLD}
    return found | {"verdict": CONFIRMED if same else CONTRADICTED}


def orderings_table(scores: pd.DataFrame, tables: Sequence[tuple[Shown, PublishedScores]], report: Report) -> Table:
    """A block for each published table, a row for each of its columns and what of ours stands beside it."""
    data = orderings_frame(scores, tables, alpha=report.alpha)
    blocks = []
    for (paper, table), group in groups(data, ["paper", "table"]) if len(data) else ():
        shown = [
            {"Column": column, "Ours": f"{dataset}, {test}"} | _counts(pairs)
            for (column, dataset, test), pairs in groups(group, ["column", "dataset", "test"])
        ]
        blocks.append((f"{paper}, {table}: the order of its systems, and that of ours.", pd.DataFrame(shown)))
    notes = [
        "Pairs: those of one column whose printed scores differ. Same order: the means of ours differ in the same "
        "direction, which half of the pairs would do by chance alone. Confirmed, contradicted: they do so, or do the "
        "opposite, by a paired t-test over our seeds with Holm's correction over the column, at "
        f"{100 * report.alpha:g} %. A paper's own scores are of one run each and take part in no test.",
    ]
    return Table("orderings", data, blocks, notes)


def _counts(pairs: pd.DataFrame) -> dict[str, str]:
    run = pairs[pairs["verdict"] != NOT_RUN]
    verdicts = pairs["verdict"].value_counts()
    named = {
        verdict: [f"{row.better} > {row.worse}" for row in pairs.itertuples() if row.verdict == verdict]
        for verdict in (CONFIRMED, CONTRADICTED)
    }
    return {
        "Pairs": str(len(pairs)),
        "Same order": f"{int(run['same_order'].sum())} of {len(run)} run",
        "Confirmed": "; ".join(named[CONFIRMED]) or "none",
        "Contradicted": "; ".join(named[CONTRADICTED]) or "none",
        "Not told apart": str(verdicts.get(NOT_TOLD, 0)),
        "Untested": str(verdicts.get(UNTESTED, 0)),
    }
