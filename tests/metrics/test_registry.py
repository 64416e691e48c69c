"""Every metric declares what scores, tests and tables need."""

from __future__ import annotations

import pytest

from raises import raises
from wordorder.metrics.base import REGISTRY, SystemsMetric, TextMetric, build, metric, register


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


@pytest.mark.parametrize(("decomposes", "missing"), [(True, ["statistics", "score"]), (False, ["corpus_score"])])
def test_a_metric_without_its_methods_is_refused_when_it_registers(decomposes: bool, missing: list[str]) -> None:
    class Lacking(TextMetric):
        label = "Lacking"
        signature = "none"

    Lacking.decomposes = decomposes
    with raises("incomplete-metric", key="lacking", found=missing):
        register("lacking")(Lacking)
    assert "lacking" not in REGISTRY


def test_a_metric_without_label_and_signature_is_refused_when_it_registers() -> None:
    class Lacking(TextMetric):
        decomposes = False

        def corpus_score(self, hypotheses, references):  # type: ignore[no-untyped-def]
            return 0.0, []

    with raises("incomplete-metric", key="lacking", found=["label", "signature"]):
        register("lacking")(Lacking)
