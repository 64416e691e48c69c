"""Tests of published numbers: the tables of published/scores.yaml, and the counts from parameters.yaml."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from raises import raises
from snakemake_runs import ROOT
from wordorder.config.load import load_encodings, load_published, load_published_scores, load_sizes
from wordorder.config.published_scores import PublishedScores

CONFIG = ROOT / "config"
TABLES = {table.name: table for table in load_published_scores(CONFIG)}


def printed(name: str, row: str) -> list[float | None]:
    return next(own for own in TABLES[name].rows if own.row == row).scores


def test_the_shipped_tables_name_what_is_there() -> None:
    encodings, sizes = load_encodings(CONFIG), load_sizes(CONFIG)
    assert {"posnet_table3", "xlpe_table3", "opr_table4_deep", "opr_table4_big", "opr_table6"} <= set(TABLES)
    for table in TABLES.values():
        for column in table.columns:
            assert (CONFIG / f"datasets/{column.dataset}.yaml").is_file(), f"{table.name}, {column.column}"
        for row in table.rows:
            assert row.encoding in encodings and row.size in sizes, f"{table.name}, {row.row}"


def test_a_column_of_parameters_holds_the_counts_of_the_other_file() -> None:
    for counted in load_published(CONFIG):
        found = [table for table in TABLES.values() if (table.paper, table.table) == (counted.paper, counted.table)]
        for table in found:
            (place,) = [index for index, column in enumerate(table.columns) if column.metric == "parameters"]
            assert [row.row for row in table.rows] == [row.row for row in counted.rows]
            for row, count in zip(table.rows, counted.rows, strict=True):
                assert (row.encoding, row.size) == (count.encoding, count.size)
                wanted = float(count.printed)
                assert (row.score(place), row.gap(place)) == ((wanted, None) if count.base is None else (None, wanted))
    assert sum(table.has_counts for table in TABLES.values()) == 3
    assert printed("posnet_table1", "PosNet-Embed") == [27.68, 54.05, 40.81, 62.33, 66.49]
    assert printed("xlpe_table4", "LSTM (6 layers)") == [24.12, 178.90]


def test_marks_gaps_and_other_quantities_are_as_the_papers_print_them() -> None:
    marked = {(table.name, row.row): row.marks for table in TABLES.values() for row in table.rows if any(row.marks)}
    assert marked == {
        ("posnet_table1", "PosNet-Embed"): [None, None, "++", "++", None],
        ("posnet_table2", "PosNet"): ["++", "++", "+", None],
        ("xlpe_table1", "+ Combination"): ["↑", None],
        ("xlpe_table2", "+ Combination"): ["↑", "↑", "↑"],
    }
    assert TABLES["posnet_table1"].marks_mean == {"++": 0.05, "+": 0.10}
    assert TABLES["xlpe_table2"].marks_mean == {"↑": 0.01}
    gaps = {name: table.rows[1].gaps for name, table in TABLES.items() if name.startswith("opr_table4")}
    assert gaps == {
        "opr_table4_deep": [0.05, 0.12],
        "opr_table4_deep_rpr": [0.25, 0.29],
        "opr_table4_big": [],
        "opr_table4_big_rpr": [],
    }
    big = {name: TABLES[name].printed_gap(TABLES[name].rows[1], 0) for name in ("opr_table4_big", "opr_table4_big_rpr")}
    assert big == pytest.approx({"opr_table4_big": 0.46, "opr_table4_big_rpr": 0.07})
    assert TABLES["opr_table4_big"].rows[0].derived and TABLES["opr_table4_big"].rows[0].scores == [27.27, 83.80]
    assert printed("opr_table3_base", "OPR with RPR") == [26.46, 82.95, None, None]
    runs = [row.runs[0] for row in TABLES["opr_table6"].rows]
    assert [round(sum(own) / 5, 2) for own in runs] == [27.25, 27.70]
    assert [row.scores for row in TABLES["xlpe_table1"].copied][1] == [28.98, 323.5]
    assert printed("posnet_table3", "RPE") == [6.8, 10.6]
    assert printed("xlpe_table3", "+ Combination") == [24.7, 75.0, 77.6]


TABLE: dict[str, Any] = {
    "name": "t",
    "paper": "A paper",
    "table": "1",
    "baseline": "APE",
    "computed": "once",
    "marks_mean": {"+": 0.1},
    "columns": [{"column": "BLEU", "dataset": "d", "test": "t", "metric": "bleu"}],
    "rows": [
        {"row": "APE", "encoding": "sinusoidal", "size": "base", "scores": [27.0]},
        {"row": "OPR", "encoding": "opr", "size": "base", "scores": [28.0]},
    ],
}


def table(ape: dict[str, Any], opr: dict[str, Any], **column: Any) -> PublishedScores:
    rows = [{**row, **own} for row, own in zip(TABLE["rows"], (ape, opr), strict=True)]
    return PublishedScores.model_validate({**TABLE, "rows": rows, "columns": [{**TABLE["columns"][0], **column}]})


def test_a_gap_is_printed_or_made_of_two_scores() -> None:
    for made in (
        table({}, {}),
        table({}, {"scores": [None], "gaps": [1.0]}),
        table({"scores": []}, {"gaps": [1.0], "scores": []}),
    ):
        ape, opr = made.rows
        assert made.printed_gap(opr, 0) == 1.0 and made.printed_gap(ape, 0) is None
    blank = table({}, {"scores": [None]})
    assert blank.printed_gap(blank.rows[1], 0) is None


def test_numbers_that_differ_as_the_rows_do() -> None:
    def found(made: PublishedScores) -> dict[str, float]:
        return {row.row: value for row, value in made.in_order(0)}

    assert found(table({}, {})) == {"APE": 27.0, "OPR": 28.0}
    assert found(table({}, {"scores": [], "gaps": [0.5]})) == {"APE": 27.0, "OPR": 27.5}
    assert found(table({"scores": []}, {"scores": [], "gaps": [-0.5]})) == {"APE": 0.0, "OPR": -0.5}
    assert found(table({}, {"scores": [None]})) == {"APE": 27.0}


@pytest.mark.parametrize(
    ("ape", "opr", "column", "named"),
    [
        ({}, {"scores": [28.0, 29.0]}, {}, ["'OPR'", "2 scores", "1 columns"]),
        ({}, {"gaps": [1.0, 2.0]}, {}, ["'OPR'", "2 gaps", "1 columns"]),
        ({}, {"marks": ["+", None]}, {}, ["'OPR'", "2 marks", "1 columns"]),
        ({}, {"scores": []}, {}, ["'OPR'", "'scores'", "'gaps'"]),
        ({}, {"marks": ["*"]}, {}, ["'OPR'", "'*'", "'marks_mean'"]),
        ({"gaps": [0.0]}, {}, {}, ["'APE'", "'gaps'"]),
        ({}, {"gaps": [1.0]}, {}, ["'OPR'", "'BLEU'"]),
        ({}, {"row": "APE"}, {}, ["'APE'"]),
        ({"row": "LPE"}, {}, {}, ["'APE'"]),
        ({}, {}, {"test": None}, ["'test'"]),
        ({}, {}, {"metric": "memory"}, ["'test'", "'memory'"]),
    ],
)
def test_mistakes_are_reported(
    ape: dict[str, Any], opr: dict[str, Any], column: dict[str, Any], named: list[str]
) -> None:
    with pytest.raises(ValidationError) as caught:
        table(ape, opr, **column)
    (error,) = caught.value.errors()
    assert error["loc"] == (("columns", 0) if column else ()), "the table or its column, no single value"
    assert all(name in error["msg"] for name in named)


def test_gaps_with_scores_need_the_score_of_the_baseline() -> None:
    third = {"row": "RPE", "encoding": "relative", "size": "base", "gaps": [1.0]}
    rows = [{**TABLE["rows"][0], "scores": []}, TABLE["rows"][1], third]
    with pytest.raises(ValidationError) as caught:
        PublishedScores.model_validate({**TABLE, "rows": rows})
    (error,) = caught.value.errors()
    assert "'BLEU'" in error["msg"] and "baseline" in error["msg"]


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        (
            "scores",
            "[13.49, 43.99, 22.59, 51.45, null]",
            "[13.49]",
            {"code": "invalid-value", "line": 15, "key": "[0]"},
        ),
        (
            "scores",
            "22.59, 51.45, null]",
            "22.59, 51.45, 63.08]",
            {"code": "inconsistent-keys", "key": "posnet_table1"},
        ),
        (
            "parameters",
            "paper: PosNet (2023)",
            "paper: PosNet",
            {"code": "missing-table", "key": "posnet_table1"},
        ),
        (
            "parameters",
            "row: PosNet-Embed",
            "row: PosNet",
            {"code": "unknown-name", "key": "posnet_table1"},
        ),
        (
            "scores",
            "baseline: BIG-noEnc-noPos",
            "baseline: LSTM (6 layers)",
            {"code": "inconsistent-keys", "key": "xlpe_table4"},
        ),
    ],
)
def test_mistakes_in_the_files_are_reported(
    tmp_path: Path, file: str, old: str, new: str, problem: dict[str, Any]
) -> None:
    shutil.copytree(CONFIG / "published", tmp_path / "published")
    path = tmp_path / f"published/{file}.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with raises(**problem):
        load_published_scores(tmp_path)
