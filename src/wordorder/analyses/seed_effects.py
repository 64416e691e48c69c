"""How much each seed changes the scores of each encoding, and whether a seed changes those of all encodings alike."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from wordorder.analyses.base import ScoresAnalysis, StudyView
from wordorder.config.models import Analysed

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame, Series


class SeedEffects(ScoresAnalysis):
    """How much each seed changes the scores of each encoding."""

    name: ClassVar[str] = "seed_effects"
    caption: ClassVar[str] = (
        "Each seed's score minus the mean of its encoding; a line joins the scores of one seed. Lines that rise and "
        "fall together are seeds that are good or bad for all encodings, which comparisons with shared seeds cancel. "
        "r is the correlation of an encoding's scores with those of the baseline over the seeds."
    )

    @override
    def check(self, view: StudyView) -> None:
        if len(view.study.seed_numbers) < 3:
            raise view.error("requires at least three seeds.", "seed_effects")

    @override
    def frame(self, asked: Analysed, results: Path, data: Path) -> DataFrame:
        """Compute one row per cell, test set and metric.

        Columns: score, mean and sd over seeds, seeds, effect (score minus mean), correlation (of the encoding's scores
        with the baseline's, over the seeds that both have; empty without a baseline), status and signature.
        """
        import pandas as pd

        from wordorder.results.frames import groups, load_scores
        from wordorder.results.translations import CELL_TEST, with_spread

        scores = with_spread(load_scores(asked.report, results), "score")
        scores = scores.assign(effect=scores["score"] - scores["mean"], correlation=float("nan"))
        parts = []
        for _, own in groups(scores, ["dataset", "size", "test", "metric"]):
            by_seed = own.pivot(index="seed", columns="encoding", values="score")
            if asked.report.baseline in by_seed.columns:
                correlations = by_seed.corrwith(by_seed[asked.report.baseline], min_periods=3)
                own = own.assign(correlation=own["encoding"].map(correlations))
            parts.append(own)
        columns = ["metric", "score", "mean", "sd", "seeds", "effect", "correlation", "status", "signature"]
        return pd.concat(parts)[[*CELL_TEST, *columns]].sort_index()

    @override
    def draw(self, frame: DataFrame, asked: Analysed) -> Figure:
        """Draw one panel per test set and metric, one column of dots per encoding, one line per seed."""
        from wordorder.drawing.lines import at, missing_cells, no_scores, places, title, where_scored
        from wordorder.drawing.style import PALETTE, panels, say, wrap
        from wordorder.metrics import base

        where, metrics = places(frame), list(frame["metric"].unique())
        width = max(3.4, 1.0 + 0.75 * len(asked.report.encodings))
        figure, axes = panels(len(where) * len(metrics), len(metrics), width, 3.2)
        for index, panel in enumerate(axes):
            place, metric = where[index // len(metrics)], metrics[index % len(metrics)]
            rows = at(frame, place)
            rows = rows[rows["metric"] == metric]
            panel.set_title(wrap(title(asked.report, place), int(width * 11)))
            if rows["effect"].isna().all():
                say(panel, no_scores(rows))
                continue
            names = [name for name in asked.report.encodings if name in set(rows["encoding"])]
            table = rows.pivot(index="encoding", columns="seed", values="effect").reindex(names)
            panel.plot(range(len(names)), table, color="#999999", linewidth=0.6, alpha=0.7)
            for place_, name in enumerate(names):
                panel.scatter([place_] * table.shape[1], table.loc[name], s=10, color=PALETTE[0], zorder=2)
            facts, digits = rows.drop_duplicates("encoding").set_index("encoding"), base.metric(metric).digits
            labels = [f"{wrap(name, 18)}\n{_facts(facts.loc[name], digits)}" for name in names]
            panel.set_xticks(range(len(names)), labels)
            panel.axhline(0, color="black", linewidth=0.6)
            panel.set_ylabel(f"{base.metric(metric).label} minus the encoding's mean")
        if missing := missing_cells(where_scored(frame), asked.report):
            figure.supxlabel("\n".join(wrap(line, int(width * 14 * len(metrics))) for line in missing), fontsize=8)
        return figure


def _facts(row: Series[float], digits: int) -> str:
    """Return standard deviation and correlation of an encoding; the baseline's correlation with itself says nothing."""
    r = row["correlation"]
    if isnan(row["sd"]):
        return "no sd"
    return f"sd {row['sd']:.{digits}f}" + ("" if isnan(r) or r > 1 - 1e-9 else f"\nr {r:.2f}")
