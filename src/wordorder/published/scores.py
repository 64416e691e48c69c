"""Compare published numbers with ours. No significance test uses published numbers.

A published score comes from one run of other people's code, or is the mean of r runs. It is compared with the
prediction interval of our scores: the interval that contains the mean of r further runs of ours with a probability of
95 %, if the scores of our n seeds are normally distributed with mean m and standard deviation s (Hahn & Meeker 1991,
section 4.7):

    m ± t(0.975, n - 1) · s · √(1/r + 1/n)

If other data, another test set or another model size replaces the paper's, scores are not comparable. Then, and where a
paper prints only a difference, the differences from the baseline of the table are compared. Their interval is that of
our differences seed by seed.

Parameter counts have no variance: a count either equals the printed one, to the last digit, or differs. Parameter
counts and memory are not comparable between model sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from wordorder.config.models import Report
from wordorder.config.published_scores import ALIGNMENT, MEMORY, PARAMETERS, PublishedColumn, PublishedScores, Shown
from wordorder.metrics.base import REGISTRY, metric
from wordorder.published.marks import TEST, OurMarks
from wordorder.published.statuses import Judgement, Status
from wordorder.results.frames import groups
from wordorder.tables.table import MISSING, Block, Cell, Row, Table, number, text


def prediction_interval(values: Sequence[float], runs: int = 1) -> tuple[float, float] | None:
    """Compute the 95 % prediction interval of the mean of further runs.

    Args:
        values: The numbers of our n runs.
        runs: The number of further runs.

    Returns:
        Both ends of the interval; None for fewer than two values.
    """
    if len(values) < 2:
        return None
    middle, spread = float(np.mean(values)), float(np.std(values, ddof=1))
    half = prediction_reach(len(values), runs) * spread
    return middle - half, middle + half


def prediction_reach(n: int, runs: int = 1) -> float:
    """Return the half width of the 95 % prediction interval of n ≥ 2 values, in standard deviations.

    Args:
        n: The number of values.
        runs: The number of further runs.
    """
    return float(stats.t.ppf(0.975, n - 1)) * math.sqrt(1 / runs + 1 / n)


@dataclass(frozen=True)
class OurScores:
    """Looks up our scores for published numbers.

    Attributes:
        scores: Our scores, from :func:`wordorder.published.quantities.load_printed`.
        shown: The replacements of datasets, test sets and sizes that the study declares.
    """

    scores: pd.DataFrame
    shown: Shown

    def place(self, column: PublishedColumn, size: str) -> tuple[str, str, str]:
        """Return our dataset, test set and model size for a published number.

        Args:
            column: The published column.
            size: The model size of the published row.

        Returns:
            The dataset, the test set (empty for columns without one) and the size. They are those of the paper if the
            study does not have the dataset.
        """
        dataset, test = self.shown.place(column)
        if dataset not in set(self.scores["dataset"]):
            return column.dataset, column.test or "", size
        return dataset, test, self.shown.sizes.get(size, size)

    def stands_in(self, column: PublishedColumn, size: str) -> bool:
        """Return whether another dataset, test set or model size of ours replaces that of a published number."""
        return self.place(column, size) != (column.dataset, column.test or "", size)

    def of(self, column: PublishedColumn, encoding: str, size: str) -> dict[int, float]:
        """Return our numbers for a published one, by seed."""
        cells = self._cells(column, encoding, size)
        kept = cells[cells["metric"] == column.metric].dropna(subset="score")
        return dict(zip(kept["seed"].tolist(), kept["score"].tolist(), strict=True))

    def tested(self, column: PublishedColumn, encoding: str, size: str) -> dict[int, float]:
        """Return :meth:`of` for a test: none if a training diverged, because its system gets no verdict."""
        cells = self._cells(column, encoding, size)
        return {} if _diverged(cells[cells["metric"] == column.metric]) else self.of(column, encoding, size)

    def others(self, column: PublishedColumn, rows: Sequence[tuple[str, str]]) -> dict[str, dict[int, float]]:
        """Return the scores of our other systems, on the same test set and at the same sizes, if no training diverged.

        Args:
            column: The published column.
            rows: The encodings and sizes of the published rows.

        Returns:
            The scores of each system by seed, under a name that is not that of a published row.
        """
        own = {(encoding, self.place(column, size)[2]) for encoding, size in rows}
        dataset, test, _ = self.place(column, "")
        keys = {"dataset": dataset, "test": test, "metric": column.metric}
        cells = self.scores[(self.scores[list(keys)] == list(keys.values())).all(axis=1)]
        sizes = {own_size for _, own_size in own}
        found = {
            f"{encoding}, {size}, not in the table": of.dropna(subset="score")
            for (encoding, size), of in groups(cells, ["encoding", "size"])
            if size in sizes and (encoding, size) not in own and not _diverged(of)
        }
        return {
            name: dict(zip(of["seed"].tolist(), of["score"].tolist(), strict=True))
            for name, of in found.items()
            if not of.empty
        }

    def lack(self, column: PublishedColumn, encoding: str, size: str) -> Status:
        """Return why we have no number: no run was started, or one diverged, or none was measured or scored."""
        cells = self._cells(column, encoding, size)
        own = cells[cells["metric"] == column.metric]
        statuses = set(own["status"])
        if _diverged(own):
            return Status.DIVERGED
        if not statuses and cells["score"].notna().any():
            return Status.NOT_SCORED
        known = (Status.NOT_MEASURED, Status.NOT_SCORED)
        return next((status for status in known if status.label in statuses), Status.NOT_RUN)

    def _cells(self, column: PublishedColumn, encoding: str, size: str) -> pd.DataFrame:
        """Select our rows, of all metrics, for a published number."""
        dataset, test, own_size = self.place(column, size)
        keys = {"dataset": dataset, "test": test, "size": own_size, "encoding": encoding}
        chosen = self.scores
        for key, value in keys.items():
            chosen = chosen[chosen[key] == value]
        return chosen


def _diverged(cells: pd.DataFrame) -> bool:
    """Return whether a training diverged, or its model translates nothing, whether or not the training noticed."""
    return bool(cells["status"].isin([Status.DIVERGED.label, "no hypotheses"]).any())


def published_frame(
    scores: pd.DataFrame, tables: Sequence[tuple[Shown, PublishedScores]], our_marks: OurMarks | None = None
) -> pd.DataFrame:
    """Return a row for each published number and each baseline.

    Args:
        scores: Our scores, from :func:`wordorder.published.quantities.load_printed`.
        tables: The published tables with the selections that the study shows.
        our_marks: Our significance marks; none if omitted.

    Returns:
        The columns of the published number are paper, table, row, column, computed, published, decimals (as printed)
        and published_mark. Ours are encoding, size, dataset, test, metric, mean, sd, n and mark. The comparison has
        difference, published_gap and gap (from the baseline of the table), low and high (the interval), and status.
    """
    our_marks = our_marks or OurMarks([])
    rows = []
    for shown, table in tables:
        ours, base = OurScores(scores, shown), table.base
        for row in table.rows:
            for index, column in enumerate(table.columns):
                printed, published_gap = row.score(index), table.printed_gap(row, index)
                if printed is None and published_gap is None and row is not base:
                    continue
                place = dataset, test, size = ours.place(column, row.size)
                own, lack = ours.of(column, row.encoding, row.size), ours.lack(column, row.encoding, row.size)
                own_base = (ours.tested if column.is_score else ours.of)(column, base.encoding, base.size)
                compared = _Compared(
                    values=list(own.values()),
                    gaps=[own[seed] - own_base[seed] for seed in own if seed in own_base],
                    no_gaps=Judgement(Status.NO_COMMON_SEED)
                    if own_base
                    else Judgement(ours.lack(column, base.encoding, base.size), of_baseline=True),
                    printed=printed,
                    published_gap=published_gap,
                    stands_in=ours.stands_in(column, row.size),
                    half_digit=0.5 * 10**-column.decimals if column.metric == PARAMETERS else None,
                    runs=table.runs,
                )
                if not own or (column.is_score and lack is Status.DIVERGED):
                    judgement = Judgement(lack)
                elif column.test is None and size != row.size:
                    judgement = Judgement(Status.ANOTHER_SIZE)
                else:
                    judgement = compared.judgement
                mark = ""
                sound = own_base and lack is not Status.DIVERGED  # no training of both systems diverged
                if sound and ours.place(column, base.size) == place:
                    mark = our_marks.mark(place, column.metric, row.encoding, base.encoding, table.marks_mean)
                low, high = compared.interval or (None, None)
                rows.append(
                    {"paper": table.paper, "table": table.table, "row": row.row, "column": column.column}
                    | {"encoding": row.encoding, "size": size, "dataset": dataset, "test": test}
                    | {"metric": column.metric, "published": printed, "decimals": column.decimals}
                    | {"published_mark": row.mark(index) or "", "computed": table.computed}
                    | {"mean": _mean(compared.values), "sd": _sd(compared.values), "n": len(own), "mark": mark}
                    | {"difference": compared.difference, "published_gap": published_gap}
                    | {"gap": None if row is base else _mean(compared.gaps), "low": low, "high": high}
                    | {"status": judgement.label}
                )
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class _Compared:
    """A published number of one system with our numbers by seed.

    Attributes:
        values: Our numbers, one per seed.
        gaps: Our differences from the baseline, one per seed that both have.
        no_gaps: The judgement if there are no differences of ours.
        printed: The published number; None if only a difference is printed.
        published_gap: The published difference from the baseline.
        stands_in: Whether other data or another size of ours replaces the paper's.
        half_digit: Half a unit of the last printed digit; None except for parameter counts.
        runs: The number of runs whose mean the published number is.
    """

    values: list[float]
    gaps: list[float]
    no_gaps: Judgement
    printed: float | None
    published_gap: float | None
    stands_in: bool
    half_digit: float | None
    runs: int

    @property
    def difference(self) -> float | None:
        if self.stands_in or self.printed is None or not self.values:
            return None
        return float(np.mean(self.values)) - self.printed

    @property
    def interval(self) -> tuple[float, float] | None:
        """The prediction interval of our numbers or differences; None for counts and without a published number."""
        if self.half_digit is not None or self._wanted is None:
            return None
        return prediction_interval(self._judged, self.runs)

    @property
    def judgement(self) -> Judgement:
        if self._wanted is None:
            return Judgement(Status.NOT_JUDGED)  # the baseline, on other data or without a printed score
        if not self._judged:
            return self.no_gaps
        if self.half_digit is not None:
            met = abs(float(np.mean(self._judged)) - self._wanted) <= self.half_digit
            status = Status.AS_PRINTED if met else Status.NOT_AS_PRINTED
        elif self.interval is None:
            return Judgement(Status.NO_SPREAD)
        elif self.interval[0] <= self._wanted <= self.interval[1]:
            status = Status.WITHIN if self.stands_in else Status.REPRODUCED
        else:
            status = Status.OUTSIDE if self.stands_in else Status.NOT_REPRODUCED
        return Judgement(status, of_gap=self._of_gap, other_data=self.stands_in)

    @property
    def _of_gap(self) -> bool:
        return self.stands_in or self.printed is None

    @property
    def _judged(self) -> list[float]:
        return self.gaps if self._of_gap else self.values

    @property
    def _wanted(self) -> float | None:
        return self.published_gap if self._of_gap else self.printed


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _sd(values: list[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def published_table(
    scores: pd.DataFrame,
    tables: Sequence[tuple[Shown, PublishedScores]],
    report: Report,
    our_marks: OurMarks | None = None,
) -> Table:
    """Build the table of published numbers, with a block per published column and per dataset and test set of ours.

    Args:
        scores: Our scores, from :func:`wordorder.published.quantities.load_printed`.
        tables: The published tables with the selections that the study shows.
        report: The reported part of the study's configuration.
        our_marks: Our significance marks; none if omitted.
    """
    data = published_frame(scores, tables, our_marks)
    seeds = len(report.seeds)
    most = int(data["n"].max()) if len(data) else 0
    blocks = []
    for (paper, table, column, dataset, test), group in groups(data, ["paper", "table", "column", "dataset", "test"]):
        first = group.iloc[0]
        shown: list[Row] = [
            {
                "System": text(row["row"]),
                "Ours": text(row["encoding"]),
                "Published": number(row["published"], row["decimals"], group=False, mark=row["published_mark"]),
                "Ours, mean ± sd": _ours(row, seeds),
                "Difference": number(row["difference"], 2, sign="+", group=False),
                "Published gap": number(row["published_gap"], 2, sign="+", group=False),
                "Our gap": number(row["gap"], 2, sign="+", group=False),
                "95 % interval": _interval(row),
                "Status": text(row["status"]),
            }
            for row in group.to_dict("records")
        ]
        computed = "trainable parameters in millions" if first.metric == PARAMETERS else first.computed
        ours = ", ".join(filter(None, (dataset, test, *group["size"].unique(), first.metric)))
        blocks.append(Block(f"{paper}, {table}, {column} ({computed}); ours: {ours}.", shown))
    return Table("published", data, blocks, [*_notes([printed for _, printed in tables]), *_reach(most)])


def _notes(tables: Sequence[PublishedScores]) -> list[str]:
    """Return the notes that explain the numbers, for the kinds of columns that the tables have."""
    metrics = {column.metric for table in tables for column in table.columns}
    notes = [
        "Published scores are copied from the papers, take part in no test, and were computed as stated above each "
        "table.",
        "Gap: the difference from the row of the table that has none. 'Reproduced within the spread': the published "
        f"score is where one more run of ours would fall{_means(tables)} with a probability of 95 % (the interval). "
        "If ours use other data, another test set or another size, or if a paper prints only a difference, the gaps "
        "are compared, and the interval is that of our gap.",
    ]
    if levels := [_levels(table) for table in tables if table.marks_mean]:
        notes.append(
            f"Marks after published scores are the papers' ({'; '.join(dict.fromkeys(levels))}). The same mark after "
            f"ours says that it is better than the baseline of the table at that level, by {TEST}: these models, on "
            "other sentences. What other seeds would do is for the table of significance to say."
        )
    scored = (metric(name) for name in sorted(metrics.intersection(REGISTRY.names())))
    notes += [
        f"{each.label}: ours times {each.published_scale:g}, as papers print it."
        for each in scored
        if each.published_scale != 1
    ]
    if PARAMETERS in metrics:
        notes.append(
            "Parameters are 'as printed' to the last digit. Theirs may be those of another vocabulary than the paper "
            "names: 'wordorder params --published' counts at the one that its numbers imply."
        )
    if MEMORY in metrics:
        notes.append("Memory: in billions of bytes, of the GPU, as in the table of parameters.")
    if not metrics.isdisjoint(ALIGNMENT):
        notes.append("AER, precision and recall: in per cent, on these gold alignments, of the analysis 'alignment'.")
    return notes


def _means(tables: Sequence[PublishedScores]) -> str:
    found = dict.fromkeys(
        f"{table.paper}, {table.table}: the mean of {table.runs}" for table in tables if table.runs > 1
    )
    return f" ({'; '.join(found)})" if found else ""


def _levels(table: PublishedScores) -> str:
    levels = ", ".join(f"{mark} p < {p:.2f}" for mark, p in sorted(table.marks_mean.items(), key=lambda each: each[1]))
    return f"{table.paper}, {table.table}: {levels}"


def _reach(seeds: int) -> list[str]:
    if seeds < 2:
        return []
    return [
        f"Of {seeds} seeds the interval of one run reaches {prediction_reach(seeds):.1f} standard deviations to each "
        "side: 'within' means that the seeds do not contradict the published number, not that they reproduce it."
    ]


def _ours(row: dict[Any, Any], seeds: int) -> Cell:
    if not row["n"]:
        return MISSING
    sd = "" if pd.isna(row["sd"]) or row["metric"] == PARAMETERS else f"± {row['sd']:.2f} "
    of = f" of {seeds}" if row["n"] < seeds else ""
    return Cell(f"{row['mean']:.2f}", row["mean"], f"{sd}(n = {row['n']}{of})", row["mark"])


def _interval(row: dict[Any, Any]) -> Cell:
    return MISSING if pd.isna(row["low"]) else Cell(f"{row['low']:.2f} to {row['high']:.2f}", row["low"])
