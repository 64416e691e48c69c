"""Tests of scores, parameters, memory and word alignments of a study, in the papers' units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evaluation_samples import report
from index_samples import index_cells
from wordorder.config.published_scores import PublishedInStudy, PublishedScores, Shown
from wordorder.errors import WordorderError
from wordorder.files import write_json
from wordorder.published.quantities import load_printed
from wordorder.report import build
from wordorder.results.frames import systems_path

ASKED = report(["sinusoidal", "opr"], [1, 2], tests=("test",)).model_copy(update={"metrics": ["bleu"]})
SHOWN = Shown(table="t", datasets={"big": "pair"}, tests={"news": "test", "rwth": "other100"}, sizes={"base": "tiny"})


def printed(*columns: tuple[str, str | None]) -> PublishedScores:
    """A table with a column for each metric and test."""
    number = len(columns)
    return PublishedScores.model_validate(
        {
            "name": "t",
            "paper": "A paper",
            "table": "1",
            "baseline": "APE",
            "computed": "once",
            "columns": [
                {"column": metric, "dataset": "big", "test": test, "metric": metric} for metric, test in columns
            ],
            "rows": [
                {"row": "APE", "encoding": "sinusoidal", "size": "base", "scores": [1.0] * number},
                {"row": "OPR", "encoding": "opr", "size": "base", "scores": [2.0] * number},
            ],
        }
    )


def write(results: Path, encoding: str, seed: int, memory: int | None, alignment: dict[str, Any] | None) -> None:
    folder = results / "cells/pair" / encoding / "tiny" / str(seed)
    used = {"memory_bytes": 9_000_000_000, "gpu_memory_bytes": memory}
    write_json(
        folder / "record.json", {"status": "finished", "parameters": {"total": 1_234_567}, "efficiency": {"used": used}}
    )
    metrics = {"bleu": {"score": 20.0 + seed, "signature": "s"}}
    write_json(folder / "test.scores.json", {"status": "scored", "metrics": metrics, "hypotheses": {"sha256": "x"}})
    if alignment is not None:
        sets = {"gold.other100": alignment, "test": {**alignment, "aer": 0.5}}
        write_json(folder / "alignment.json", {"sets": sets})


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """The second seed of 'opr' was not run, and its first was on a processor."""
    measured = {"status": "measured", "aer": 0.25, "precision": 0.75, "recall": 0.125}
    index_cells(tmp_path, ASKED)
    write(tmp_path, "sinusoidal", 1, 6_400_000_000, measured)
    write(tmp_path, "sinusoidal", 2, 6_600_000_000, {"status": "not a number", "aer": None})
    write(tmp_path, "opr", 1, None, None)
    return tmp_path


def found(frame: pd.DataFrame, metric: str) -> list[tuple[str, str, int, float | None, str]]:
    rows = frame[frame["metric"] == metric]
    return [
        (row.test, row.encoding, row.seed, None if pd.isna(row.score) else pytest.approx(row.score), row.status)
        for row in rows.itertuples()
    ]


def test_quantities_have_the_same_form_as_scores(results: Path) -> None:
    tables = [(SHOWN, printed(("parameters", None), ("memory", None), ("aer", "rwth"), ("recall", "rwth")))]
    frame = load_printed(ASKED, results, tables)
    assert [row[3] for row in found(frame, "bleu")] == [21.0, 22.0, 21.0, None]
    assert found(frame, "parameters") == [
        ("", "sinusoidal", 1, 1.234567, "measured"),
        ("", "sinusoidal", 2, 1.234567, "measured"),
        ("", "opr", 1, 1.234567, "measured"),
    ]
    assert found(frame, "memory") == [
        ("", "sinusoidal", 1, 6.4, "measured"),
        ("", "sinusoidal", 2, 6.6, "measured"),
        ("", "opr", 1, None, "not measured"),
    ]
    assert found(frame, "aer") == [
        ("other100", "sinusoidal", 1, 25.0, "measured"),
        ("other100", "sinusoidal", 2, None, "not measured"),
        ("other100", "opr", 1, None, "not measured"),
    ]
    assert found(frame, "recall")[0] == ("other100", "sinusoidal", 1, 12.5, "measured")
    assert "precision" not in set(frame["metric"]), "no table asks for it"
    assert (frame["dataset"] == "pair").all() and (frame["size"] == "tiny").all()


def test_the_links_of_a_generated_test_set_are_its_own(results: Path) -> None:
    frame = load_printed(ASKED, results, [(SHOWN, printed(("aer", "news")))])
    assert found(frame, "aer")[0] == ("test", "sinusoidal", 1, 50.0, "measured")


def test_without_such_columns_there_are_only_scores(results: Path) -> None:
    assert set(load_printed(ASKED, results, [(SHOWN, printed(("bleu", "news")))])["metric"]) == {"bleu"}
    elsewhere = Shown(table="t", datasets={"big": "elsewhere"})
    assert set(load_printed(ASKED, results, [(elsewhere, printed(("memory", None)))])["metric"]) == {"bleu"}


def test_comet_is_from_0_to_100_as_in_papers(results: Path) -> None:
    system = {"score": 0.8198, "segment_scores": []}
    scored = {"status": "scored", "signature": "m", "systems": {"x": system}}
    write_json(systems_path(results, "comet", "pair", "tiny", "test"), scored)
    asked = ASKED.model_copy(update={"metrics": [*ASKED.metrics, "comet"]})
    frame = load_printed(asked, results)
    assert found(frame, "comet")[0][3] == pytest.approx(81.98) and found(frame, "bleu")[0][3] == 21.0


def test_the_tables_take_what_each_needs(results: Path) -> None:
    shown = [PublishedInStudy(shown=SHOWN, printed=printed(("bleu", "news"), ("aer", "rwth"), ("memory", None)))]
    published = build.build_table("published", ASKED, results, shown).data
    assert set(published["metric"]) == {"bleu", "aer", "memory"}
    assert published.set_index(["row", "metric"]).loc[("OPR", "aer"), "status"] == "not measured"
    assert published.set_index(["row", "metric"]).loc[("OPR", "memory"), "status"] == "not measured"
    assert published.set_index(["row", "metric"]).loc[("APE", "memory"), "status"] == "another size"
    tested = {"size": "tiny", "test": "test", "cells": [], "metrics": {}, "not_scored": []}
    write_json(results / "significance" / "pair.tiny.test.json", tested)
    orderings = build.build_table("orderings", ASKED, results, shown).data
    assert set(orderings["metric"]) == {"bleu"}, "neither errors nor memory are scores"


@pytest.mark.parametrize("name", ["published", "orderings"])
def test_a_study_without_published_scores_has_no_such_table(results: Path, name: str) -> None:
    with pytest.raises(WordorderError) as raised:
        build.build_table(name, ASKED, results)
    assert (raised.value.code, raised.value.key) == ("no-published-scores", "published")


def test_marks_need_the_tests_of_significance(results: Path) -> None:
    table = printed(("bleu", "news"))
    marked = PublishedScores.model_validate({**table.model_dump(), "marks_mean": {"+": 0.1}})
    entry = {"system": "opr", "baseline": "sinusoidal", "stratified": {"p": 0.01}}
    entry |= {"t_test": {"mean_difference": 1.0}, "seeds": [{"bootstrap": {"p": 0.5}}] * 2}
    tested = {
        "size": "tiny",
        "test": "test",
        "cells": [],
        "not_scored": [],
        "metrics": {"bleu": {"comparisons": [entry]}},
    }
    write_json(results / "significance/pair.tiny.test.json", tested)
    for each, mark in ((table, ""), (marked, "+")):
        shown = [PublishedInStudy(shown=SHOWN, printed=each)]
        data = build.build_table("published", ASKED, results, shown).data.set_index("row")
        assert data.loc["OPR", "mark"] == mark and data.loc["APE", "mark"] == ""
