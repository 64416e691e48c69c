"""Score translations with the metrics that this process computes."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordorder.config.models import Metric as Entry
from wordorder.config.models import Scoring, SystemsScoring, metric_name
from wordorder.data.text import read_lines
from wordorder.errors import WordorderError
from wordorder.files import sha256, write_json
from wordorder.metrics.base import SystemsMetric, SystemsTask, TextMetric, build, metric
from wordorder.metrics.sacrebleu_metric import SacreBLEUMetric

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as Scorer


def text_metrics(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries of a study's ``metrics`` that this process computes."""
    return [entry for entry in entries if issubclass(metric(metric_name(entry)), TextMetric)]


def system_metrics(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries of a study's ``metrics`` that are computed in separate environments."""
    return [entry for entry in entries if not issubclass(metric(metric_name(entry)), TextMetric)]


def build_metric(name: str, target_language: str) -> Scorer:
    """Return sacreBLEU's object for one of its metrics, for scores and analyses."""
    found = build(name, target_language)
    if not isinstance(found, SacreBLEUMetric):
        raise WordorderError(f"sacreBLEU does not compute the metric '{name}'.", code="unknown-metric", found=name)
    return found.scorer


def score(
    hypotheses: Sequence[str], references: Sequence[str], metrics: Sequence[Entry], target_language: str
) -> dict[str, Any]:
    """Score a corpus by each metric.

    Args:
        hypotheses: Detokenised translations. For a diverged training there are none, and the scores are None.
        references: As many detokenised references.
        metrics: Entries of a study's ``metrics``.
        target_language: The language of both.

    Returns:
        ``{metric: {score, signature, details, segment_signature, segment_scores}}``.

    Raises:
        WordorderError: A score is not a finite number.
    """
    return {metric_name(entry): _score_one(hypotheses, references, entry, target_language) for entry in metrics}


def _score_one(hypotheses: Sequence[str], references: Sequence[str], entry: Entry, language: str) -> dict[str, Any]:
    metric = build(entry, language)
    if not isinstance(metric, TextMetric):
        raise WordorderError(
            f"The metric '{metric.name}' scores in a separate environment: use 'wordorder stage score-systems'.",
            code="wrong-command",
            found=metric.name,
        )
    if not hypotheses:
        return {"score": None, "signature": None, "details": {}, "segment_signature": None, "segment_scores": []}
    value, details = metric.corpus_score(hypotheses, references)
    if not math.isfinite(value):
        raise WordorderError(
            f"The {metric.label} score is {value}, but must be a finite number. Correct the metric '{metric.name}' or "
            "remove it from the study.",
            code="score-not-finite",
            key=metric.name,
            found=value,
            expected="a finite number",
        )
    segments = metric.segment_scores(hypotheses, references)
    return {
        "score": value,
        "signature": metric.signature,
        "details": details,
        "segment_signature": metric.segment_signature,
        "segment_scores": segments,
    }


def read_pair(hypotheses: str | Path, references: str | Path) -> tuple[list[str], list[str]]:
    """Read both files as lists of lines.

    Raises:
        WordorderError: There are no references, or their number differs from that of the hypotheses, if there are any.
    """
    lines, wanted = list(read_lines(hypotheses)), list(read_lines(references))
    if not wanted:
        raise WordorderError(
            f"{references} has no lines, so there is nothing to score {hypotheses} against.",
            code="no-references",
            path=references,
        )
    if lines and len(lines) != len(wanted):
        raise WordorderError(
            f"{hypotheses} has {len(lines)} lines but its references {references} have {len(wanted)}. "
            "Line i of one must be the translation of line i of the other: translate the test set again.",
            code="different-lengths",
            path=hypotheses,
            found=len(lines),
            expected=len(wanted),
        )
    return lines, wanted


def score_files(
    hypotheses: str | Path, references: str | Path, metrics: Sequence[Entry], target_language: str
) -> dict[str, Any]:
    """Score one file against another and record the inputs, as :func:`score` does for lists."""
    lines, wanted = read_pair(hypotheses, references)
    return {
        "status": "scored" if lines else "no hypotheses",
        "target_language": target_language,
        "hypotheses": {"lines": len(lines), "sha256": sha256(hypotheses)},
        "references": {"lines": len(wanted), "sha256": sha256(references)},
        "metrics": score(lines, wanted, metrics, target_language),
    }


def score_translation(*, config: Scoring, hypotheses: Path, references: Path) -> dict[str, Any]:
    r"""Score a translation by each metric of a study.

    Write scores, signatures and the score of each sentence. An empty file of hypotheses (a diverged training) has
    scores of null.

    Example:
        wordorder stage score --config SLICE --hypotheses test.hypotheses --references test.target \
            --output test.scores.json

    Args:
        config: The metrics and the target language.
        hypotheses: The detokenised translations, one line per sentence.
        references: The detokenised references, one line per sentence.
    """
    return score_files(hypotheses, references, config.metrics, config.target_language)


def score_systems(
    hypotheses: Sequence[Path],
    /,
    *,
    config: SystemsScoring,
    source: Path,
    references: Path,
    cache: Path | None = None,
    python: Path | None = None,
    batch_size: int = 16,
    output: Path,
) -> None:
    r"""Score translations by a metric with a separate environment, such as COMET.

    Score any number of translations of one source text in one process of the metric's own environment. If this
    environment or a model is missing, the output says so and names the remedy.

    Example:
        wordorder stage score-systems --config SLICE --source test.source --references test.target \
            --output comet.json a b c

    Args:
        hypotheses: The translations, with as many lines as the source.
        config: The metric and the target language.
        source: The detokenised source text, one line per sentence.
        references: The detokenised references, one line per sentence.
        cache: The folder of known scores; by default 'cache' in the folder of the output.
        python: The Python of the metric's environment.
        batch_size: The sentences per batch.
        output: The JSON to write.
    """
    found = build(config.metric, config.target_language)
    if not isinstance(found, SystemsMetric):
        raise WordorderError(
            f"The metric '{found.name}' needs no separate environment: use 'wordorder stage score'.",
            code="wrong-command",
            found=found.name,
        )
    task = SystemsTask(source, references, hypotheses, cache or output.parent / "cache", python, batch_size)
    result = found.score_systems(task)
    if result["status"] != "scored":
        print(f"{found.label}: not scored. {result['reason']} {result['how']}", file=sys.stderr)
    write_json(output, {"metric": found.name} | result)
