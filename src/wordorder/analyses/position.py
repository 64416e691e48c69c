"""The share of the reference's words that the translation contains, by their position in the sentence.

A reference of m words has m - n + 1 n-grams. The position of the one that begins at word j (from 0) is (j + n / 2) / m,
the middle of its words. It belongs to the bin floor(bins x position). An n-gram type that occurs r times in the
reference and h times in the translation is found min(r, h) times, as in BLEU's clipping. It is unknown which of its r
occurrences are found, so each counts min(r, h) / r times. The recall of a bin is the sum of these counts over the whole
test set, divided by the number of n-grams in the bin. Words are those that sacreBLEU's BLEU counts for the target
language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from wordorder.analyses.base import Analysis, Input, StudiedDataset
from wordorder.config.models import Analysed, Report
from wordorder.progress import track

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from wordorder.drawing.grid import Grid

Floats = NDArray[np.float64]
Words = Sequence[str]
Order = Annotated[int, Field(ge=1, le=100)]

_WIDTH = 3.7


class RelativePosition(Analysis):
    """The share of the reference's words that the translation contains, by their position in the sentence."""

    name: ClassVar[str] = "position"
    caption: ClassVar[str] = (
        "Share of the reference's words and n-grams that are in the translation, by their position in the sentence."
    )

    bins: Annotated[int, Field(ge=2, description="Number of bins.")] = 10
    ngrams: Annotated[list[Order], Field(min_length=1)] = Field(
        default=[1, 2], description="Orders of n-grams: 1 counts words, 2 pairs of neighbours, and so on."
    )

    @override
    def inputs(self, dataset: StudiedDataset) -> list[Input]:
        return dataset.translations()

    def frame(self, asked: Analysed, results: Path, data: Path) -> DataFrame:
        """Compute one row per cell, test set, n and bin.

        Columns: begin and end of the bin (0 to 1), occurrences (n-grams of references), recall (0 to 1), mean, sd and
        seeds of the recall over seeds, status and signature (of BLEU's tokens).
        """
        import pandas as pd
        import sacrebleu
        from sacrebleu.metrics.bleu import BLEU

        from wordorder.metrics.scores import build_metric
        from wordorder.results.translations import CELL_TEST, read_test_sets, with_spread

        edges = np.arange(self.bins + 1) / self.bins
        rows: list[dict[str, Any]] = []
        for test in read_test_sets(asked, results, data):
            bleu = build_metric("bleu", asked.target_languages[test.dataset])
            assert isinstance(bleu, BLEU)
            signature = f"tok:{bleu.tokenizer_signature}|version:{sacrebleu.__version__}"
            references = [bleu.tokenizer(line.rstrip()).split() for line in test.references]
            for translation in track(test.translations, f"Words of {test.name}", total=len(test.translations)):
                hypotheses = [bleu.tokenizer(line.rstrip()).split() for line in translation.lines]
                for n in self.ngrams:
                    found, all_of_them = recall_counts(hypotheses or [[]] * len(references), references, n, self.bins)
                    for bin_, (part, count) in enumerate(zip(found, all_of_them, strict=True)):
                        row = {"n": n, "begin": edges[bin_], "end": edges[bin_ + 1], "occurrences": count}
                        recall = part / count if hypotheses and count else float("nan")
                        status = translation.status if count or not hypotheses else "no n-grams"
                        rows.append(
                            translation.cell | row | {"recall": recall, "status": status, "signature": signature}
                        )
        columns = ["recall", "mean", "sd", "seeds", "status", "signature"]
        return with_spread(pd.DataFrame(rows), "recall")[[*CELL_TEST, "n", "begin", "end", "occurrences", *columns]]

    def draw(self, frame: DataFrame, asked: Analysed) -> Figure:
        """Draw one row of panels per test set, one column per n; encodings as lines or rows."""
        from matplotlib.ticker import PercentFormatter

        from wordorder.drawing.grid import crowded, draw_grids
        from wordorder.drawing.lines import at, error_line, legend, places, title
        from wordorder.drawing.style import panels, say, wrap

        report = asked.report
        where, orders = places(frame), list(frame["n"].unique())
        if crowded(report):
            grids = [[_grid(at(frame, place), n, place, report) for n in orders] for place in where]
            return draw_grids(grids, frame, report, "recall in per cent")
        figure, axes = panels(len(where) * len(orders), len(orders), _WIDTH, 2.6)
        for index, panel in enumerate(axes):
            place, n = where[index // len(orders)], orders[index % len(orders)]
            rows = at(frame, place)
            rows = rows[rows["n"] == n]
            panel.set_title(wrap(title(report, place), int(_WIDTH * 11)))
            panel.set_ylabel("recall of words" if n == 1 else f"recall of {n}-grams")
            panel.set_xlabel("relative position in the reference")
            panel.xaxis.set_major_formatter(PercentFormatter(1))
            panel.yaxis.set_major_formatter(PercentFormatter(1, decimals=None))
            panel.set_xlim(0, 1)
            panel.grid(axis="y")
            if rows["recall"].isna().all():
                say(panel, "no translations" if (rows["occurrences"] > 0).any() else f"no {n}-grams")
                continue
            for encoding in report.encodings:
                means = rows[rows["encoding"] == encoding].drop_duplicates("begin").dropna(subset="mean")
                if len(means):
                    middle = (means["begin"] + means["end"]) / 2
                    error_line(panel, list(middle), means, report, encoding)
        legend(figure, axes, frame, report, "mean ± standard deviation over seeds")
        return figure


def recall_counts(
    hypotheses: Sequence[Words], references: Sequence[Words], n: int, bins: int
) -> tuple[Floats, NDArray[np.int64]]:
    """Count the n-grams of each bin that are found, and all n-grams of each bin, both (bins,)."""
    found, counts = np.zeros(bins), np.zeros(bins, dtype=np.int64)
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        has, wanted = Counter(_ngrams(hypothesis, n)), Counter(grams := _ngrams(reference, n))
        for start, gram in enumerate(grams):
            # Integer arithmetic: an n-gram whose middle is at an edge belongs to the bin that begins there.
            place = bins * (2 * start + n) // (2 * len(reference))
            found[place] += min(wanted[gram], has[gram]) / wanted[gram]
            counts[place] += 1
    return found, counts


def _ngrams(words: Words, n: int) -> list[tuple[str, ...]]:
    return [tuple(words[start : start + n]) for start in range(len(words) - n + 1)]


def _grid(rows: DataFrame, n: int, place: tuple[str, str, str], report: Report) -> Grid:
    from wordorder.drawing.grid import Grid
    from wordorder.drawing.lines import title

    own = rows[rows["n"] == n]
    parts = own[["begin", "end"]].drop_duplicates()
    means = own.pivot_table("mean", "encoding", "begin", dropna=False).reindex(columns=parts["begin"]) * 100
    ticks = [f"{100 * begin:.0f}–\n{100 * end:.0f}" for begin, end in parts.itertuples(index=False)]
    what = "words" if n == 1 else f"{n}-grams"
    axis = "relative position in the reference, %"
    return Grid(f"{title(report, place)}: {what}", axis, means.set_axis(ticks, axis=1))
