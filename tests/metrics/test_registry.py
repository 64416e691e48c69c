"""What a metric is stands in its file only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from wordorder.metrics.base import REGISTRY, SystemsMetric, TextMetric, build, metric

PACKAGE = Path(__file__).parents[2] / "src" / "wordorder"
# Analyses that compare metrics, or measure by one of them, name it.
ELSEWHERE = sorted(path for path in PACKAGE.rglob("*.py") if path.parent.name not in ("metrics", "analyses"))
DEFAULT = {"bleu", "chrf++"}


@pytest.mark.parametrize("path", ELSEWHERE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_other_module_names_a_metric(path: Path) -> None:
    constants = (
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Constant)
    )
    named = {node.value for node in constants if isinstance(node.value, str)} & set(REGISTRY.names())
    assert named == (DEFAULT if path.name == "models.py" and path.parent.name == "config" else set())


@pytest.mark.parametrize("name", REGISTRY.names())
def test_every_metric_declares_what_tables_need(name: str) -> None:
    declared = metric(name)
    assert issubclass(declared, TextMetric | SystemsMetric) and declared.label and declared.digits > 0
    built = build(name, "de")
    assert built.name == name and built.settings == declared.Settings()
    if isinstance(built, TextMetric) and built.decomposes:
        lines, references = ["der Hund läuft", "ein Ball"], ["der Hund lief", "ein Ball"]
        statistics = built.statistics(lines, references)
        assert len(statistics) == 2
        # What resampling tests and what the table of scores shows is the same number.
        score, _ = built.corpus_score(lines, references)
        assert built.measure.of(statistics) == pytest.approx(score)
        assert built.measure.lower_is_better == built.lower_is_better
