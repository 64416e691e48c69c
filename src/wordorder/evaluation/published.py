"""Our scores beside published ones. Published scores are shown and never tested against.

A published score is one run of somebody else's. Whether ours agree with it is asked of the interval in which one more
run of ours would fall with a probability of 95 %, were the scores of our seeds normally distributed with mean m and
standard deviation s (the prediction interval, e.g. Hahn & Meeker 1991, section 4.7):

    m ± t(0.975, n - 1) · s · √(1 + 1/n)

Where other data, another test set or another size stands in for the paper's, scores cannot be compared, but
differences from the baseline of the table can be looked at; the interval is then that of our differences seed by seed.
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
from wordorder.config.published_scores import PublishedColumn, PublishedScores, Shown
from wordorder.evaluation.results import groups
from wordorder.evaluation.tables import NOTHING, Table

WITHIN, OUTSIDE, NO_SPREAD, NOT_RUN = (
    "reproduced within the spread",
    "not reproduced",
    "no spread to judge by",
    "not run",
)
GAP_WITHIN, GAP_OUTSIDE = "gap within the spread, other data", "gap outside the spread, other data"


def prediction_interval(values: Sequence[float], probability: float = 0.95) -> tuple[float, float] | None:
    """Where one more value would fall with this probability; None of fewer than two values."""
    if len(values) < 2:
        return None
    middle, spread = float(np.mean(values)), float(np.std(values, ddof=1))
    half = prediction_reach(len(values), probability) * spread
    return middle - half, middle + half


def prediction_reach(n: int, probability: float = 0.95) -> float:
    """How many standard deviations the prediction interval of n ≥ 2 values reaches to each side."""
    return float(stats.t.ppf((1 + probability) / 2, n - 1)) * math.sqrt(1 + 1 / n)


@dataclass(frozen=True)
class OurScores:
    """Looks up the scores of a study, by seed."""

    scores: pd.DataFrame
    shown: Shown

    def place(self, column: PublishedColumn, size: str) -> tuple[str, str, str]:
        """dataset, test set and size of ours for a published score."""
        return (
            self.shown.datasets.get(column.dataset, column.dataset),
            self.shown.tests.get(column.test, column.test),
            self.shown.sizes.get(size, size),
        )

    def stands_in(self, column: PublishedColumn, size: str) -> bool:
        return self.place(column, size) != (column.dataset, column.test, size)

    def of(self, column: PublishedColumn, encoding: str, size: str) -> dict[int, float]:
        dataset, test, own_size = self.place(column, size)
        keys = {"dataset": dataset, "test": test, "size": own_size, "encoding": encoding, "metric": column.metric}
        chosen = self.scores
        for key, value in keys.items():
            chosen = chosen[chosen[key] == value]
        kept = chosen.dropna(subset="score")
        return dict(zip(kept["seed"].tolist(), kept["score"].tolist(), strict=True))


def published_frame(scores: pd.DataFrame, tables: Sequence[tuple[Shown, PublishedScores]]) -> pd.DataFrame:
    """A row for each published score.

    paper, table, row, column, computed; encoding, size, dataset, test, metric (ours); published, mean, sd, n,
    difference; published_gap and gap (from the baseline of the table), low and high (the interval), status.
    ``scores`` is that of :func:`wordorder.evaluation.results.load_scores`.
    """
    rows = []
    for shown, table in tables:
        ours = OurScores(scores, shown)
        baseline = next(row for row in table.rows if row.row == table.baseline)
        for row in table.rows:
            for index, column in enumerate(table.columns):
                printed = row.scores[index]
                if printed is None:
                    continue
                dataset, test, size = ours.place(column, row.size)
                own, own_baseline = (ours.of(column, each.encoding, each.size) for each in (row, baseline))
                gaps = [own[seed] - own_baseline[seed] for seed in own if seed in own_baseline]
                base = baseline.scores[index]
                published_gap = None if base is None or row is baseline else printed - base
                found = _verdict(list(own.values()), gaps, printed, published_gap, ours.stands_in(column, row.size))
                rows.append(
                    {"paper": table.paper, "table": table.table, "row": row.row, "column": column.column}
                    | {"encoding": row.encoding, "size": size, "dataset": dataset, "test": test}
                    | {"metric": column.metric, "published": printed, "computed": table.computed}
                    | {"mean": _mean(list(own.values())), "sd": _sd(list(own.values())), "n": len(own)}
                    | {"published_gap": published_gap, "gap": None if row is baseline else _mean(gaps)}
                    | found
                )
    return pd.DataFrame(rows)


def _verdict(
    own: list[float], gaps: list[float], printed: float, published_gap: float | None, stands_in: bool
) -> dict[str, Any]:
    """difference, low, high, status"""
    nothing: dict[str, Any] = {"difference": None, "low": None, "high": None}
    if not own:
        return nothing | {"status": NOT_RUN}
    difference = None if stands_in else float(np.mean(own)) - printed
    if stands_in and published_gap is None:
        return nothing | {"status": NOTHING}  # the baseline itself, on other data
    interval = prediction_interval(gaps if stands_in else own)
    if interval is None:
        return nothing | {"difference": difference, "status": NO_SPREAD}
    wanted = published_gap if stands_in and published_gap is not None else printed
    inside = interval[0] <= wanted <= interval[1]
    status = (GAP_WITHIN if inside else GAP_OUTSIDE) if stands_in else (WITHIN if inside else OUTSIDE)
    return {"difference": difference, "low": interval[0], "high": interval[1], "status": status}


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _sd(values: list[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def published_table(scores: pd.DataFrame, tables: Sequence[tuple[Shown, PublishedScores]], report: Report) -> Table:
    """A block for each published table, column and what of ours stands beside it."""
    data = published_frame(scores, tables)
    seeds = len(report.seeds)
    blocks = []
    for (paper, table, column, dataset, test), group in groups(data, ["paper", "table", "column", "dataset", "test"]):
        first = group.iloc[0]
        shown = [
            {
                "System": row["row"],
                "Ours": row["encoding"],
                "Published": f"{row['published']:.2f}",
                "Ours, mean ± sd": _ours(row, seeds),
                "Difference": _signed(row["difference"]),
                "Published gap": _signed(row["published_gap"]),
                "Our gap": _signed(row["gap"]),
                "95 % interval": _interval(row),
                "Status": row["status"],
            }
            for row in group.to_dict("records")
        ]
        where = f"ours: {dataset}, {test}, {', '.join(group['size'].unique())}, {first.metric}"
        blocks.append((f"{paper}, {table}, {column} ({first.computed}); {where}.", pd.DataFrame(shown)))
    notes = [
        "Published scores are copied from the papers, take part in no test, and were computed as is said above each "
        "table.",
        "Gap: the difference from the row of the table that has none. 'Reproduced within the spread': the published "
        "score lies where one more run of ours would fall with a probability of 95 % (the interval). Where other data, "
        "another test set or size stands in, only the gaps are held side by side, and the interval is that of our gap.",
    ]
    if seeds > 1:
        notes.append(
            f"Of {seeds} seeds the interval reaches {prediction_reach(seeds):.1f} standard deviations to each side: "
            "'within' it says that the seeds do not speak against the published number, not that they found it."
        )
    return Table("published", data, blocks, notes)


def _ours(row: dict[Any, Any], seeds: int) -> str:
    if not row["n"]:
        return NOTHING
    sd = "" if pd.isna(row["sd"]) else f" ± {row['sd']:.2f}"
    of = f" of {seeds}" if row["n"] < seeds else ""
    return f"{row['mean']:.2f}{sd} (n = {row['n']}{of})"


def _interval(row: dict[Any, Any]) -> str:
    return NOTHING if pd.isna(row["low"]) else f"{row['low']:.2f} to {row['high']:.2f}"


def _signed(value: float | None) -> str:
    return NOTHING if value is None or math.isnan(value) else f"{value:+.2f}"
