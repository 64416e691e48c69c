"""Translations side by side: which sentences are shown, and the words in which a translation differs."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from wordorder.config.models import Page
from wordorder.data.text import read_lines, strict_pairs
from wordorder.data.tokenise import UNSPACED_LANGUAGES, base_language
from wordorder.errors import WordorderError
from wordorder.files import read_json
from wordorder.metrics.base import TextMetric, metric
from wordorder.results.frames import training_status
from wordorder.results.index import CellFiles, read_index, text_of

SENTENCES = 20
# A word, a mark of punctuation, or the space between them. An apostrophe or a hyphen within a word belongs to it.
_MARKS = r"""!"#$%&()*+,./:;<=>?@\[\\\]^_`{|}~«»¡¿‐-―“-⁞、-〿"""
_TOKENS = re.compile(rf"\s+|[{_MARKS}]|[^\s{_MARKS}]+")


@dataclass(frozen=True)
class Piece:
    """A stretch of a translation. "missing": not in it, but words of the reference are missing there."""

    kind: Literal["same", "other", "missing"]
    text: str


@dataclass(frozen=True)
class Translation:
    encoding: str
    score: float | None
    pieces: list[Piece]


@dataclass(frozen=True)
class Sentence:
    """``number`` counts the lines of the test set from 1."""

    number: int
    source: str
    reference: str
    translations: list[Translation]


@dataclass(frozen=True)
class TestSet:
    """``shown`` tells the seed of each encoding's model; ``absent`` why an encoding has no translations."""

    title: str
    source_language: str
    target_language: str
    metric: str
    total: int
    sentences: list[Sentence]
    shown: list[tuple[str, int]]
    absent: list[tuple[str, str]]


def load(asked: Page, results: Path, data: Path) -> list[TestSet]:
    """A selection of every dataset, size and test set, in the study's order.

    Raises WordorderError where a file is missing or broken, or does not fit the test set's other files.
    """
    return [
        _test_set(asked, dataset.name, dataset.title, size, test, results, data)
        for dataset in asked.report.datasets
        for size in asked.report.sizes
        for test in dataset.tests
    ]


def _test_set(asked: Page, dataset: str, title: str, size: str, test: str, results: Path, data: Path) -> TestSet:
    report, index = asked.report, read_index(results)
    source, reference = (data / dataset / "raw" / f"{text_of(test)}.{side}" for side in ("source", "target"))
    for path in (source, reference):
        if not path.is_file():
            raise WordorderError(
                f"{path} does not exist. The page shows the translations of the test set '{test}' beside it: prepare "
                "the dataset by running the study, or name the folder of its data with --data.",
                code="missing-file",
                path=path,
            )
    pairs = list(strict_pairs(read_lines(source), read_lines(reference), source, reference))
    name = chosen_metric(report.metrics)
    shown, absent = [], []
    lines: dict[str, list[str]] = {}
    scores: dict[str, list[float]] = {}
    for encoding in report.encodings:
        cells = {seed: index.cell(dataset, size, encoding, seed) for seed in report.seeds}
        seed = next((seed for seed, files in cells.items() if _has_lines(files.hypotheses(test))), None)
        if seed is None:
            absent.append((encoding, _reasons(cells)))
            continue
        shown.append((encoding, seed))
        lines[encoding] = _hypotheses(cells[seed].hypotheses(test), len(pairs))
        if name and (found := _sentence_scores(cells[seed].scores(test), name, len(pairs))):
            scores[encoding] = found
    language = asked.target_languages[dataset]
    sentences = [
        Sentence(
            number=index + 1,
            source=pairs[index][0],
            reference=pairs[index][1],
            translations=[
                Translation(
                    encoding,
                    scores[encoding][index] if encoding in scores else None,
                    differences(pairs[index][1], own[index], language),
                )
                for encoding, own in lines.items()
            ],
        )
        for index in choose(pairs, list(scores.values()))
    ]
    heading = [title, *([size] if len(report.sizes) > 1 else []), test]
    return TestSet(
        title=", ".join(heading),
        source_language=asked.source_languages[dataset],
        target_language=language,
        metric=metric(name).label if name else "",
        total=len(pairs),
        sentences=sentences,
        shown=shown,
        absent=absent,
    )


def chosen_metric(names: Sequence[str]) -> str | None:
    """Return the metric by whose sentence scores sentences are chosen, if any has such scores beside the translations.

    A sentence's chrF says more than its BLEU; of several that rate sentences the last one is taken.
    """
    scored = [name for name in names if issubclass(metric(name), TextMetric)]
    rating = [name for name in scored if metric(name).rates_sentences]
    return rating[-1] if rating else next(iter(scored), None)


def _has_lines(path: Path) -> bool:
    """A model that diverged translates nothing and leaves an empty file."""
    return path.is_file() and path.stat().st_size > 0


def _reasons(cells: dict[int, CellFiles]) -> str:
    return "; ".join(f"seed {seed} {training_status(files) or 'not trained'}" for seed, files in cells.items())


def _hypotheses(path: Path, wanted: int) -> list[str]:
    lines = list(read_lines(path))
    if len(lines) != wanted:
        raise WordorderError(
            f"{path} has {len(lines)} lines, but its test set has {wanted}. Line i of one must be the translation of "
            "line i of the other: delete it and run the study again.",
            code="different-lengths",
            path=path,
        )
    return lines


def _sentence_scores(path: Path, metric: str, wanted: int) -> list[float] | None:
    """The score of each sentence; None where nothing is scored yet."""
    if not path.is_file():
        return None
    scored: Any = read_json(path)
    try:
        found = [float(score) for score in scored["metrics"][metric]["segment_scores"]]
    except (KeyError, TypeError, ValueError) as error:
        raise WordorderError(
            f"{path} has no scores of sentences for the metric '{metric}'. Delete it and score the test set again.",
            code="missing-metric",
            path=path,
        ) from error
    if len(found) != wanted:
        raise WordorderError(
            f"{path} has scores of {len(found)} sentences, but its test set has {wanted}. Delete it and score again.",
            code="different-lengths",
            path=path,
        )
    return found


def choose(pairs: Sequence[tuple[str, str]], scores: Sequence[Sequence[float]], count: int = SENTENCES) -> list[int]:
    """The sentences on which the encodings' scores differ most, no pair of sentences twice.

    By the mean difference between two encodings: it is larger where all of them differ than where one is far from the
    others, which a standard deviation prefers. Of sentences that differ as much the first come first: the
    choice is always the same.
    """
    spread = [_mean_difference(values) for values in zip(*scores, strict=True)] if scores else [0.0] * len(pairs)
    chosen: dict[tuple[str, str], int] = {}
    for index in sorted(range(len(pairs)), key=lambda index: (-spread[index], index)):
        if len(chosen) == count:
            break
        chosen.setdefault(pairs[index], index)
    return list(chosen.values())


def _mean_difference(values: Sequence[float]) -> float:
    """Between two of the values."""
    between = [abs(one - other) for one, other in combinations(values, 2)]
    return statistics.fmean(between) if between else 0.0


def differences(reference: str, translation: str, language: str) -> list[Piece]:
    """The translation in pieces, by words, or by characters in a language without spaces between words."""
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
        if word != text:  # the space behind marked words is not marked
            pieces.append(Piece("same", text[len(word) :]))
    return pieces


def _joined(tokens: Sequence[tuple[str, str]]) -> str:
    return "".join(word + space for word, space in tokens)


def _tokens(text: str, language: str) -> list[tuple[str, str]]:
    """Words and marks, each with the space behind it."""
    unspaced = base_language(language) in UNSPACED_LANGUAGES
    tokens: list[tuple[str, str]] = []
    for part in re.findall(r"\s+|\S", text) if unspaced else _TOKENS.findall(text):
        if part.isspace() and tokens:
            tokens[-1] = (tokens[-1][0], tokens[-1][1] + part)
        elif not part.isspace():
            tokens.append((part, ""))
    return tokens
