"""How far each encoding is from the baseline, as a metric counts longer and longer n-grams.

Source: PosNet paper, Figure 4 and "Evaluation with different n-grams": the gap is the score of a system minus that of
the baseline, for chrF with character n-grams up to n and word n-grams up to 2, for chrF with character n-grams up to 6
and word n-grams up to n, and for BLEU with n-grams up to n. The paper has one run of each; here the gap is that between
two models of the same seed, and its mean and spread are over seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from wordorder.config.analyses import NgramGap
from wordorder.config.models import Analysed
from wordorder.metrics.scores import build_metric
from wordorder.progress import Progress
from wordorder.results.frames import CELL
from wordorder.results.translations import CELL_TEST, TranslatedSet, read_test_sets, with_spread

_BLOCK = 100  # sentences: all n-grams of a whole corpus, as sacreBLEU keeps them, take gigabytes


@dataclass(frozen=True, slots=True)
class Point:
    """One n of one panel: the metric, and which of the counted n-grams it takes."""

    panel: str
    n: int
    metric: CHRF | BLEU


def frame(analysed: Analysed, results: Path, data: Path) -> pd.DataFrame:
    """One row for each cell x test x panel x n: score, gap (score minus that of the baseline's model of that seed),
    mean, sd and seeds of the gap over seeds, status and signature. Panels: chrf_characters, chrf_words, bleu."""
    settings = analysed.settings.ngram_gap or NgramGap()
    rows: list[dict[str, Any]] = []
    for test in read_test_sets(analysed, results, data):
        points = list(_points(settings, analysed.target_languages[test.dataset]))
        scores = _scores(test, settings, points)
        for translation, values in zip(test.translations, scores, strict=True):
            for point, score in zip(points, values, strict=True):
                row = {"panel": point.panel, "n": point.n, "score": score, "status": translation.status}
                rows.append(translation.cell | row | {"signature": str(point.metric.get_signature())})
    return _with_gap(pd.DataFrame(rows), analysed.report.baseline)


def _points(settings: NgramGap, language: str) -> Iterator[Point]:
    """What is drawn, from left to right. The references only tell the signature that there is one of each."""
    one = [[""]]
    for n in range(1, settings.characters + 1):
        yield Point("chrf_characters", n, CHRF(char_order=n, word_order=settings.character_words, references=one))
    for n in range(1, settings.words + 1):
        yield Point("chrf_words", n, CHRF(char_order=6, word_order=n, references=one))
    for n in range(1, settings.bleu + 1):
        yield Point("bleu", n, _bleu(n, language, one))


def _bleu(order: int, language: str, references: list[list[str]]) -> BLEU:
    chosen = build_metric("bleu", language)
    assert isinstance(chosen, BLEU)
    return BLEU(max_ngram_order=order, trg_lang=chosen.trg_lang, references=references)


def _scores(test: TranslatedSet, settings: NgramGap, points: list[Point]) -> list[list[float]]:
    """The scores of each translation, by point; NaN where there is no translation.

    The n-grams of a corpus are counted once, up to the longest, and each point takes its part of the counts.
    """
    chrf = CHRF(char_order=max(6, settings.characters), word_order=max(settings.words, settings.character_words))
    counts = _count_chrf(chrf, test)
    longest = points[-1].metric  # of BLEU
    found = []
    for translation, counted in zip(test.translations, counts, strict=True):
        if not translation.lines:
            found.append([float("nan")] * len(points))
            continue
        bleu = longest.corpus_score(translation.lines, [test.references])
        found.append([_score(point.metric, counted, chrf.char_order, bleu) for point in points])
    return found


def _count_chrf(chrf: CHRF, test: TranslatedSet) -> list[np.ndarray]:
    """sacreBLEU's counts of each translation, (translations, 3 x orders): hypothesis, reference and matched n-grams."""
    sums = [np.zeros(3 * chrf.order, dtype=np.int64) for _ in test.translations]
    with Progress(f"n-grams of {test.name}", total=len(test.references), unit="sentences") as progress:
        for begin in range(0, len(test.references), _BLOCK):
            part = slice(begin, begin + _BLOCK)
            references = [test.references[part]]
            block = CHRF(char_order=chrf.char_order, word_order=chrf.word_order, references=references)
            for total, translation in zip(sums, test.translations, strict=True):
                if translation.lines:
                    total += np.sum(block._extract_corpus_statistics(translation.lines[part], None), axis=0)
            progress.advance(len(references[0]))
    return sums


def _score(metric: CHRF | BLEU, chrf: np.ndarray, characters: int, bleu: Any) -> float:
    """The score that ``metric`` gives, from the counts of longer n-grams."""
    if isinstance(metric, CHRF):
        orders = [*range(metric.char_order), *range(characters, characters + metric.word_order)]
        statistics = chrf.reshape(-1, 3)[orders].ravel().tolist()
    else:
        order = metric.max_ngram_order
        statistics = [bleu.sys_len, bleu.ref_len, *bleu.counts[:order], *bleu.totals[:order]]
    return float(metric._compute_score_from_stats(statistics).score)


def _with_gap(scores: pd.DataFrame, baseline: str) -> pd.DataFrame:
    at = [name for name in [*CELL_TEST, "panel", "n"] if name != "encoding"]
    levels = scores[scores["encoding"] == baseline].set_index(at)["score"]
    gaps = scores["score"] - levels.reindex(pd.MultiIndex.from_frame(scores[at])).to_numpy()
    spread = with_spread(scores.assign(gap=gaps).drop(columns="score"), "gap")
    return spread.assign(score=scores["score"])[
        [*CELL, "test", "panel", "n", "score", "gap", "mean", "sd", "seeds", "status", "signature"]
    ]
