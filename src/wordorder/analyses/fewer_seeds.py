"""What comparisons of fewer seeds would have said.

A study with many seeds contains many studies with few seeds: each subset of its seeds. Every subset is compared as a
study compares, and its verdicts are set beside those of all seeds. Two disjoint subsets of one encoding show what
comparisons say about equal systems.

Subsets overlap, and all of them are part of the study whose verdicts judge them. The shares therefore describe these
seeds; they estimate what other seeds would show only where the subsets are small compared with the study.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from wordorder.analyses.base import ScoresAnalysis, StudyView
from wordorder.config.base import Positive
from wordorder.config.models import Analysed
from wordorder.wording import count_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from wordorder.statistics.blocked import Blocked

SHARES = ["as all seeds", "undecided", "otherwise"]
"""The columns of a comparison's outcomes: they add up to 1."""

Row = dict[str, Any]
"""Values of the columns of one row."""

Pair = tuple[str, str]
"""Two encodings."""

_COLOURS = {"as all seeds": "#0072B2", "undecided": "#BBBBBB", "otherwise": "#D55E00"}


class FewerSeeds(ScoresAnalysis):
    """What comparisons of fewer seeds would have said."""

    name: ClassVar[str] = "fewer_seeds"
    caption: ClassVar[str] = (
        "What comparisons of fewer seeds would have said. Every subset of the study's seeds (or as many as 'draws') is "
        "compared like a study, with the baseline by Dunnett's test and other pairs by Tukey's. One seed cannot be "
        "tested; its bar shows whether the means are in the order of all seeds. In a panel of an encoding with itself, "
        "each subset is compared with a disjoint one: two equal systems."
    )

    counts: Annotated[list[Positive], Field(min_length=1)] = Field(
        default=[1, 2, 3, 5], description="Numbers of seeds of the subsets."
    )
    draws: Positive = Field(
        default=500, description="Largest number of subsets of one size. If there are more, they are drawn at random."
    )

    @override
    def check(self, view: StudyView) -> None:
        seeds, largest = len(view.study.seed_numbers), max(self.counts)
        if seeds < 2 * largest:
            raise view.error(
                f"requires two disjoint subsets of {largest} seeds, but the study has {seeds} seeds. "
                "Add seeds to the study or use smaller 'counts'.",
                "fewer_seeds.counts",
            )

    @override
    def frame(self, asked: Analysed, results: Path, data: Path) -> DataFrame:
        """Compute one row per comparison, number of seeds, test set and metric.

        Columns: dataset, size, test, metric, encoding, other (the baseline, a later encoding, or the encoding itself),
        count (seeds per system), subsets, difference (of all seeds; 0 for an encoding with itself), same_order (the
        share of subsets whose means are in the order of all seeds; empty for an encoding with itself), the columns of
        ``SHARES`` (empty for one seed, which cannot be tested), and largest_95 (95 % of the absolute differences are
        smaller). A comparison that cannot be made has 0 subsets and no numbers: one with an encoding that the study
        excludes, such as a diverged one, and one of more seeds than half of those that all other encodings have. If the
        study excludes the baseline, no two encodings are compared.
        """
        import pandas as pd

        from wordorder.results.blocks import blocked
        from wordorder.results.frames import groups, load_scores

        rows: list[Row] = []
        for place, own in groups(load_scores(asked.report, results), ["dataset", "size", "test", "metric"]):
            model = blocked(own, asked.report.seeds)
            where = dict(zip(["dataset", "size", "test", "metric"], place, strict=True))
            rows += [where | row for row in self._rows(model, list(own["encoding"].unique()), asked)]
        columns = ["dataset", "size", "test", "metric", "encoding", "other", "count", "subsets", "difference"]
        return pd.DataFrame(rows, columns=[*columns, "same_order", *SHARES, "largest_95"])

    def _rows(self, model: Blocked, encodings: Sequence[str], asked: Analysed) -> Iterator[Row]:
        """Compare subsets of the seeds of a model, which lacks the encodings that the study excludes."""
        from wordorder.comparison.levels import level_of

        baseline, alpha = asked.report.baseline, asked.report.alpha
        level = level_of(alpha, model.seeds, asked.report.looks).level if model.seeds else alpha
        possible = [count for count in self.counts if 2 * count <= model.n]
        others = [name for name in encodings if name != baseline]
        if baseline in encodings and others:
            tested = possible if baseline in model.systems and model.k > 1 else []
            for count in self.counts:
                found = _pairs(model, baseline, count, self.draws, alpha, level) if count in tested else {}
                for pair in [*((name, baseline) for name in others), *combinations(others, 2)]:
                    yield _row(pair, count) | found.get(pair, {})
        for name in encodings:
            for count in self.counts:
                row = _row((name, name), count)
                if name in model.systems and count in possible:
                    row |= _with_itself(model.scores[model.row(name)], count, self.draws, alpha)
                yield row

    @override
    def draw(self, frame: DataFrame, asked: Analysed) -> Figure:
        """Draw one panel per comparison of one metric and test set, with one bar per number of seeds."""
        from matplotlib.patches import Patch
        from matplotlib.ticker import PercentFormatter

        from wordorder.drawing.style import panels, say, wrap
        from wordorder.metrics import base

        drawn = frame[frame["metric"] == asked.report.metrics[0]]
        keys = ["dataset", "size", "test", "encoding", "other"]
        where = list(drawn[keys].drop_duplicates().itertuples(index=False, name=None))
        figure, axes = panels(max(1, len(where)), 4, 2.4, 2.3, sharey=True)
        if not where:
            say(axes[0], "no scores")
            return figure
        metric = base.metric(asked.report.metrics[0])
        several = len(drawn[["dataset", "size", "test"]].drop_duplicates()) > 1
        for panel, place in zip(axes, where, strict=True):
            rows = drawn[(drawn[keys] == list(place)).all(axis=1)]
            encoding, other = place[3:]
            heading = f"{encoding} with itself" if encoding == other else f"{encoding} against {other}"
            compared = rows[rows["subsets"] > 0]
            if encoding != other and len(compared):
                heading += f", {compared['difference'].iloc[0]:+.{metric.digits}f} {metric.label}"
            panel.set_title(wrap(heading + (f"; {', '.join(place[:3])}" if several else ""), 30))
            _bars(panel, rows, metric.digits)
            panel.yaxis.set_major_formatter(PercentFormatter(1, decimals=None))
            panel.set_xlabel("seeds per system")
        handles = [Patch(color=_COLOURS[name], label=name) for name in SHARES]
        note = f"≤: 95 % of the absolute differences of two means, in {metric.label}"
        figure.legend(handles=handles, title=note, loc="outside lower center", ncols=len(handles))
        return figure


def _subsets(seeds: int, count: int, draws: int) -> NDArray[np.int64]:
    """List subsets of ``count`` seeds by their numbers, (subsets, count): all subsets, or ``draws`` random ones."""
    if math.comb(seeds, count) <= draws:
        return np.array(list(combinations(range(seeds), count)), dtype=np.int64)
    generator = np.random.default_rng([seeds, count])
    return np.array([np.sort(generator.permutation(seeds)[:count]) for _ in range(draws)], dtype=np.int64)


def _row(pair: Pair, count: int) -> Row:
    """Return the row of a comparison that was not made."""
    return {"encoding": pair[0], "other": pair[1], "count": count, "subsets": 0}


def _pairs(model: Blocked, baseline: str, count: int, draws: int, alpha: float, level: float) -> dict[Pair, Row]:
    """Compare systems on each subset of ``count`` seeds: with the baseline by Dunnett's test, other pairs by Tukey's.

    Args:
        model: The scores.
        baseline: The baseline.
        count: Number of seeds of a subset.
        draws: Largest number of subsets.
        alpha: The level of the tests of the subsets.
        level: The level of the tests of all seeds.

    Returns:
        The results of each pair.
    """
    subsets = _subsets(model.n, count, draws)
    whole = _directions(model, baseline, level)
    found = [_directions(_subset(model, subset), baseline, alpha) for subset in subsets] if count > 1 else []
    rows: dict[Pair, Row] = {}
    for pair, direction in whole.items():
        system, other = (model.scores[model.row(name)] for name in pair)
        differences = system - other
        means = differences[subsets].mean(axis=1)
        row = {
            "subsets": len(subsets),
            "difference": float(differences.mean()),
            "same_order": float((np.sign(means) == np.sign(differences.mean())).mean()),
            "largest_95": float(np.quantile(np.abs(means), 0.95)),
        }
        if found:
            own = np.array([of[pair] for of in found])
            agree = own == direction
            row |= _shares(agree, ~agree & (own == 0))
        rows[pair] = row
    return rows


def _subset(model: Blocked, columns: NDArray[np.int64]) -> Blocked:
    """Return the same systems with some of the seeds."""
    return replace(model, seeds=tuple(model.seeds[column] for column in columns), scores=model.scores[:, columns])


def _directions(model: Blocked, baseline: str, alpha: float) -> dict[Pair, int]:
    """Return 1 or -1 for each pair with a significant difference, by its sign, and 0 for all other pairs."""
    from wordorder.statistics.all_pairs import all_pairs
    from wordorder.statistics.dunnett import against_baseline

    tested = {(name, baseline): of for name, of in against_baseline(model, baseline).differences.items()}
    others = [name for name in model.systems if name != baseline]
    if len(others) > 1:
        tested |= {pair: of for pair, of in all_pairs(model).differences.items() if baseline not in pair}
    pairs = [*((name, baseline) for name in others), *combinations(others, 2)]
    return {
        pair: int(np.sign(tested[pair].value)) if pair in tested and tested[pair].p < alpha else 0 for pair in pairs
    }


def _with_itself(scores: NDArray[np.float64], count: int, draws: int, alpha: float) -> Row:
    """Compare disjoint subsets of the seeds of one system, (seeds,), by the t-test of a study of two systems."""
    from scipy import stats

    from wordorder.statistics.resampling import TIE

    generator = np.random.default_rng([len(scores), count])
    drawn = np.array([generator.permutation(len(scores))[: 2 * count] for _ in range(draws)])
    first, second = scores[drawn[:, :count]], scores[drawn[:, count:]]
    means = first.mean(axis=1) - second.mean(axis=1)
    row = {"subsets": draws, "difference": 0.0, "largest_95": float(np.quantile(np.abs(means), 0.95))}
    if count > 1:
        varies = (first - second).std(axis=1) > TIE  # Differences without a variance cannot be tested.
        found = np.zeros(draws, dtype=np.bool_)
        found[varies] = stats.ttest_rel(first[varies], second[varies], axis=1).pvalue < alpha
        row |= _shares(~found, np.zeros_like(found))
    return row


def _shares(agree: NDArray[np.bool_], undecided: NDArray[np.bool_]) -> dict[str, float]:
    """Return the shares of subsets by outcome: the columns ``SHARES``."""
    shares = [agree, undecided, ~(agree | undecided)]
    return {name: float(share.mean()) for name, share in zip(SHARES, shares, strict=True)}


def _bars(panel: Axes, rows: pd.DataFrame, digits: int) -> None:
    """Draw one stacked bar per number of seeds, and above it the difference that 95 % of the subsets do not exceed."""
    from wordorder.drawing.hints import hint

    for place, (_, row) in enumerate(rows.iterrows()):
        names, shares = SHARES, [row[name] for name in SHARES]
        if math.isnan(shares[0]):  # one seed
            names = ["same order as all seeds", "undecided", "another order"]
            shares = [row["same_order"], 0.0, 1 - row["same_order"]]
        if math.isnan(shares[0]):  # one seed of equal systems, which have no order, or no comparison
            shares = [0.0, 0.0, 0.0]
        seeds = f"{count_of(row['count'], 'seed')} per system"
        below = 0.0
        for name, share, colour in zip(names, shares, _COLOURS.values(), strict=True):
            panel.bar(place, share, bottom=below, width=0.8, color=colour)
            if share > 0:
                hint(panel, place, below + share / 2, f"{seeds}; {name}: {100 * share:.6g} %")
            below += share
        if row["subsets"]:
            panel.text(place, 1.02, f"≤ {row['largest_95']:.{digits}f}", ha="center", va="bottom", fontsize=6.5)
        else:
            panel.text(place, 0.02, "not compared", ha="center", va="bottom", fontsize=6.5, rotation=90)
    panel.set_xticks(range(len(rows)), [str(count) for count in rows["count"]])
    panel.set_ylim(0, 1.14)
