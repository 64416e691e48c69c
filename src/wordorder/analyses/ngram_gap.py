"""Difference of each encoding from the baseline for metrics that count longer and longer n-grams.

Source: PosNet paper, Figure 4 and "Evaluation with different n-grams". The gap is the score of a system minus that of
the baseline, for chrF with character n-grams up to n and word n-grams up to 2, for chrF with character n-grams up to 6
and word n-grams up to n, and for BLEU with n-grams up to n. BLEU is sacreBLEU's; that of the paper's
tables is ``bleu_legacy``. The paper has one run of each. Here the gap is that between two models of the same seed, with
its mean and standard deviation over seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

from wordorder.analyses.base import Analysis, Input, StudiedDataset
from wordorder.config.models import Analysed, Report
from wordorder.progress import Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    from wordorder.results.translations import TranslatedSet

Order = Annotated[int, Field(ge=1, le=100)]

_BLOCK = 100  # sentences per step: all n-grams of a whole corpus in sacreBLEU's form would take gigabytes
_WIDTH = 3.4


@dataclass(frozen=True, slots=True)
class Point:
    """One n of one panel: the metric, and which of the counted n-grams it uses."""

    panel: str
    n: int
    metric: CHRF | BLEU


class NgramGap(Analysis):
    """Difference of each encoding from the baseline, by the length of the n-grams that a metric counts."""

    name: ClassVar[str] = "ngram_gap"
    caption: ClassVar[str] = (
        "Difference of each encoding from the baseline in chrF with character n-grams and with word n-grams and in "
        "BLEU, as they count longer and longer n-grams (as in Figure 4 of the PosNet paper)."
    )

    characters: Order = Field(default=30, description="Largest order of character n-grams in chrF.")
    character_words: int = Field(
        default=2, ge=0, le=100, description="Order of word n-grams while the characters vary: 2 gives chrF++, 0 chrF."
    )
    words: Order = Field(default=8, description="Largest order of word n-grams in chrF with 6 characters.")
    bleu: Order = Field(default=8, description="Largest order of n-grams in BLEU.")

    @override
    def inputs(self, dataset: StudiedDataset) -> list[Input]:
        return dataset.translations()

    def frame(self, asked: Analysed, results: Path, data: Path) -> DataFrame:
        """Compute one row per cell, test set, panel and n.

        ``gap`` is the score minus that of the baseline's model of the same seed; mean, sd and seeds are those of the
        gap over seeds. The panels are chrf_characters, chrf_words and bleu.
        """
        import pandas as pd

        from wordorder.results.translations import read_test_sets

        rows: list[dict[str, Any]] = []
        for test in read_test_sets(asked, results, data):
            points = list(_points(self, asked.target_languages[test.dataset]))
            scores = _scores(test, self, points)
            for translation, values in zip(test.translations, scores, strict=True):
                for point, score in zip(points, values, strict=True):
                    row = {"panel": point.panel, "n": point.n, "score": score, "status": translation.status}
                    rows.append(translation.cell | row | {"signature": str(point.metric.get_signature())})
        return _with_gap(pd.DataFrame(rows), asked.report.baseline)

    def draw(self, frame: DataFrame, asked: Analysed) -> Figure:
        """Draw one row of panels per test set: chrF by characters, chrF by words, BLEU; one line per encoding."""
        from wordorder.drawing.lines import at, legend, places, title
        from wordorder.drawing.style import panels, wrap

        report = asked.report
        words = self.character_words
        axis = {
            "chrf_characters": f"chrF{'+' * words}: longest character n-gram",
            "chrf_words": "chrF: longest word n-gram",
            "bleu": "BLEU: longest word n-gram",
        }
        where = places(frame)
        figure, axes = panels(len(where) * len(axis), len(axis), _WIDTH, 2.5)
        for index, panel in enumerate(axes):
            place, name = where[index // len(axis)], list(axis)[index % len(axis)]
            rows = at(frame, place)
            panel.set_title(wrap(title(report, place), int(_WIDTH * 11)))
            panel.set_xlabel(axis[name])
            panel.set_ylabel(wrap(f"difference from {report.baseline}", 28))
            _panel(panel, rows[rows["panel"] == name], report)
        legend(figure, axes, frame, report, "mean over seeds; band: ± standard deviation")
        return figure


def _points(settings: NgramGap, language: str) -> Iterator[Point]:
    """Yield the points from left to right. The references only inform the signature that there is one per sentence."""
    from sacrebleu.metrics.chrf import CHRF

    one = [[""]]
    for n in range(1, settings.characters + 1):
        yield Point("chrf_characters", n, CHRF(char_order=n, word_order=settings.character_words, references=one))
    for n in range(1, settings.words + 1):
        yield Point("chrf_words", n, CHRF(char_order=6, word_order=n, references=one))
    for n in range(1, settings.bleu + 1):
        yield Point("bleu", n, _bleu(n, language, one))


def _bleu(order: int, language: str, references: list[list[str]]) -> BLEU:
    from sacrebleu.metrics.bleu import BLEU

    from wordorder.metrics.scores import build_metric

    chosen = build_metric("bleu", language)
    assert isinstance(chosen, BLEU)
    return BLEU(max_ngram_order=order, trg_lang=chosen.trg_lang, references=references)


def _scores(test: TranslatedSet, settings: NgramGap, points: list[Point]) -> list[list[float]]:
    """Compute the scores of each translation, by point; NaN for a missing translation.

    The n-grams of a corpus are counted once, up to the longest, and each point uses a part of the counts.
    """
    from sacrebleu.metrics.chrf import CHRF

    chrf = CHRF(char_order=max(6, settings.characters), word_order=max(settings.words, settings.character_words))
    counts = _count_chrf(chrf, test)
    longest = points[-1].metric  # n-grams of BLEU
    found = []
    for translation, counted in zip(test.translations, counts, strict=True):
        if not translation.lines:
            found.append([float("nan")] * len(points))
            continue
        bleu = longest.corpus_score(translation.lines, [test.references])
        found.append([_score(point.metric, counted, chrf.char_order, bleu) for point in points])
    return found


def _count_chrf(chrf: CHRF, test: TranslatedSet) -> list[np.ndarray]:
    """Return chrF's counts of each translation, (translations, 3 x orders): hypothesis, reference, matched n-grams."""
    sums = [np.zeros(3 * chrf.order, dtype=np.int64) for _ in test.translations]
    with Progress(f"n-grams of {test.name}", total=len(test.references), unit="sentences") as progress:
        for begin in range(0, len(test.references), _BLOCK):
            part = slice(begin, begin + _BLOCK)
            references = [test.references[part]]
            block = type(chrf)(char_order=chrf.char_order, word_order=chrf.word_order, references=references)
            for total, translation in zip(sums, test.translations, strict=True):
                if translation.lines:
                    total += np.sum(block._extract_corpus_statistics(translation.lines[part], None), axis=0)
            progress.advance(len(references[0]))
    return sums


def _score(metric: CHRF | BLEU, chrf: np.ndarray, characters: int, bleu: Any) -> float:
    """Compute the score of ``metric`` from the counts of longer n-grams."""
    from sacrebleu.metrics.chrf import CHRF

    if isinstance(metric, CHRF):
        orders = [*range(metric.char_order), *range(characters, characters + metric.word_order)]
        statistics = chrf.reshape(-1, 3)[orders].ravel().tolist()
    else:
        order = metric.max_ngram_order
        statistics = [bleu.sys_len, bleu.ref_len, *bleu.counts[:order], *bleu.totals[:order]]
    return float(metric._compute_score_from_stats(statistics).score)


def _with_gap(scores: DataFrame, baseline: str) -> DataFrame:
    import pandas as pd

    from wordorder.results.frames import CELL
    from wordorder.results.translations import CELL_TEST, with_spread

    at = [name for name in [*CELL_TEST, "panel", "n"] if name != "encoding"]
    levels = scores[scores["encoding"] == baseline].set_index(at)["score"]
    gaps = scores["score"] - levels.reindex(pd.MultiIndex.from_frame(scores[at])).to_numpy()
    spread = with_spread(scores.assign(gap=gaps).drop(columns="score"), "gap")
    return spread.assign(score=scores["score"])[
        [*CELL, "test", "panel", "n", "score", "gap", "mean", "sd", "seeds", "status", "signature"]
    ]


def _panel(panel: Axes, rows: DataFrame, report: Report) -> None:
    from matplotlib.ticker import MaxNLocator

    from wordorder.drawing.lines import look
    from wordorder.drawing.style import say

    if rows.loc[rows["encoding"] != report.baseline, "gap"].isna().all():
        say(panel, "nothing to compare")
        return
    panel.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    panel.grid(axis="y")
    panel.axhline(0, color="#444444", linewidth=1, zorder=1)
    for encoding in report.encodings:
        means = rows[rows["encoding"] == encoding].drop_duplicates("n").dropna(subset="mean")
        if encoding == report.baseline or means.empty:
            continue
        style = look(report, encoding)
        every = max(1, len(means) // 8)
        panel.plot(means["n"], means["mean"], label=encoding, linewidth=1.2, markersize=3.5, markevery=every, **style)
        band = means["mean"] - means["sd"], means["mean"] + means["sd"]
        panel.fill_between(means["n"], *band, color=style["color"], alpha=0.15, linewidth=0)
