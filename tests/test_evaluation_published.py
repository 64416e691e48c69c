"""Published scores beside ours."""

from __future__ import annotations

import random
from pathlib import Path
from statistics import mean, stdev

import pandas as pd
import pytest

from evaluation_samples import report
from snakemake_runs import ROOT
from wordorder.config.load import load_encodings, load_published_scores, load_sizes
from wordorder.config.published_scores import PublishedScores, Shown
from wordorder.errors import WordorderError
from wordorder.evaluation.published import prediction_interval, published_frame, published_table

PRINTED = PublishedScores.model_validate(
    {
        "name": "paper_table1",
        "paper": "A paper",
        "table": "Table 1",
        "baseline": "APE",
        "computed": "BLEU, one run each",
        "columns": [{"column": "En-De", "dataset": "big", "test": "news", "metric": "bleu"}],
        "rows": [
            {"row": "APE", "encoding": "sinusoidal", "size": "base", "scores": [27.0]},
            {"row": "OPR", "encoding": "opr", "size": "base", "scores": [27.5]},
            {"row": "RPE", "encoding": "relative", "size": "base", "scores": [31.0]},
            {"row": "never", "encoding": "none", "size": "base", "scores": [13.0]},
            {"row": "blank", "encoding": "none", "size": "base", "scores": [None]},
        ],
    }
)


def scores(
    values: dict[str, list[float]], dataset: str = "big", test: str = "news", size: str = "base"
) -> pd.DataFrame:
    rows = [
        {"dataset": dataset, "test": test, "size": size, "encoding": encoding, "seed": seed, "metric": "bleu"}
        | {"score": value}
        for encoding, row in values.items()
        for seed, value in enumerate(row, start=1)
    ]
    return pd.DataFrame(rows)


OURS = {"sinusoidal": [26.9, 27.1, 27.0], "opr": [27.4, 27.7, 27.6], "relative": [27.0, 27.2, float("nan")]}


def test_the_interval_holds_one_more_value_as_often_as_it_says() -> None:
    draw = random.Random(1)
    inside = 0
    for _ in range(4000):
        *seen, new = (draw.gauss(3, 2) for _ in range(4))
        interval = prediction_interval(seen)
        assert interval is not None
        inside += interval[0] <= new <= interval[1]
    assert 0.94 < inside / 4000 < 0.96
    assert prediction_interval([1.0]) is None


def test_a_score_is_held_against_the_spread_of_ours() -> None:
    frame = published_frame(scores(OURS), [(Shown(table="paper_table1"), PRINTED)]).set_index("row")
    assert list(frame.index) == ["APE", "OPR", "RPE", "never"], "what is not printed has no row"
    opr = frame.loc["OPR"]
    assert opr["mean"] == pytest.approx(mean(OURS["opr"])) and opr["sd"] == pytest.approx(stdev(OURS["opr"]))
    assert opr["difference"] == pytest.approx(mean(OURS["opr"]) - 27.5)
    # t(0.975, 2) = 4.302653
    half = 4.302653 * stdev(OURS["opr"]) * (4 / 3) ** 0.5
    assert opr["low"] == pytest.approx(mean(OURS["opr"]) - half, abs=1e-5)
    assert opr["published_gap"] == pytest.approx(0.5) and opr["gap"] == pytest.approx(mean([0.5, 0.6, 0.6]))
    assert frame["status"].to_dict() == {
        "APE": "reproduced within the spread",
        "OPR": "reproduced within the spread",
        "RPE": "not reproduced",
        "never": "not run",
    }
    assert frame.loc["RPE", "n"] == 2


def test_other_data_is_compared_by_its_gaps_alone() -> None:
    shown = Shown(table="paper_table1", datasets={"big": "mini"}, tests={"news": "test"}, sizes={"base": "tiny"})
    frame = published_frame(scores(OURS, "mini", "test", "tiny"), [(shown, PRINTED)]).set_index("row")
    assert frame["difference"].isna().all()
    assert frame["status"].to_dict() == {
        "APE": "–",
        "OPR": "gap within the spread, other data",
        "RPE": "gap outside the spread, other data",
        "never": "not run",
    }


def test_the_table_says_all_of_it() -> None:
    table = published_table(
        scores({"sinusoidal": [27.0], "opr": [27.5]}),
        [(Shown(table="paper_table1"), PRINTED)],
        report(["sinusoidal"], [1, 2]),
    )
    (caption, block), *others = table.blocks
    assert not others and caption.startswith("A paper, Table 1, En-De (BLEU, one run each)")
    assert block["Ours, mean ± sd"].tolist() == ["27.00 (n = 1 of 2)", "27.50 (n = 1 of 2)", "–", "–"]
    assert block["Status"].tolist() == ["no spread to judge by"] * 2 + ["not run"] * 2
    assert set(block["95 % interval"]) == {"–"}
    # t(0.975, 1) = 12.706205, times the root of 3 / 2
    assert "Of 2 seeds the interval reaches 15.6 standard deviations" in table.notes[-1]


def test_the_table_shows_the_interval_that_it_judges_by() -> None:
    table = published_table(scores(OURS), [(Shown(table="paper_table1"), PRINTED)], report(["sinusoidal"], [1, 2, 3]))
    shown = table.blocks[0][1].set_index("System")["95 % interval"]
    middle, half = mean(OURS["opr"]), 4.302653 * stdev(OURS["opr"]) * (4 / 3) ** 0.5
    assert shown["OPR"] == f"{middle - half:.2f} to {middle + half:.2f}" and shown["never"] == "–"


def test_the_shipped_tables_name_what_is_there() -> None:
    encodings, sizes = load_encodings(ROOT / "config"), load_sizes(ROOT / "config")
    tables = load_published_scores(ROOT / "config")
    assert {table.name for table in tables} >= {"posnet_table1", "xlpe_table2", "opr_table6"}
    for table in tables:
        for row in table.rows:
            assert row.encoding in encodings and row.size in sizes, f"{table.name}, {row.row}"


def test_a_row_with_too_few_scores_is_said(tmp_path: Path) -> None:
    (tmp_path / "published").mkdir()
    text = (ROOT / "config/published/scores.yaml").read_text().replace("[13.49, 43.99, 22.59, 51.45]", "[13.49]")
    (tmp_path / "published/scores.yaml").write_text(text)
    with pytest.raises(WordorderError, match="'w/o PE' has 1 scores for 4 columns"):
        load_published_scores(tmp_path)
