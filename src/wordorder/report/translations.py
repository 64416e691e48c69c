"""Translations side by side: choose the sentences, and mark the words that differ from the reference."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from wordorder.config.pages import Page
from wordorder.data.text import read_lines, strict_pairs
from wordorder.data.tokenise import UNSPACED_LANGUAGES, base_language
from wordorder.errors import WordorderError
from wordorder.files import read_json
from wordorder.metrics.base import TextMetric, metric
from wordorder.results.frames import training_status
from wordorder.results.index import CellFiles, read_index, text_of

SENTENCES = 20
# Apostrophes and ASCII hyphens are not in the list, because those within a word belong to it.
_MARKS = r"""!"#$%&()*+,./:;<=>?@\[\\\]^_`{|}~«»¡¿‐-―“-⁞、-〿"""
_TOKENS = rf"\s+|[{_MARKS}]|[^\s{_MARKS}]+"


@dataclass(frozen=True)
class Piece:
    """A segment of a translation, compared with the reference.

    Attributes:
        kind: "same" and "other" are words of the translation; "missing" are words that only the reference has, at
            this position.
        text: The words.
    """

    kind: Literal["same", "other", "missing"]
    text: str


@dataclass(frozen=True)
class Translation:
    """The translation of a sentence by one encoding.

    Attributes:
        encoding: The encoding.
        score: The sentence's score; None if sentences are not scored.
        pieces: The segments of the translation.
    """

    encoding: str
    score: float | None
    pieces: list[Piece]


@dataclass(frozen=True)
class Sentence:
    """A sentence with its translations.

    Attributes:
        number: The line in the test set, from 1.
        source: The source sentence.
        reference: The reference translation.
        translations: One translation per encoding.
    """

    number: int
    source: str
    reference: str
    translations: list[Translation]


@dataclass(frozen=True)
class TestSet:
    """The chosen sentences of a test set.

    Attributes:
        title: The heading.
        source_language: The language of the sources, such as "en".
        target_language: The language of the translations.
        metric: The label of the metric that chose the sentences; empty if none did.
        total: The number of sentences in the test set.
        sentences: The chosen sentences.
        shown: The encodings with translations, each with the seed of its model.
        absent: The encodings without translations, each with the reason.
    """

    title: str
    source_language: str
    target_language: str
    metric: str
    total: int
    sentences: list[Sentence]
    shown: list[tuple[str, int]]
    absent: list[tuple[str, str]]


@dataclass(frozen=True)
class Translated:
    """All translations of a test set, by one model per encoding.

    Attributes:
        dataset: The dataset.
        size: The size of the models.
        test: The test set.
        title: The heading.
        source_language: The language of the sources, such as "en".
        target_language: The language of the translations.
        metric: The name of the metric that rates sentences, if any.
        pairs: The source and the reference of each sentence.
        shown: The encodings with translations, each with the seed of its model.
        absent: The encodings without translations, each with the reason.
        lines: The translations of each encoding.
        scores: The sentence scores of each encoding that is scored.
    """

    dataset: str
    size: str
    test: str
    title: str
    source_language: str
    target_language: str
    metric: str | None
    pairs: list[tuple[str, str]]
    shown: list[tuple[str, int]]
    absent: list[tuple[str, str]]
    lines: dict[str, list[str]]
    scores: dict[str, list[float]]


def read(asked: Page, results: Path, data: Path) -> list[Translated]:
    """Read the translations of every dataset, size and test set.

    Args:
        asked: The configuration of the page.
        results: The folder of the study's results.
        data: The folder of the datasets, ``results/data``.

    Returns:
        One entry per dataset, size and test set, in the order of the study.

    Raises:
        WordorderError: A file is missing or damaged, or its length differs from that of the test set.
    """
    return [
        _read(asked, dataset.name, dataset.title, size, test, results, data)
        for dataset in asked.report.datasets
        for size in asked.report.sizes
        for test in dataset.tests
    ]


def _read(asked: Page, dataset: str, title: str, size: str, test: str, results: Path, data: Path) -> Translated:
    report, index = asked.report, read_index(results)
    source, reference = (data / dataset / "raw" / f"{text_of(test)}.{side}" for side in ("source", "target"))
    for path in (source, reference):
        if not path.is_file():
            raise WordorderError(
                f"{path} does not exist. The page shows this text of the test set '{test}' next to its translations. "
                "Run the study to prepare the dataset, or name the folder of the prepared data with --data.",
                code="missing-file",
                path=path,
            )
    pairs = list(strict_pairs(read_lines(source), read_lines(reference), source, reference))
    name = chosen_metric(report.metrics)
    shown, absent = [], []
    lines: dict[str, list[str]] = {}
    scores: dict[str, list[float]] = {}
    for encoding in report.encodings_of(size):
        cells = {seed: index.cell(dataset, size, encoding, seed) for seed in report.seeds}
        seed = next((seed for seed, files in cells.items() if _has_lines(files.hypotheses(test))), None)
        if seed is None:
            absent.append((encoding, _reasons(cells)))
            continue
        shown.append((encoding, seed))
        lines[encoding] = _hypotheses(cells[seed].hypotheses(test), len(pairs))
        if name and (found := _sentence_scores(cells[seed].scores(test), name, len(pairs))):
            scores[encoding] = found
    heading = [title, *([size] if len(report.sizes) > 1 else []), test]
    return Translated(
        dataset=dataset,
        size=size,
        test=test,
        title=", ".join(heading),
        source_language=asked.source_languages[dataset],
        target_language=asked.target_languages[dataset],
        metric=name,
        pairs=pairs,
        shown=shown,
        absent=absent,
        lines=lines,
        scores=scores,
    )


def select(found: Translated) -> TestSet:
    """Choose the sentences of a test set on which the encodings differ most."""
    sentences = [
        Sentence(
            number=index + 1,
            source=found.pairs[index][0],
            reference=found.pairs[index][1],
            translations=[
                Translation(
                    encoding,
                    found.scores[encoding][index] if encoding in found.scores else None,
                    differences(found.pairs[index][1], own[index], found.target_language),
                )
                for encoding, own in found.lines.items()
            ],
        )
        for index in choose(found.pairs, list(found.scores.values()))
    ]
    return TestSet(
        title=found.title,
        source_language=found.source_language,
        target_language=found.target_language,
        metric=metric(found.metric).label if found.metric else "",
        total=len(found.pairs),
        sentences=sentences,
        shown=found.shown,
        absent=found.absent,
    )


def chosen_metric(names: Sequence[str]) -> str | None:
    """Choose the metric whose sentence scores select the sentences.

    Args:
        names: The metrics of the study.

    Returns:
        The last metric that is meaningful for single sentences, such as chrF; otherwise the first one that scores
        texts; None if no metric does.
    """
    scored = [name for name in names if issubclass(metric(name), TextMetric)]
    rating = [name for name in scored if metric(name).rates_sentences]
    return rating[-1] if rating else next(iter(scored), None)


def _has_lines(path: Path) -> bool:
    # A diverged model leaves an empty file, because it translates nothing.
    return path.is_file() and path.stat().st_size > 0


def _reasons(cells: dict[int, CellFiles]) -> str:
    return "; ".join(f"seed {seed} {training_status(files) or 'not trained'}" for seed, files in cells.items())


def _hypotheses(path: Path, wanted: int) -> list[str]:
    lines = list(read_lines(path))
    if len(lines) != wanted:
        raise WordorderError(
            f"{path} has {len(lines)} lines, but its test set has {wanted}. Each line must be the translation of one "
            "sentence. Delete the file and run the study again.",
            code="different-lengths",
            path=path,
            found=len(lines),
            expected=wanted,
        )
    return lines


def _sentence_scores(path: Path, metric: str, wanted: int) -> list[float] | None:
    """Read the score of each sentence; return None if the translation is not scored yet."""
    if not path.is_file():
        return None
    scored: Any = read_json(path)
    try:
        found = [float(score) for score in scored["metrics"][metric]["segment_scores"]]
    except (KeyError, TypeError, ValueError) as error:
        raise WordorderError(
            f"{path} has no sentence scores by the metric '{metric}'. Delete the file and run the study again.",
            code="missing-metric",
            path=path,
            key=metric,
        ) from error
    if len(found) != wanted:
        raise WordorderError(
            f"{path} has scores of {len(found)} sentences, but its test set has {wanted}. Delete the file and run the "
            "study again.",
            code="different-lengths",
            path=path,
            found=len(found),
            expected=wanted,
        )
    return found


def choose(pairs: Sequence[tuple[str, str]], scores: Sequence[Sequence[float]], count: int = SENTENCES) -> list[int]:
    """Choose the sentences on which the scores of the encodings differ most.

    The criterion is the mean absolute difference between two encodings. Unlike the standard deviation, it prefers
    sentences on which all encodings differ to those with a single outlier. Ties are broken by the order in the test
    set, so that the choice is reproducible, and no sentence pair is chosen twice.

    Args:
        pairs: The source and reference of each sentence.
        scores: For each encoding the scores of all sentences.
        count: The number of sentences to choose.

    Returns:
        Indices of sentences, by decreasing difference.
    """
    spread = [_mean_difference(values) for values in zip(*scores, strict=True)] if scores else [0.0] * len(pairs)
    chosen: dict[tuple[str, str], int] = {}
    for index in sorted(range(len(pairs)), key=lambda index: (-spread[index], index)):
        if len(chosen) == count:
            break
        chosen.setdefault(pairs[index], index)
    return list(chosen.values())


def _mean_difference(values: Sequence[float]) -> float:
    """Average the absolute difference over all pairs of values."""
    between = [abs(one - other) for one, other in combinations(values, 2)]
    return statistics.fmean(between) if between else 0.0


def differences(reference: str, translation: str, language: str) -> list[Piece]:
    """Compare a translation with its reference.

    Args:
        reference: The reference.
        translation: The translation.
        language: Their language. Words are compared; characters in languages without spaces between words.

    Returns:
        The segments of the translation, in order.
    """
    wanted, found = (_tokens(text, language) for text in (reference, translation))
    compared = SequenceMatcher(None, [word for word, _ in wanted], [word for word, _ in found], autojunk=False)
    pieces: list[Piece] = []
    for what, start, end, first, last in compared.get_opcodes():
        if what == "delete":
            pieces.append(Piece("missing", _joined(wanted[start:end]).strip()))
            continue
        text = _joined(found[first:last])
        word = text.rstrip()
        pieces.append(Piece("same" if what == "equal" else "other", word))
        if word != text:  # leaves the space after marked words unmarked
            pieces.append(Piece("same", text[len(word) :]))
    return pieces


def _joined(tokens: Sequence[tuple[str, str]]) -> str:
    return "".join(word + space for word, space in tokens)


def token_pattern(language: str) -> str:
    """Return a regular expression of words, marks and the space between them, for Python and for JavaScript."""
    return r"\s+|\S" if base_language(language) in UNSPACED_LANGUAGES else _TOKENS


def _tokens(text: str, language: str) -> list[tuple[str, str]]:
    """Split a text into words and punctuation marks, each with the space after it."""
    tokens: list[tuple[str, str]] = []
    for part in re.findall(token_pattern(language), text):
        if part.isspace() and tokens:
            tokens[-1] = (tokens[-1][0], tokens[-1][1] + part)
        elif not part.isspace():
            tokens.append((part, ""))
    return tokens
