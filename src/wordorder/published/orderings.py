"""Compare the order of systems in published tables with the order of our scores.

A paper that prints 27.68 for one system and 27.48 for another states, from one run each, that the first is better. The
order of a column, and of a whole table, is tested by permuting our systems. Single pairs are tested over our seeds by
Tukey's test of the systems of the column, at a level corrected for the number of columns of the table. As in the other
tests of a study, the residual variance is that of all its systems. Published numbers only determine the claimed order;
no test uses them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, groupby
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from wordorder.comparison.levels import NOT_EXACT, level_of
from wordorder.config.models import Report
from wordorder.config.published_scores import PublishedColumn, PublishedInStudy, PublishedScoresRow
from wordorder.metrics.base import metric
from wordorder.published.scores import OurScores
from wordorder.published.statuses import Status
from wordorder.results.frames import groups
from wordorder.statistics.all_pairs import Pairs, all_pairs
from wordorder.statistics.blocked import block, score_floor
from wordorder.statistics.orderings import Order, PairOutcome, order_outcomes, pair_outcome, permutation_test
from wordorder.statistics.resampling import Array
from wordorder.tables.table import Block, Row, Table, format_p, number, text

_PAIR_STATUSES = {
    PairOutcome.CONFIRMED: Status.CONFIRMED,
    PairOutcome.CONTRADICTED: Status.CONTRADICTED,
    PairOutcome.NOT_TOLD_APART: Status.NOT_TOLD_APART,
}


Place = tuple[str, str, str, str]
"""A dataset, a size, a test set and a metric."""
DOUBT = "the seeds vary suspiciously little"


@dataclass(frozen=True)
class Column:
    """A column of scores in a published table, with our scores.

    Attributes:
        shown: The published table and the selection that the study shows.
        index: The index of the column.
        scores: Our scores, from :func:`wordorder.published.quantities.load_printed`.
        level: The significance level of the table.
        doubtful: The families (dataset, size, test, metric) in which the seeds vary suspiciously little.
        margins: The equivalence margins of families.
    """

    shown: PublishedInStudy
    index: int
    scores: pd.DataFrame
    level: float
    doubtful: Collection[Place] = ()
    margins: Mapping[Place, float] = field(default_factory=dict)

    @property
    def column(self) -> PublishedColumn:
        """The published column."""
        return self.shown.printed.columns[self.index]

    @property
    def lower_is_better(self) -> bool:
        """Whether lower scores are better."""
        return metric(self.column.metric).lower_is_better

    @cached_property
    def ours(self) -> OurScores:
        """Our scores for the table."""
        return OurScores(self.scores, self.shown.shown)

    @cached_property
    def printed(self) -> list[tuple[PublishedScoresRow, float]]:
        """The rows with a number in the column; if it contains only differences, the baseline counts as 0."""
        return self.shown.printed.in_order(self.index)

    @cached_property
    def own(self) -> dict[str, dict[int, float]]:
        """Our scores by row and seed; none of a system with a diverged training."""
        return {row.row: self.ours.tested(self.column, row.encoding, row.size) for row, _ in self.printed}

    @cached_property
    def run(self) -> list[str]:
        """The rows for which we have scores."""
        return [row.row for row, _ in self.printed if self.own[row.row]]

    @cached_property
    def pairs(self) -> Pairs:
        """Tukey's test of our systems, with the residual variance of all systems of the study."""
        diverged = {row.row for row, _ in self.printed if self._lack(row) is Status.DIVERGED}
        known = {name: of for name, of in self.own.items() if of and name not in diverged}
        others = self.ours.others(self.column, [(row.encoding, row.size) for row, _ in self.printed])
        model = block(known | others, diverged=diverged, floor=self._floor)
        return all_pairs(model, alpha=self.level, among={*known, *diverged})

    @property
    def _floor(self) -> float:
        """The largest score of models that have learned nothing, as papers print it."""
        chosen, (dataset, test, size) = metric(self.column.metric), self.ours.place(self.column, self._size)
        margin = self.margins.get((dataset, size, test, chosen.name))
        scaled = None if margin is None else margin * chosen.published_scale
        return score_floor(scaled, lower_is_better=chosen.lower_is_better)

    @property
    def _size(self) -> str:
        return self.shown.printed.base.size

    @cached_property
    def means(self) -> dict[str, float]:
        """Our mean of each row: over the seeds of Tukey's test if it uses the row, otherwise over all of its seeds."""
        return {name: float(np.mean(list(self._used(name).values()))) for name in self.run}

    def _used(self, name: str) -> dict[int, float]:
        """Return our scores of a row by seed that Tukey's test uses; all of them if it does not use the row."""
        model, own = self.pairs.model, self.own[name]
        return {seed: own[seed] for seed in model.seeds} if name in model.systems and model.seeds else own

    def _lack(self, row: PublishedScoresRow) -> Status | None:
        return self.ours.lack(self.column, row.encoding, row.size) if not self.own[row.row] else None

    @property
    def other_languages(self) -> str:
        """Our languages and the paper's, if they differ, such as "ja-en instead of en-de"; otherwise empty."""
        known = self.shown.languages
        ours, theirs = (known.get(name) for name in (self.place[0], self.column.dataset))
        return f"{ours} instead of {theirs}" if ours and theirs and ours != theirs else ""

    @property
    def place(self) -> tuple[str, str]:
        """Our dataset and test set."""
        return self.ours.place(self.column, self._size)[:2]

    def values(self, names: Sequence[str]) -> tuple[Array, Array]:
        """Return published numbers and our means.

        Args:
            names: The names of k rows.

        Returns:
            The published numbers, (k,), and our :attr:`means`, (k,); NaN for missing numbers.
        """
        printed = {row.row: value for row, value in self.printed}
        return (
            np.array([printed.get(name, np.nan) for name in names]),
            np.array([self.means.get(name, np.nan) for name in names]),
        )

    @cached_property
    def order(self) -> Order | None:
        """The test of the order; None for fewer than two systems."""
        return permutation_test(*self.values(self.run)) if len(self.run) > 1 else None

    def ordered(self) -> Iterator[tuple[PublishedScoresRow, PublishedScoresRow, float]]:
        """Yield (better, worse, difference) for each pair of different published scores."""
        for pair in combinations(self.printed, 2):
            (worse, low), (better, high) = sorted(pair, key=lambda each: each[1], reverse=self.lower_is_better)
            if low != high:
                yield better, worse, high - low

    def found(self, better: PublishedScoresRow, worse: PublishedScoresRow, columns: int) -> dict[str, Any]:
        """Compare a pair in our scores.

        Args:
            better: The row with the better published score.
            worse: The other row.
            columns: The number of tested columns, by which the level is corrected.

        Returns:
            The keys gap (our difference of means), n (seeds), p, same_order and verdict.
        """
        lack = self._lack(better) or self._lack(worse)
        if lack is not None:
            return {"gap": None, "n": 0, "p": None, "same_order": None, "verdict": lack.label}
        gap = self.means[better.row] - self.means[worse.row]
        same = gap < 0 if self.lower_is_better else gap > 0
        differences = self.pairs.differences
        difference = differences.get((better.row, worse.row)) or differences.get((worse.row, better.row))
        status = Status.UNTESTED
        if difference is not None:
            status = _PAIR_STATUSES[pair_outcome(difference.p, same_order=same, columns=columns, alpha=self.level)]
        remarks = [self.other_languages] if self.other_languages and difference else []
        dataset, test = self.place
        places = {(dataset, self.ours.place(self.column, row.size)[2], test) for row in (better, worse)}
        if status in (Status.CONFIRMED, Status.CONTRADICTED) and any(
            (*place, self.column.metric) in self.doubtful for place in places
        ):
            remarks.append(DOUBT)
        verdict = status.label + (f" ({'; '.join(remarks)})" if remarks else "")
        p = difference and difference.p
        n = min(len(self._used(row.row)) for row in (better, worse))
        return {"gap": gap, "n": n, "p": p, "same_order": same, "verdict": verdict}


@dataclass(frozen=True)
class PublishedOrder:
    """A published table with the columns of scores for which the study has scores.

    Attributes:
        paper: The paper.
        table: The table.
        columns: The columns of scores, once for each dataset and test set of ours.
        alpha: The significance level of the table.
    """

    paper: str
    table: str
    columns: list[Column]
    alpha: float

    @property
    def tested(self) -> list[Column]:
        """The columns in which we ran at least two systems; they share the level."""
        return [column for column in self.columns if column.order is not None]

    @cached_property
    def outcomes(self) -> dict[int, tuple[Order, str]]:
        """The order test of each tested column with its outcome, by the ``id`` of the column."""
        orders = [column.order for column in self.tested if column.order is not None]
        found = order_outcomes(orders, alpha=self.alpha) if orders else []
        return {id(c): (order, str(own)) for c, order, own in zip(self.tested, orders, found, strict=True)}

    @cached_property
    def whole(self) -> tuple[Order, str] | None:
        """The order test of the whole table, with one permutation for all columns; None for fewer than two columns."""
        if len(self.tested) < 2:
            return None
        names = list(dict.fromkeys(name for column in self.tested for name in column.run))
        signed = [
            [-each if column.lower_is_better else each for each in column.values(names)] for column in self.tested
        ]
        published, ours = (np.stack(side) for side in zip(*signed, strict=True))
        order = permutation_test(published, ours)
        return order, str(order_outcomes([order], alpha=self.alpha)[0])

    @property
    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each pair of systems with different printed scores in each column.

        The keys paper, table, column, better and worse name the pair, as the paper orders it; others name our
        encodings, sizes, dataset, test and metric. other_languages is set if our languages differ from the paper's.
        published_gap and gap are the differences better minus worse; ours is that of means over the n seeds that all
        tested systems share. p, same_order, verdict and level belong to the pair, and the keys that start with "order"
        to the test of the column's order. The verdicts "confirmed" and "contradicted" are significant at ``level``.
        "untested" pairs have too few seeds or no variance. Other verdicts ("not run", "diverged", "not scored") say why
        a score is missing.
        """
        count = max(1, len(self.tested))
        for column in self.columns:
            for better, worse, published_gap in column.ordered():
                dataset, test = column.place
                sizes = [column.ours.place(column.column, row.size)[2] for row in (better, worse)]
                order, outcome = self.outcomes.get(id(column), (None, None))
                yield (
                    {"paper": self.paper, "table": self.table, "column": column.column.column}
                    | {"better": better.row, "worse": worse.row}
                    | {"better_encoding": better.encoding, "worse_encoding": worse.encoding}
                    | {"better_size": sizes[0], "worse_size": sizes[1], "dataset": dataset, "test": test}
                    | {"other_languages": column.other_languages, "metric": column.column.metric}
                    | {"published_gap": published_gap, **column.found(better, worse, count)}
                    | {"level": self.alpha / count, "order": outcome, "order_p": order and order.p_same}
                    | {"order_p_reversed": order and order.p_reversed}
                )


def published_orders(
    scores: pd.DataFrame,
    shown: Sequence[PublishedInStudy],
    *,
    alpha: float,
    doubtful: Collection[Place] = (),
    margins: Mapping[Place, float] = MappingProxyType({}),
) -> list[PublishedOrder]:
    """Return the published tables with their columns of scores and our scores.

    Args:
        scores: Our scores, from :func:`wordorder.published.quantities.load_printed`.
        shown: The published tables that the study shows.
        alpha: The significance level of each table.
        doubtful: The families in which the seeds vary suspiciously little.
        margins: From :func:`.results.frames.margins_of`.
    """
    found = []
    ordered = sorted(shown, key=lambda each: (each.printed.paper, each.printed.table))
    names = list(dict.fromkeys((each.printed.paper, each.printed.table) for each in shown))
    tables = {name: list(own) for name, own in groupby(ordered, key=lambda e: (e.printed.paper, e.printed.table))}
    for paper, table in names:
        columns = [
            Column(each, index, scores, alpha, doubtful, margins)
            for each in tables[paper, table]
            for index, column in enumerate(each.printed.columns)
            if column.is_score
        ]
        found.append(PublishedOrder(paper, table, columns, alpha))
    return found


def orderings_table(
    scores: pd.DataFrame,
    shown: Sequence[PublishedInStudy],
    report: Report,
    doubtful: Collection[Place] = (),
    margins: Mapping[Place, float] = MappingProxyType({}),
    *,
    exact: bool = True,
) -> Table:
    """Build the table of orderings, with a block per published table and a row per column.

    Args:
        scores: Our scores, from :func:`wordorder.published.quantities.load_printed`.
        shown: The published tables that the study shows.
        report: The reported part of the study's configuration.
        doubtful: The families (dataset, size, test, metric) in which the seeds vary suspiciously little.
        margins: From :func:`.results.frames.margins_of`.
        exact: Whether the levels of the study's comparisons are exact.
    """
    level = level_of(report.alpha, report.seeds, report.looks)
    orders = published_orders(scores, shown, alpha=level.level, doubtful=doubtful, margins=margins)
    pairs = [row for order in orders for row in order.rows]
    # Keep the heading even without pairs, so that readers find the columns.
    data = pd.DataFrame(pairs) if pairs else pd.DataFrame(columns=_COLUMNS)
    blocks = []
    for order in orders:
        own = pd.DataFrame(order.rows)
        if own.empty:
            continue
        rows: list[Row] = [
            {"Column": text(column), "Ours": text(", ".join([dataset, test, *_sizes(pairs)]))} | _counts(pairs)
            for (column, dataset, test), pairs in groups(own, ["column", "dataset", "test"])
        ]
        if order.whole is not None:
            whole, outcome = order.whole
            rows.append({"Column": text("all"), "Order": text(_order(outcome, whole.p_same, whole.p_reversed))})
        title = f"{order.paper}, {order.table}: the order of its systems, and that of ours."
        blocks.append(Block(title, rows))
    return Table("orderings", data, blocks, [*_NOTES, *([] if level.exact and exact else [NOT_EXACT])])


_COLUMNS = [
    *("paper", "table", "column", "better", "worse", "better_encoding", "worse_encoding", "better_size", "worse_size"),
    *("dataset", "test", "other_languages", "metric", "published_gap", "gap", "n", "p", "same_order", "verdict"),
    *("level", "order", "order_p", "order_p_reversed"),
]

_NOTES = (
    "Pairs: those of one column whose printed scores differ. Same order: the means of ours differ in the same "
    "direction; half of the pairs would do so by chance. Pairs are not independent: their share proves nothing.",
    "Order: permutation test of all systems of the column, one-sided, the outcome corrected by Holm's method over the "
    "columns of the table, p that of the column alone; 'all' permutes the systems of all columns together. 'Too few "
    "systems': no order of so few is unlikely enough.",
    "Confirmed, contradicted: pairs that our seeds order as printed, or the other way, by Tukey's test of the systems "
    "of the column, at a level divided by the number of columns, with both differences (printed, ours). All systems of "
    "the study estimate the residual spread over the seeds, as they do for its verdicts. Both words apply to other "
    "seeds on the same sentences; the table of significance says what holds for other sentences. If m pairs are "
    "confirmed, at least these m orders hold for other seeds, with a confidence of 95 %. 'Not told apart' does not "
    "contradict a paper, whose own scores are most often of one run each.",
    "Where ours are of other languages than the paper's, each line says so: such a pair says nothing about the printed "
    "languages.",
)


def _sizes(pairs: pd.DataFrame) -> list[str]:
    """Return the model sizes of the pairs that were run; of all pairs if none was."""
    run = pairs[pairs["n"] > 0]
    named = pairs if run.empty else run
    return list(dict.fromkeys([*named["better_size"], *named["worse_size"]]))


def _order(outcome: str, p_same: float, p_reversed: float) -> str:
    p = p_reversed if outcome == "reversed" else p_same
    return f"{outcome} (p {'' if p < 0.001 else '= '}{format_p(p)})"


def _counts(pairs: pd.DataFrame) -> Row:
    run = pairs[pairs["n"] > 0]
    statuses = pairs["verdict"].map(_status)
    first = pairs.iloc[0]
    same = int(run["same_order"].sum())
    how = text(f"{same} of {len(run)} run", key=same) if len(run) else text(", ".join(dict.fromkeys(statuses)))
    tested = first["order"] is not None and not pd.isna(first["order_p"])
    named = {status: _named(pairs, status) for status in (Status.CONFIRMED, Status.CONTRADICTED)}
    return {
        "Languages": text(first["other_languages"] or "as printed"),
        "Pairs": number(len(pairs)),
        "Same order": how,
        "Order": text(_order(first["order"], first["order_p"], first["order_p_reversed"]) if tested else ""),
        "Confirmed on this test set": text(named[Status.CONFIRMED]),
        "Contradicted on this test set": text(named[Status.CONTRADICTED]),
        "Not told apart": number(int((statuses == Status.NOT_TOLD_APART.label).sum())),
        "Untested": number(int((statuses == Status.UNTESTED.label).sum())),
    }


def _named(pairs: pd.DataFrame, status: Status) -> str:
    """List the pairs with a verdict, each with the published difference and ours, and the languages if they differ."""
    chosen = [row for row in pairs.to_dict("records") if _status(row["verdict"]) == status.label]
    if not chosen:
        return "none"
    languages = chosen[0]["other_languages"]
    named = [
        f"{row['better']} > {row['worse']} ({row['published_gap']:+.2f}, {row['gap']:+.2f}"
        f"{f'; {DOUBT}' if DOUBT in row['verdict'] else ''})"
        for row in chosen
    ]
    return f"{f'{languages}: ' if languages else ''}{'; '.join(named)}"


def _status(verdict: str) -> str:
    """Remove the remarks in parentheses from a verdict."""
    return verdict.partition(" (")[0]
