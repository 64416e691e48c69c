"""Every metric declares what scores, tests and tables need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from raises import raises
from wordorder.comparison.paired import Extraction
from wordorder.metrics.base import REGISTRY, SystemsMetric, TextMetric, build, metric, register
from wordorder.metrics.scores import score


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


@pytest.mark.parametrize(
    "statistics",
    [[[1, 2]], [[1, 2], [1]], [1, 2], [["a"], ["b"]], None, [[[1]], [[2]]]],
    ids=["one row", "different lengths", "no rows", "text", "nothing", "three dimensions"],
)
def test_statistics_have_one_row_per_sentence(statistics: object, plugins: Path) -> None:
    own = own_metric(lambda _: statistics)
    lines = ["ein Satz", "ein Ball"]
    with raises("wrong-statistics", path=__file__, key="own", expected="(2, K)"):
        score(lines, lines, ["own"], "de")
    with raises("wrong-statistics", path=__file__, key="own", expected="(2, K)"):
        Extraction(lines, [own]).statistics("own", lines)


def test_the_statistics_of_all_translations_have_as_many_columns(plugins: Path) -> None:
    own = own_metric(lambda lines: [[1.0] * len(lines[0])] * len(lines))
    extraction = Extraction(["a", "b"], [own])
    assert extraction.statistics("own", ["a", "b"]).shape == (2, 1)
    with raises("wrong-statistics", key="own", expected="(2, 1)", says="(2, 3)"):
        extraction.statistics("own", ["abc", "b"])


def own_metric(statistics: Callable[[Sequence[str]], object]) -> TextMetric:
    """Register and build a metric of a user."""

    @register("own")
    class Own(TextMetric):
        label = "Own"
        signature = "own|version:1"

        def statistics(self, hypotheses, references):  # type: ignore[no-untyped-def]
            return statistics(hypotheses)

        def score(self, sums):  # type: ignore[no-untyped-def]
            return float(sums.sum())

    return Own("de", Own.Settings())
