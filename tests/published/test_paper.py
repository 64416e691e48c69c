"""Tests of how claims of papers are decided, and of the tables that show it."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evaluation_samples import METRICS, report, write_finished_study
from raises import raises
from tiny_models import CONFIG
from wordorder.analyses.buckets import METRICS as BUCKET_METRICS
from wordorder.config.claims import (
    ByAnalysis,
    ByGain,
    ByPrinted,
    ByProposition,
    ByTable,
    ByTrend,
    Contradiction,
    PaperClaims,
)
from wordorder.config.load import (
    dataset_names,
    load_claims,
    load_encodings,
    load_published,
    load_published_scores,
    load_sizes,
    load_study,
    study_names,
)
from wordorder.config.pages import Paper, PublishedReport
from wordorder.config.published_scores import PublishedInStudy, PublishedScores, Shown
from wordorder.files import read_json, write_json, write_text
from wordorder.published import stated
from wordorder.published.paper import claims_table, contradictions_table, paper_table
from wordorder.published.stated import proposition
from wordorder.published.study_results import StudyResults

PAPERS = sorted(path.stem for path in (CONFIG / "published/claims").glob("*.yaml"))


# -------------------------------------------------------------------------------------------------- a little paper

TABLE = PublishedScores.model_validate(
    {
        "name": "little_table1",
        "paper": "A little paper",
        "table": "Table 1",
        "baseline": "APE",
        "computed": "one run each",
        "columns": [{"column": "De-En", "dataset": "pair", "test": "test_1", "metric": "bleu"}],
        "copied": [{"row": "Older", "source": "an older paper", "scores": [11.5]}],
        "rows": [
            {"row": "APE", "encoding": "sinusoidal", "size": "tiny", "scores": [27.27], "derived": "a difference"},
            {"row": "none", "encoding": "none", "size": "tiny", "scores": [13.5]},
            {"row": "OPR", "encoding": "opr", "size": "tiny", "scores": [27.73], "runs": [[27.7, 27.76]]},
        ],
    }
)
SEEDS = [1, 2, 3, 4]


def little(**decided: Any) -> PaperClaims:
    claims = [
        {"name": name, "place": "Table 1", "words": f"{name} is claimed", "decided_by": own}
        for name, own in decided.items()
    ]
    return PaperClaims.model_validate(
        {"name": "little", "paper": "A little paper", "title": "A little paper", "claims": claims}
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    asked = report(["sinusoidal", "none"], SEEDS)
    write_finished_study(folder / "small", asked, {"sinusoidal": 0.1, "none": 0.8})
    rows = [
        {"dataset": "pair", "size": "tiny", "encoding": name, "seed": seed, "n": n, "gap": gap * n + 0.01 * seed * n}
        for name, gap in (("sinusoidal", 1.0), ("none", -1.0))
        for seed in SEEDS
        for n in (1, 2, 3)
    ]
    (folder / "small/analyses").mkdir()
    pd.DataFrame(rows).to_csv(folder / "small/analyses/ngram_gap.csv", index=False)
    return folder


def asked(claims: PaperClaims) -> Paper:
    shown = PublishedInStudy(shown=Shown(table="little_table1"), printed=TABLE)
    own = PublishedReport(report=report(["sinusoidal", "none"], SEEDS), published=[shown], analyses=["ngram_gap"])
    return Paper(claims=claims, studies=[own])


@pytest.mark.parametrize("name", ["05", "1e3", "true", "NA", "None"])
def test_the_names_in_an_analysis_are_read_as_they_are(name: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"dataset": name, "encoding": name, "seed": [1, 2], "gap": [0.5, None]})
    write_text(tmp_path / "analyses/ngram_gap.csv", frame.to_csv(index=False))
    study = asked(little(any={"kind": "table", "table": "little_table1", "better": ["OPR"]})).studies[0]
    found = StudyResults(study, tmp_path).data("ngram_gap")
    assert found is not None
    assert {*found["dataset"], *found["encoding"]} == {name}
    assert found["seed"].tolist() == [1, 2] and found["gap"].isna().tolist() == [False, True]


def test_each_kind_of_claim_gets_its_verdict_from_the_results(results: Path) -> None:
    trend = {"kind": "trend", "analysis": "ngram_gap", "value": "gap", "over": "n", "systems": ["none"]}
    scores = {"kind": "analysis", "analysis": "scores", "value": "score", "where": {"metric": METRICS[0]}}
    table = {"kind": "table", "table": "little_table1"}
    printed = {"kind": "printed", "table": "little_table1", "column": "De-En", "better": ["OPR"], "worse": ["APE"]}
    gain = {"tables": ["little_table1"]}
    same = {**gain, "better": "none", "worse": "APE"}
    claims = little(
        above={"kind": "table", "table": "little_table1", "better": ["APE"], "worse": ["none"]},
        below={"kind": "table", "table": "little_table1", "better": ["none"], "worse": ["APE"]},
        best={"kind": "table", "table": "little_table1", "better": ["OPR"]},
        scored={**scores, "better": ["sinusoidal"], "worse": ["none"]},
        falls={**trend, "direction": "falls"},
        rises={**trend, "direction": "rises"},
        lacking={"kind": "trend", "analysis": "sweep", "value": "score", "over": "value", "direction": "falls"},
        slower={
            "kind": "analysis",
            "analysis": "records",
            "value": "relative_speed",
            "margin": 0.05,
            "relation": "not worse",
            "better": ["none"],
            "worse": ["sinusoidal"],
        },
        printed={**printed, "says": 0.46},
        misprinted={**printed, "says": 0.45},
        above_copied={**printed, "worse": ["Older"], "copied": True},
        below_copied={**printed, "better": ["none"], "worse": ["APE"]},
        a_little_below={**printed, "better": ["APE"], "worse": ["OPR"], "margin": 0.5},
        below_the_margin={**printed, "better": ["APE"], "worse": ["OPR"], "margin": 0.4},
        every_seed={**table, "relation": "better in every seed", "better": ["APE"], "worse": ["none"]},
        gains={"kind": "gain", "larger": {**gain, "better": "APE", "worse": "none"}, "smaller": same},
        gains_less={"kind": "gain", "larger": same, "smaller": {**gain, "better": "APE", "worse": "none"}},
        gains_nothing={"kind": "gain", "larger": {**gain, "better": "OPR", "worse": "none"}, "smaller": same},
        computed={"kind": "proposition", "propositions": ["bounded"]},
        refuted={"kind": "proposition", "propositions": ["bounded", "longest_wave"]},
    )
    found = claims_table(asked(claims), results).data.groupby("claim", sort=False)["verdict"].first().to_dict()
    assert found == {
        "above": "confirmed",
        "below": "contradicted",
        "best": "not run",
        "scored": "confirmed",
        "falls": "confirmed",
        "rises": "contradicted",
        "lacking": "not run",
        "slower": "confirmed",
        "printed": "confirmed",
        "misprinted": "contradicted",
        "above_copied": "confirmed",
        "below_copied": "contradicted",
        "a_little_below": "confirmed",
        "below_the_margin": "contradicted",
        "every_seed": "confirmed",
        "gains": "confirmed",
        "gains_less": "contradicted",
        "gains_nothing": "not run",
        "computed": "confirmed",
        "refuted": "contradicted",
    }


def test_a_system_with_a_diverged_training_has_no_verdict(results: Path, tmp_path: Path) -> None:
    """The other seeds of 'none' differ clearly from those of 'sinusoidal', and the slopes are clear, too."""
    rates = {"sinusoidal": 0.1, "none": 0.8}
    write_finished_study(tmp_path / "small", report(list(rates), SEEDS), rates, diverged=("none", 4))
    rows = pd.read_csv(results / "small/analyses/ngram_gap.csv")
    rows.loc[(rows["encoding"] == "none") & (rows["seed"] == 4), "gap"] = math.nan
    (tmp_path / "small/analyses").mkdir()
    rows.to_csv(tmp_path / "small/analyses/ngram_gap.csv", index=False)
    scores = {"kind": "analysis", "analysis": "scores", "value": "score", "where": {"metric": METRICS[0]}}
    order = {"kind": "analysis", "analysis": "ngram_gap", "value": "gap"}
    trend = {"kind": "trend", "analysis": "ngram_gap", "value": "gap", "over": "n"}
    claims = little(
        scored={**scores, "better": ["sinusoidal"], "worse": ["none"]},
        best={**order, "better": ["sinusoidal"]},
        falls={**trend, "direction": "falls", "systems": ["none"]},
        together={**trend, "direction": "falls"},
        rises={**trend, "direction": "rises", "systems": ["sinusoidal"]},
        gain=TWO_COLUMNS.claims[1].decided_by.model_dump(),
    )
    table = claims_table(asked(claims), tmp_path).data
    verdicts = dict(zip(table["claim"], table["verdict"], strict=True))
    assert verdicts.pop("rises") == "confirmed"
    assert set(verdicts.values()) == {"not run"}
    assert set(table.loc[table["claim"] != "rises", "note"]) == {"none diverged"}


def test_a_verdict_says_what_stands_in_for_the_paper(results: Path) -> None:
    printed = TABLE.model_copy(
        update={"columns": [TABLE.columns[0].model_copy(update={"dataset": "theirs", "test": "test"})]}
    )
    where = {"metric": METRICS[0]}
    analysis = {"kind": "analysis", "analysis": "scores", "value": "score", "where": where, "dataset": "theirs"}
    first = {**analysis, "where": {**where, "test": "test_1"}}
    systems = {"better": ["sinusoidal"], "worse": ["none"]}
    claims = little(
        table={"kind": "table", "table": "little_table1", "better": ["APE"], "worse": ["none"]},
        analysis={**analysis, "better": ["opr"], "worse": ["none"], "elsewhere": {"small": {"better": ["sinusoidal"]}}},
        rows={**first, **systems, "rows_elsewhere": {"small": {"test": "test_2"}}},
        same_rows={**first, **systems, "rows_elsewhere": {"small": {"test": "test_1"}}},
        computed={"kind": "proposition", "propositions": ["bounded"]},
    )
    shown = Shown(table="little_table1", datasets={"theirs": "pair"}, tests={"test": "test_1"})
    found = PublishedInStudy(shown=shown, printed=printed, languages={"theirs": "en-de", "pair": "en-qaa"})
    paper = asked(claims).model_copy()
    (study,) = paper.studies
    paper = paper.model_copy(update={"studies": [study.model_copy(update={"published": [found]})]})
    (block,) = claims_table(paper, results).blocks
    marked = {row["Claim"].main: row["Data and models"].main for row in block.rows}
    assert marked["table is claimed"] == "en-qaa instead of en-de"
    assert marked["analysis is claimed"] == "en-qaa instead of en-de, sinusoidal instead of opr"
    assert marked["rows is claimed"] == "en-qaa instead of en-de, test test_2 instead of test_1"
    assert marked["same_rows is claimed"] == "en-qaa instead of en-de"
    assert marked["computed is claimed"] == "computed"


def with_second_column() -> PublishedScores:
    """The little table with a second column, of the test set 'test_2'."""
    column = TABLE.columns[0].model_copy(update={"column": "second", "test": "test_2"})
    rows = [row.model_copy(update={"scores": row.scores * 2, "runs": []}) for row in TABLE.rows]
    return TABLE.model_copy(update={"columns": [*TABLE.columns, column], "copied": [], "rows": rows})


def with_tests(paper: Paper, *tests: dict[str, str]) -> Paper:
    """The same paper with the second column, and with a study of the same results for each mapping of test sets."""
    (study,) = paper.studies
    shown = [
        PublishedInStudy(shown=Shown(table="little_table1", tests=own), printed=with_second_column()) for own in tests
    ]
    names = ["small", "other"]
    studies = [
        study.model_copy(update={"published": [own], "report": study.report.model_copy(update={"study": names[at]})})
        for at, own in enumerate(shown)
    ]
    return paper.model_copy(update={"studies": studies})


TWO_COLUMNS = little(
    table={"kind": "table", "table": "little_table1", "better": ["APE"], "worse": ["none"]},
    gain={
        "kind": "gain",
        "larger": {"tables": ["little_table1"], "better": "APE", "worse": "none"},
        "smaller": {"tables": ["little_table1"], "better": "none", "worse": "APE"},
    },
)


def test_a_claim_of_two_columns_is_not_confirmed_by_one(results: Path) -> None:
    """A column that was not run leaves the claim undecided, until another study has run it."""
    table = claims_table(with_tests(asked(TWO_COLUMNS), {}), results).data
    assert set(table["verdict"]) == {"confirmed"}
    unknown = {"test_2": "nowhere"}
    table = claims_table(with_tests(asked(TWO_COLUMNS), unknown), results).data
    assert dict(zip(table["claim"], table["verdict"], strict=True)) == {"table": "undecided", "gain": "undecided"}
    assert sorted(table["evidence"]) == ["confirmed", "confirmed", "not run", "not run"]


def test_a_column_that_another_study_has_run_is_not_missing(results: Path, tmp_path: Path) -> None:
    shutil.copytree(results / "small", tmp_path / "small")
    shutil.copytree(results / "small", tmp_path / "other")
    both = with_tests(asked(TWO_COLUMNS), {"test_2": "nowhere"}, {"test_1": "nowhere"})
    table = claims_table(both, tmp_path).data
    assert set(table["verdict"]) == {"confirmed"} and set(table["evidence"]) == {"confirmed"}


def test_gains_of_a_study_with_a_diverged_training_are_not_missing_where_another_has_them(
    results: Path, tmp_path: Path
) -> None:
    rates = {"sinusoidal": 0.1, "none": 0.8}
    write_finished_study(tmp_path / "small", report(list(rates), SEEDS), rates, diverged=("none", 4))
    gain = TWO_COLUMNS.model_copy(update={"claims": TWO_COLUMNS.claims[1:]})
    table = claims_table(with_tests(asked(gain), {}), tmp_path).data
    assert list(zip(table["evidence"], table["note"], strict=True)) == [("not run", "none diverged")] * 2
    shutil.copytree(results / "small", tmp_path / "other")
    table = claims_table(with_tests(asked(gain), {}, {}), tmp_path).data
    assert list(table["evidence"]) == ["confirmed"] * 2


def test_another_test_set_stands_in(results: Path) -> None:
    found = claims_table(with_tests(asked(TWO_COLUMNS), {"test_2": "test_1"}), results).data
    assert set(found["stands_in"]) == {"", "test_1 instead of test_2"}


def test_the_papers_own_data_decide_where_they_have_been_run(results: Path, tmp_path: Path) -> None:
    """On other data the result may be the opposite; without the paper's data, these decide and are named."""
    shutil.copytree(results, tmp_path, dirs_exist_ok=True)
    trend = {"kind": "trend", "analysis": "ngram_gap", "value": "gap", "over": "n", "systems": ["none"]}
    order = {"kind": "analysis", "analysis": "ngram_gap", "value": "gap", "better": ["sinusoidal"], "worse": ["none"]}
    path = tmp_path / "small/analyses/ngram_gap.csv"
    rows = pd.read_csv(path)
    opposite = rows.assign(dataset="others", gap=-rows["gap"])
    pd.concat([rows, opposite]).to_csv(path, index=False)

    def verdicts(**place: str) -> dict[str, str]:
        claims = little(falls={**trend, "direction": "falls", **place}, order={**order, **place})
        data = claims_table(asked(claims), tmp_path).data
        return dict(zip(data["claim"], data["verdict"], strict=True))

    assert verdicts(dataset="pair") == {"falls": "confirmed", "order": "confirmed"}
    assert verdicts(dataset="others") == {"falls": "contradicted", "order": "contradicted"}
    assert verdicts(dataset="pair", size="tiny") == {"falls": "confirmed", "order": "confirmed"}
    rows.assign(size="huge", gap=-rows["gap"]).pipe(lambda other: pd.concat([rows, other])).to_csv(path, index=False)
    assert verdicts(dataset="pair", size="tiny") == {"falls": "confirmed", "order": "confirmed"}
    assert verdicts(dataset="pair", size="huge") == {"falls": "contradicted", "order": "contradicted"}
    opposite.to_csv(path, index=False)
    assert verdicts(dataset="pair") == {"falls": "contradicted", "order": "contradicted"}


def test_claims_say_which_study_has_no_exact_level(results: Path, tmp_path: Path) -> None:
    shutil.copytree(results, tmp_path, dirs_exist_ok=True)
    order = {"kind": "table", "table": "little_table1", "better": ["APE"], "worse": ["none"]}
    paper = asked(little(table=order))
    assert not any("no level is exact" in note for note in claims_table(paper, tmp_path).notes)
    for path in (tmp_path / "small/significance").glob("*.json"):
        content = read_json(path)
        for tested in content["metrics"].values():
            tested["family"]["level"]["exact"] = False
        write_json(path, content)
    notes = claims_table(paper, tmp_path).notes
    assert sum("no level is exact in small" in note for note in notes) == 1


def test_test_sets_may_be_compared(results: Path) -> None:
    """A family over test sets has no margin of its own."""
    scores = {"kind": "analysis", "analysis": "scores", "value": "score", "where": {"metric": METRICS[0]}}
    claims = little(tests={**scores, "systems": "test", "better": ["test_1"], "worse": ["test_2"]})
    assert len(claims_table(asked(claims), results).data)


@pytest.mark.parametrize(
    ("change", "name"),
    [({"value": "scare"}, "scare"), ({"unit": "sed"}, "sed"), ({"where": {"metrik": "bleu"}}, "metrik")],
)
def test_a_misspelt_column_is_an_error(results: Path, change: dict[str, Any], name: str) -> None:
    scores = {"kind": "analysis", "analysis": "scores", "value": "score", "better": ["sinusoidal"], "worse": ["none"]}
    with raises("unknown-name", found=name):
        claims_table(asked(little(scored={**scores, **change})), results)


def test_a_table_has_the_printed_numbers_and_ours_in_each_cell(results: Path) -> None:
    table = paper_table(asked(little(any={"kind": "proposition", "propositions": ["bounded"]})), results)
    (block,) = table.blocks
    cells = {row["System"].main: row["De-En"] for row in block.rows}
    assert [row["System"].main for row in block.rows] == ["Older", "APE", "none", "OPR"]
    assert cells["Older"].main == "11.50" and "ours" not in cells["Older"].rest
    assert cells["APE"].main == "27.27" and "(n = 4)" in cells["APE"].rest
    assert cells["OPR"].main == "27.73" and "27.76" in cells["OPR"].rest and "not run" in cells["OPR"].rest
    assert "derived" in block.rows[1]["System"].rest and any("a difference" in note for note in table.notes)
    ours = table.data.set_index("row")["mean"]
    assert ours["APE"] > ours["none"] and pd.isna(ours["OPR"])


def test_a_cell_of_a_table_says_that_a_training_diverged_or_was_lost(results: Path, tmp_path: Path) -> None:
    rates = {"sinusoidal": 0.1, "none": 0.8}
    write_finished_study(tmp_path / "small", report(list(rates), SEEDS), rates, diverged=("none", 4))
    (tmp_path / "small/cells/pair/sinusoidal/tiny/4/test_1.scores.json").unlink()
    table = paper_table(asked(little(any={"kind": "proposition", "propositions": ["bounded"]})), tmp_path)
    cells = {row["System"].main: row["De-En"].rest for row in table.blocks[0].rows}
    assert cells["APE"].endswith("(n = 3 of 4)") and cells["none"].endswith("(n = 3 of 4), diverged")
    lacks = table.data.set_index("row")["lack"].to_dict()
    assert lacks == {"APE": "", "none": "diverged", "OPR": "not run"}


def test_contradictions_are_computed() -> None:
    counts = [{"encoding": "sinusoidal", "size": "base", "vocabulary": vocabulary} for vocabulary in (37000, 40000)]
    words = {"place": "4.1", "says": "40,000", "other_place": "Table 1", "other": "63.08 M"}
    found = Contradiction.model_validate({"name": "vocabulary", **words, "counts": counts})
    claims = little(any={"kind": "proposition", "propositions": ["bounded"]})
    paper = asked(claims.model_copy(update={"contradictions": [found]})).model_copy(
        update={"encodings": load_encodings(CONFIG, ["sinusoidal"]), "sizes": load_sizes(CONFIG)}
    )
    (computed,) = contradictions_table(paper).data["computed"]
    assert "63.08 M" in computed and "64.62 M" in computed


# ----------------------------------------------------------------------------------------------------- shipped papers


@pytest.mark.parametrize("name", PAPERS)
def test_a_shipped_paper_names_what_is_there(name: str) -> None:
    claims = load_claims(name, CONFIG)
    decisions = [claim.decided_by for claim in claims.claims]
    used = [own for decided in decisions if isinstance(decided, ByProposition) for own in decided.propositions]
    for own in [*used, *(own for found in claims.contradictions for own in found.propositions)]:
        assert proposition(own).as_known
    encodings, sizes = load_encodings(CONFIG), load_sizes(CONFIG)
    for count in claims.counts:
        assert {count.encoding, count.over or count.encoding} <= encodings.keys() and count.size in sizes
    studies = [study for study in (load_study(own, CONFIG) for own in study_names(CONFIG)) if study.paper == name]
    assert studies
    tables = {decided.table for decided in decisions if isinstance(decided, ByTable | ByPrinted)}
    for decided in decisions:
        if isinstance(decided, ByGain):
            tables |= {*decided.larger.tables, *decided.smaller.tables}
        if isinstance(decided, ByAnalysis):
            assert {*decided.elsewhere, *decided.rows_elsewhere} <= set(study_names(CONFIG))
        if isinstance(decided, ByAnalysis) and decided.analysis in ("length", "extrapolation"):
            assert decided.where["metric"] in BUCKET_METRICS, "an analysis that has no such rows decides nothing"
        if isinstance(decided, ByAnalysis | ByTrend) and decided.dataset:
            assert decided.dataset in dataset_names(CONFIG)
    analyses = {decided.analysis for decided in decisions if isinstance(decided, ByAnalysis | ByTrend)}
    for study in studies:
        members = [study, *(load_study(companion, CONFIG) for companion in study.companions)]
        if study.name == name:
            assert tables <= {shown.table for member in members for shown in member.published}
            assert analyses <= {"scores", "training", "records"}.union(*(member.analyses.names for member in members))


def test_every_table_of_a_paper_with_claims_is_shown_by_its_studies() -> None:
    for name in PAPERS:
        claims, study = load_claims(name, CONFIG), load_study(name, CONFIG)
        members = [study, *(load_study(companion, CONFIG) for companion in study.companions)]
        shown = {own.table for member in members for own in member.published}
        assert {table.name for table in load_published_scores(CONFIG) if table.paper == claims.paper} <= shown
        assert {table.paper for table in load_published(CONFIG)} <= {load_claims(own, CONFIG).paper for own in PAPERS}


def test_refuted_statements_are_refuted_and_the_others_hold() -> None:
    claims = stated.claims()
    assert all(claim.as_known for claim in claims), [claim.name for claim in claims if not claim.as_known]
    assert 0.0498 < proposition("ape_sine_width").measured < 0.05
    assert proposition("ape_cosine_width").measured == pytest.approx(0.00124973, abs=1e-8)
    assert proposition("opr_sine_width").measured < 1e-9 and proposition("opr_sine_width_8").measured == 2


def test_mistakes_in_claims_are_sentences(config: Path) -> None:
    with raises("unknown-name"):
        load_claims("nowhere", config)
    path = config / "published/claims/posnet.yaml"
    text = path.read_text()
    for old, new in (
        ("table: posnet_table2", "table: posnet_table9"),
        ("better: [PosNet]", "better: [PosNot]"),
        ("analysis: scores", "analysis: scoresx"),
    ):
        assert old in text
        path.write_text(text.replace(old, new))
        with raises("unknown-name"):
            load_claims("posnet", config)
    path.write_text(text.replace("name: posnet\n", "name: other\n", 1))
    with raises("wrong-name"):
        load_claims("posnet", config)
    with raises("unknown-proposition"):
        proposition("nothing")


def test_the_parts_of_a_claim_share_its_level(results: Path) -> None:
    """The more are tested, the wider are their intervals."""

    def widths(paper: Paper) -> pd.Series:
        first = claims_table(paper, results).data.groupby("claim")[["low", "high"]].first()
        return first["high"] - first["low"]

    assert (widths(with_tests(asked(TWO_COLUMNS), {})) > 1.2 * widths(asked(TWO_COLUMNS))).all()
    trend = {"kind": "trend", "analysis": "ngram_gap", "value": "gap", "over": "n", "direction": "falls"}
    one, two = (widths(asked(little(falls={**trend, "systems": own}))) for own in (["none"], ["none", "sinusoidal"]))
    assert (two > 1.2 * one).all()


def test_equal_printed_numbers_are_not_better(results: Path) -> None:
    printed = {"kind": "printed", "table": "little_table1", "column": "De-En", "better": ["OPR"], "worse": ["OPR"]}
    assert claims_table(asked(little(equal=printed)), results).data["verdict"].tolist() == ["contradicted"]


def verdict_on(
    metric: str, scores: dict[str, list[float]], results: Path, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Return the verdicts on the claim that APE is better than no encoding by a metric, for our scores by seed."""
    column = TABLE.columns[0].model_copy(update={"metric": metric})
    rows = [row.model_copy(update={"runs": []}) for row in TABLE.rows]
    printed = TABLE.model_copy(update={"columns": [column], "rows": rows})
    shown = PublishedInStudy(shown=Shown(table="little_table1"), printed=printed)
    place = {"dataset": "pair", "size": "tiny", "test": "test_1", "metric": metric, "status": "scored"}
    own = [
        place | {"encoding": name, "seed": seed, "score": score}
        for name, values in scores.items()
        for seed, score in zip(SEEDS, values, strict=True)
    ]
    monkeypatch.setattr("wordorder.published.study_results.load_printed", lambda *_: pd.DataFrame(own))
    claim = {"kind": "table", "table": "little_table1", "columns": ["De-En"], "better": ["APE"], "worse": ["none"]}
    paper = asked(little(table=claim))
    (study,) = paper.studies
    paper = paper.model_copy(update={"studies": [study.model_copy(update={"published": [shown]})]})
    return claims_table(paper, results).data["verdict"].tolist()


@pytest.mark.parametrize(("metric", "verdict"), [("aer", "confirmed"), ("precision", "contradicted")])
def test_less_is_better_of_errors_of_alignment(
    metric: str, verdict: str, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = {"sinusoidal": [20.15, 20.2, 20.3, 20.4], "none": [30.1, 30.2, 30.3, 30.4]}
    assert verdict_on(metric, scores, results, monkeypatch) == [verdict]


def test_a_margin_has_the_unit_of_printed_scores(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """COMET is between 0 and 1, and papers print 100 times as much."""
    margins = {("pair", "tiny", "test_1", "comet"): 0.01}
    monkeypatch.setattr("wordorder.published.study_results.margins_of", lambda _: margins)
    scores = {"sinusoidal": [80.01, 80.02, 80.03, 80.04], "none": [80.01, 80.12, 80.03, 80.04]}
    assert verdict_on("comet", scores, results, monkeypatch) == ["equivalent"]


def test_a_count_decides_the_named_rows_only(results: Path) -> None:
    """The row from which a printed difference is taken is no evidence of its own."""
    table = next(each for each in load_published(CONFIG) if any(row.base for row in each.rows))
    row = next(row for row in table.rows if row.base)
    claims = little(count={"kind": "count", "table": table.table, "rows": [row.row]})
    known = {"encodings": load_encodings(CONFIG), "sizes": load_sizes(CONFIG)}
    paper = asked(claims).model_copy(update={"counted": [table], **known})
    data = claims_table(paper, results).data
    assert data["about"].tolist() == [f"{row.row}: printed {row.printed} M"]
