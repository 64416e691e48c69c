"""Score translations with the metrics that this process computes itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordorder.config.models import Metric as Entry
from wordorder.config.models import SystemsScoring, metric_name
from wordorder.data.text import read_lines
from wordorder.errors import WordorderError
from wordorder.files import sha256
from wordorder.metrics.base import SystemsMetric, SystemsTask, TextMetric, build, metric
from wordorder.metrics.sacrebleu_metric import SacreBLEUMetric

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as Scorer


def text_metrics(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries of a study's ``metrics`` that this process computes itself."""
    return [entry for entry in entries if issubclass(metric(metric_name(entry)), TextMetric)]


def system_metrics(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries of a study's ``metrics`` that are computed in environments of their own."""
    return [entry for entry in entries if not issubclass(metric(metric_name(entry)), TextMetric)]


def build_metric(name: str, target_language: str) -> Scorer:
    """Return sacreBLEU's object for one of its metrics, as scores and analyses use it."""
    found = build(name, target_language)
    if not isinstance(found, SacreBLEUMetric):
        raise WordorderError(f"sacreBLEU does not compute the metric '{name}'.", code="unknown-metric", found=name)
    return found.scorer


def score(
    hypotheses: Sequence[str], references: Sequence[str], metrics: Sequence[Entry], target_language: str
) -> dict[str, Any]:
    """Score a corpus by each metric.

    Args:
        hypotheses: Detokenised translations; none if there was no model to translate with (its training diverged), in
            which case the scores are None.
        references: As many detokenised references.
        metrics: Entries of a study's ``metrics``.
        target_language: The language of both.

    Returns:
        ``{metric: {score, signature, details, segment_signature, segment_scores}}``.
    """
    if not references:
        raise WordorderError("There are no references, so there is nothing to score against.", code="no-references")
    if hypotheses and len(hypotheses) != len(references):
        raise WordorderError(
            f"There are {len(hypotheses)} hypotheses for {len(references)} references; "
            "each reference needs one hypothesis, on the same line.",
            code="different-lengths",
        )
    return {metric_name(entry): _score_one(hypotheses, references, entry, target_language) for entry in metrics}


def _score_one(hypotheses: Sequence[str], references: Sequence[str], entry: Entry, language: str) -> dict[str, Any]:
    metric = build(entry, language)
    if not isinstance(metric, TextMetric):
        raise WordorderError(
            f"The metric '{metric.name}' scores in an environment of its own: use 'wordorder stage score-systems'.",
            code="wrong-command",
            found=metric.name,
        )
    if not hypotheses:
        return {"score": None, "signature": None, "details": {}, "segment_signature": None, "segment_scores": []}
    value, details = metric.corpus_score(hypotheses, references)
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
    """Score one file against another, and record what was scored, as :func:`score` does for lists."""
    lines, wanted = read_pair(hypotheses, references)
    return {
        "status": "scored" if lines else "no hypotheses",
        "target_language": target_language,
        "hypotheses": {"lines": len(lines), "sha256": sha256(hypotheses)},
        "references": {"lines": len(wanted), "sha256": sha256(references)},
        "metrics": score(lines, wanted, metrics, target_language),
    }


def score_systems(scoring: SystemsScoring, task: SystemsTask) -> dict[str, Any]:
    """Score many translations by one metric that has an environment of its own."""
    found = build(scoring.metric, scoring.target_language)
    if not isinstance(found, SystemsMetric):
        raise WordorderError(
            f"The metric '{found.name}' needs no environment of its own: use 'wordorder stage score'.",
            code="wrong-command",
            found=found.name,
        )
    return {"metric": found.name} | found.score_systems(task)
