"""Tests of published scores compared with ours."""

from __future__ import annotations

import random
from statistics import mean, stdev
from typing import Any

import pandas as pd
import pytest

from evaluation_samples import frame_of, report
from snakemake_runs import ROOT
from wordorder.config.load import load_encodings, load_published_scores, load_sizes
from wordorder.config.pages import PublishedReport
from wordorder.config.published_scores import PublishedScores, Shown
from wordorder.published.marks import OurMarks
from wordorder.published.scores import prediction_interval, published_frame, published_table
from wordorder.tables.table import to_latex
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.study_slices import published_scores_slice

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


def changed(metric: str = "bleu", **rows: dict[str, Any]) -> PublishedScores:
    """The table with one of its rows replaced, or all columns of another metric."""
    data = PRINTED.model_dump()
    data["rows"] = [{**row, **rows.get(row["row"], {})} for row in data["rows"]]
    data["columns"][0] |= {"metric": metric} | ({"test": None} if metric in ("parameters", "memory") else {})
    data["marks_mean"] = {"++": 0.05, "+": 0.10}
    return PublishedScores.model_validate(data)


def scores(
    values: dict[str, list[float]],
    dataset: str = "big",
    test: str = "news",
    size: str = "base",
    metric: str = "bleu",
) -> pd.DataFrame:
    rows = [
        {"dataset": dataset, "test": test, "size": size, "encoding": encoding, "seed": seed, "metric": metric}
        | {"score": value, "status": "scored"}
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


def test_the_interval_of_a_mean_of_several_runs_is_narrower() -> None:
    draw = random.Random(2)
    inside = 0
    for _ in range(4000):
        seen, new = ([draw.gauss(3, 2) for _ in range(5)] for _ in range(2))
        interval = prediction_interval(seen, runs=5)
        assert interval is not None
        inside += interval[0] <= mean(new) <= interval[1]
    assert 0.94 < inside / 4000 < 0.96
    five = PublishedScores.model_validate(PRINTED.model_dump() | {"runs": 5})
    table = published_table(scores(OURS), [(Shown(table="paper_table1"), five)], report(["sinusoidal"], [1, 2, 3]))
    opr = table.data.set_index("row").loc["OPR"]
    assert (opr["low"], opr["high"]) == pytest.approx(prediction_interval(OURS["opr"], 5))
    assert any("would fall (A paper, Table 1: the mean of 5) with" in note for note in table.notes)


def test_a_score_is_compared_with_the_spread_of_ours() -> None:
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


def test_results_on_other_data_are_compared_only_by_gaps() -> None:
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
    first, *others = table.blocks
    caption, block = first.caption, frame_of(first)
    assert not others and caption.startswith("A paper, Table 1, En-De (BLEU, one run each)")
    assert block["Ours, mean ± sd"].tolist() == ["27.00 (n = 1 of 2)", "27.50 (n = 1 of 2)", "–", "–"]
    assert block["Status"].tolist() == ["no spread to judge by"] * 2 + ["not run"] * 2
    assert set(block["95 % interval"]) == {"–"}
    assert not any("standard deviations" in note for note in table.notes), "of the seeds that there are, not asked for"


def test_the_table_shows_the_interval_that_it_judges_by() -> None:
    table = published_table(scores(OURS), [(Shown(table="paper_table1"), PRINTED)], report(["sinusoidal"], [1, 2, 3]))
    shown = frame_of(table.blocks[0]).set_index("System")["95 % interval"]
    middle, half = mean(OURS["opr"]), 4.302653 * stdev(OURS["opr"]) * (4 / 3) ** 0.5
    assert shown["OPR"] == f"{middle - half:.2f} to {middle + half:.2f}" and shown["never"] == "–"
    assert "Of 3 seeds the interval of one run reaches 5.0 standard deviations" in table.notes[-1]


def test_the_shipped_tables_name_what_is_there() -> None:
    encodings, sizes = load_encodings(ROOT / "config"), load_sizes(ROOT / "config")
    tables = load_published_scores(ROOT / "config")
    assert {table.name for table in tables} >= {"posnet_table1", "xlpe_table2", "opr_table6"}
    for table in tables:
        for row in table.rows:
            assert row.encoding in encodings and row.size in sizes, f"{table.name}, {row.row}"


# --------------------------------------------------------------------------------------------------- gaps alone

APE_ALONE: dict[str, Any] = {"APE": {"scores": []}, "RPE": {"scores": [], "gaps": [0.6]}, "never": {"scores": [None]}}


def test_a_printed_difference_without_scores_is_compared_with_ours() -> None:
    printed = changed(**APE_ALONE, OPR={"scores": [], "gaps": [0.5]})
    ours = OURS | {"relative": [29.0, 29.2, 29.1]}
    frame = published_frame(scores(ours), [(Shown(table="paper_table1"), printed)]).set_index("row")
    assert list(frame.index) == ["APE", "OPR", "RPE"], "the baseline, and what is printed"
    assert frame["published"].isna().all() and frame["difference"].isna().all()
    assert frame["mean"].notna().all()
    gaps = [0.5, 0.6, 0.6]
    interval = prediction_interval(gaps)
    opr = frame.loc["OPR"]
    assert opr["published_gap"] == 0.5 and opr["gap"] == pytest.approx(mean(gaps))
    assert (opr["low"], opr["high"]) == pytest.approx(interval)
    assert frame["status"].to_dict() == {
        "APE": "–",
        "OPR": "gap reproduced within the spread",
        "RPE": "gap not reproduced",
    }
    shown = published_table(scores(ours), [(Shown(table="paper_table1"), printed)], report(["sinusoidal"], [1, 2, 3]))
    assert frame_of(shown.blocks[0])["Published"].tolist() == ["–"] * 3
    assert frame_of(shown.blocks[0])["Published gap"].tolist() == ["–", "+0.50", "+0.60"]


def test_a_difference_from_what_was_not_run_is_said_to_be_one() -> None:
    printed = changed(**APE_ALONE, OPR={"scores": [], "gaps": [0.5]})
    frame = published_frame(scores({"opr": OURS["opr"]}), [(Shown(table="paper_table1"), printed)]).set_index("row")
    assert frame["status"].to_dict() == {"APE": "not run", "OPR": "baseline not run", "RPE": "not run"}


def test_diverged_cells_were_run_and_what_shares_no_seed_with_the_baseline_says_so() -> None:
    nan = float("nan")
    ours = scores({"sinusoidal": [nan, nan], "opr": [27.4, nan], "relative": [nan, nan]})
    ours.loc[ours["score"].isna(), "status"] = "diverged"
    ours.loc[(ours["encoding"] == "opr") & (ours["seed"] == 2), "status"] = "not run"
    gaps = changed(**APE_ALONE, OPR={"scores": [], "gaps": [0.5]})
    frame = published_frame(ours, [(Shown(table="paper_table1"), gaps)]).set_index("row")
    assert frame["status"].to_dict() == {"APE": "diverged", "OPR": "baseline diverged", "RPE": "diverged"}
    of_baseline = ours["encoding"] == "sinusoidal"
    ours.loc[of_baseline, "status"] = "not run"
    ours.loc[of_baseline & (ours["seed"] == 2), ["score", "status"]] = [27.0, "scored"]
    frame = published_frame(ours, [(Shown(table="paper_table1"), gaps)]).set_index("row")
    assert frame.loc["OPR", "status"] == "no seed in common with the baseline"


@pytest.mark.parametrize("said", ["diverged", "no hypotheses"])
@pytest.mark.parametrize(("diverged", "status"), [("opr", "diverged"), ("sinusoidal", "baseline diverged")])
def test_a_system_with_one_diverged_run_has_no_verdict(diverged: str, status: str, said: str) -> None:
    ours = scores(OURS)
    one = (ours["encoding"] == diverged) & (ours["seed"] == ours["seed"].max())
    ours.loc[one, ["score", "status"]] = [float("nan"), said]
    printed = changed(**APE_ALONE, OPR={"scores": [], "gaps": [0.5]})
    opr = published_frame(ours, [(Shown(table="paper_table1"), printed)]).set_index("row").loc["OPR"]
    assert opr["status"] == status and opr["mean"] > 0 and opr["n"] == 3 - (diverged == "opr")
    alone = published_frame(ours, [(Shown(table="paper_table1"), PRINTED)]).set_index("row").loc["OPR"]
    assert (alone["status"] == "diverged") == (diverged == "opr")


def test_what_was_scored_by_other_metrics_was_run() -> None:
    frame = published_frame(scores(OURS), [(Shown(table="paper_table1"), changed("comet"))]).set_index("row")
    assert frame["status"].to_dict() == dict.fromkeys(["APE", "OPR", "RPE"], "not scored") | {"never": "not run"}


def test_a_column_of_which_the_study_has_no_data_keeps_the_papers_names() -> None:
    shown = Shown(table="paper_table1", tests={"news": "captions"}, sizes={"base": "tiny"})
    frame = published_frame(scores(OURS, "mini", "captions", "tiny"), [(shown, PRINTED)])
    assert set(zip(frame["dataset"], frame["test"], frame["size"], strict=True)) == {("big", "news", "base")}
    assert set(frame["status"]) == {"not run"}


# -------------------------------------------------------------------------------------- parameters, memory, alignments


def counted(
    values: dict[str, float], shown: Shown, *, dataset: str = "big", size: str = "base", **rows: dict[str, Any]
) -> pd.Series[str]:
    """The statuses of counts, which are the same for both seeds."""
    ours = {name: [value, value] for name, value in values.items()}
    frame = scores(ours, dataset, "", size, "parameters")
    return published_frame(frame, [(shown, changed("parameters", **rows))]).set_index("row")["status"]


def test_a_count_is_as_printed_to_the_last_digit_or_not() -> None:
    shown = Shown(table="paper_table1")
    assert counted({"sinusoidal": 27.004, "opr": 27.4951, "relative": 30.994}, shown).to_dict() == {
        "APE": "as printed",
        "OPR": "as printed",
        "RPE": "not as printed",
        "never": "not run",
    }
    more = {"OPR": {"scores": [], "gaps": [0.5]}, "RPE": {"scores": [], "gaps": [4.0]}}
    found = counted({"sinusoidal": 27.2, "opr": 27.704, "relative": 31.206}, shown, **more)
    assert found.drop("never").to_dict() == {
        "APE": "not as printed",
        "OPR": "gap as printed",
        "RPE": "gap not as printed",
    }


def test_a_count_on_other_data_is_compared_by_its_gap_and_one_of_another_size_is_not() -> None:
    shown = Shown(table="paper_table1", datasets={"big": "mini"})
    ours = {"sinusoidal": 5.0, "opr": 5.5, "relative": 5.6}
    assert counted(ours, shown, dataset="mini").to_dict() == {
        "APE": "–",
        "OPR": "gap as printed, other data",
        "RPE": "gap not as printed, other data",
        "never": "not run",
    }
    shown = Shown(table="paper_table1", sizes={"base": "tiny"})
    assert set(counted(ours, shown, size="tiny").drop("never")) == {"another size"}


def test_counts_have_no_spread_and_what_is_not_measured_is_said() -> None:
    ours = scores({"sinusoidal": [27.0, 27.0], "opr": [float("nan")] * 2}, test="", metric="parameters")
    ours.loc[ours["score"].isna(), "status"] = "not measured"
    printed = changed("parameters")
    table = published_table(ours, [(Shown(table="paper_table1"), printed)], report(["sinusoidal"], [1, 2]))
    (only,) = table.blocks
    caption, block = only.caption, frame_of(only)
    assert caption == "A paper, Table 1, En-De (trainable parameters in millions); ours: big, base, parameters."
    assert block["Ours, mean ± sd"].tolist()[:2] == ["27.00 (n = 2)", "–"]
    assert block["Status"].tolist()[:2] == ["as printed", "not measured"]
    assert set(block["95 % interval"]) == {"–"}
    assert any(note.startswith("Parameters") for note in table.notes)


def test_a_score_of_comet_that_is_not_there_is_said() -> None:
    ours = scores({"sinusoidal": [float("nan")]}, metric="comet").assign(status="not scored")
    frame = published_frame(ours, [(Shown(table="paper_table1"), changed("comet"))]).set_index("row")
    assert frame["status"].to_dict() == dict.fromkeys(["APE"], "not scored") | dict.fromkeys(
        ["OPR", "RPE", "never"], "not run"
    )


# ---------------------------------------------------------------------------------------------------------- marks


def compared(change: float, p: float, baseline: str = "sinusoidal", seeds: int = 2) -> OurMarks:
    """What the tests say of OPR."""
    row = {"bootstrap": {"p": 0.5 if seeds > 1 else p}}
    entry = {
        "system": "opr",
        "baseline": baseline,
        "t_test": {"mean_difference": change},
        "stratified": {"p": p if seeds > 1 else 0.5},
        "seeds": [row] * seeds + [{"bootstrap": None}],
    }
    metrics = {metric: {"comparisons": [entry]} for metric in ("bleu", "ter")}
    return OurMarks([{"dataset": "big", "size": "base", "test": "news", "metrics": metrics}])


@pytest.mark.parametrize(
    ("ours", "mark"),
    [
        (compared(0.5, 0.049), " ++"),
        (compared(0.5, 0.05), " +"),
        (compared(0.5, 0.1), ""),
        (compared(-0.5, 0.001), ""),
        (compared(0.5, 0.001, baseline="none"), ""),
        (compared(0.5, 0.049, seeds=1), " ++"),
        (OurMarks([]), ""),
    ],
)
def test_ours_has_a_mark_where_the_comparison_was_run_and_found_it_better(ours: OurMarks, mark: str) -> None:
    printed = changed(OPR={"marks": ["+"]})
    table = published_table(
        scores(OURS), [(Shown(table="paper_table1"), printed)], report(["sinusoidal"], [1, 2, 3]), ours
    )
    block = frame_of(table.blocks[0]).set_index("System")
    assert block.loc["OPR", "Published"] == "27.50+" and block.loc["APE", "Published"] == "27.00"
    assert block.loc["OPR", "Ours, mean ± sd"] == f"27.57 ± 0.15 (n = 3){mark}"
    assert block.loc["APE", "Ours, mean ± sd"] == "27.00 ± 0.10 (n = 3)"
    (note,) = [note for note in table.notes if note.startswith("Marks")]
    assert "A paper, Table 1: ++ p < 0.05, + p < 0.10" in note and "bootstrap" in note


@pytest.mark.parametrize("diverged", ["opr", "sinusoidal"])
def test_ours_has_no_mark_where_a_training_diverged(diverged: str) -> None:
    cells = scores(OURS)
    lost = (cells["encoding"] == diverged) & (cells["seed"] == 3)
    cells.loc[lost, ["score", "status"]] = [float("nan"), "diverged"]
    shown = [(Shown(table="paper_table1"), changed())]
    assert set(published_frame(scores(OURS), shown, compared(0.5, 0.001))["mark"]) == {"", "++"}
    assert set(published_frame(cells, shown, compared(0.5, 0.001))["mark"]) == {""}


def test_less_is_better_of_a_metric_that_counts_errors() -> None:
    place, marks = ("big", "news", "base"), {"+": 0.10}
    assert compared(-0.5, 0.01).mark(place, "ter", "opr", "sinusoidal", marks) == "+"
    assert compared(0.5, 0.01).mark(place, "ter", "opr", "sinusoidal", marks) == ""


def test_the_shipped_tables_are_set_by_latex() -> None:
    shown = [(Shown(table=table.name), table) for table in load_published_scores(ROOT / "config")]
    latex = to_latex(published_table(scores(OURS), shown, report(["sinusoidal"], [1, 2, 3])))
    assert latex.isascii()
    assert r"29.05$\uparrow$" in latex and "40.81++" in latex and r"\#Param." in latex


def test_a_table_without_marks_has_none_of_ours() -> None:
    frame = published_frame(scores(OURS), [(Shown(table="paper_table1"), PRINTED)], compared(0.5, 0.001))
    assert set(frame["mark"]) == set(frame["published_mark"]) == {""}


# ------------------------------------------------------------------------------------------------ the shipped tables


@pytest.mark.parametrize("name", ["posnet", "posnet_big", "opr_k"])
def test_who_has_the_printed_scores_has_reproduced_them(name: str) -> None:
    """The datasets of the tables are those of the study that reproduces them."""
    configuration = Configuration(ROOT / "config")
    study = configuration.study(name)
    asked = PublishedReport.model_validate_json(published_scores_slice(study, configuration))
    tables = [(each.shown, each.printed) for each in asked.published]
    ours = pd.concat(
        scores({row.encoding: [score - 0.1, score, score + 0.1]}, dataset, test, row.size, column.metric)
        for _, table in tables
        for index, column in enumerate(table.columns)
        for row in table.rows
        for dataset, names in asked.report.tests.items()
        for test in (*names, "")
        if (score := row.score(index)) is not None and (dataset, test) == (column.dataset, column.test or "")
        if row.encoding in study.encodings and row.size in study.sizes
    ).drop_duplicates(["dataset", "test", "size", "encoding", "metric", "seed"])
    frame = published_frame(ours, tables)
    assert set(frame["dataset"]) == set(study.datasets)
    printed = frame["metric"] == "parameters"
    assert set(frame["status"][printed]) <= {"as printed"}
    assert set(frame["status"][~printed]) == {"reproduced within the spread"}
