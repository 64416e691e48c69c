"""Tests of which orders of published tables our scores confirm."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pandas as pd
import pytest
from scipy import stats

from evaluation_samples import frame_of, report
from wordorder.config.published_scores import PublishedInStudy, PublishedScores, Shown
from wordorder.published.orderings import orderings_table, published_orders
from wordorder.published.scores import published_table
from wordorder.statistics.all_pairs import all_pairs
from wordorder.statistics.blocked import block

PRINTED = {"none": 13.0, "sinusoidal": 27.0, "learned": 26.0, "opr": 27.5, "relative": 27.5, "rope": 28.0, "cope": None}


def printed(values: dict[str, float | None], metric: str = "bleu") -> PublishedScores:
    return PublishedScores.model_validate(
        {
            "name": "paper_table1",
            "paper": "A paper",
            "table": "Table 1",
            "baseline": "NONE",
            "computed": "one run each",
            "columns": [{"column": "En-De", "dataset": "big", "test": "news", "metric": metric}],
            "rows": [
                {"row": name.upper(), "encoding": name, "size": "base", "scores": [score]}
                for name, score in values.items()
            ],
        }
    )


def scores(values: dict[str, list[float]], metric: str = "bleu") -> pd.DataFrame:
    where = {"dataset": "mini", "test": "news", "size": "tiny", "metric": metric}
    return pd.DataFrame(
        [
            where | {"encoding": encoding, "seed": seed, "score": score, "status": "scored"}
            for encoding, row in values.items()
            for seed, score in enumerate(row, start=1)
        ]
    )


LANGUAGES = {"big": "en-de", "mini": "en-de", "other": "ja-en"}


def beside(shown: Shown, table: PublishedScores) -> PublishedInStudy:
    return PublishedInStudy(shown=shown, printed=table, languages=LANGUAGES)


SHOWN = Shown(table="paper_table1", datasets={"big": "mini"}, sizes={"base": "tiny"})
OURS = {
    "none": [5.0, 5.2, 5.1, 4.9],
    "sinusoidal": [20.0, 20.3, 20.1, 20.2],
    "learned": [24.0, 24.2, 24.1, 24.4],  # the paper has it below sinusoidal
    "opr": [20.5, 19.9, 20.4, 20.1],  # above sinusoidal, by chance
    "relative": [20.9, 20.1, 20.0, float("nan")],
}


def orderings_frame(
    scores: pd.DataFrame, shown: list[PublishedInStudy], *, alpha: float, **options: Any
) -> pd.DataFrame:
    return pd.DataFrame(
        [row for order in published_orders(scores, shown, alpha=alpha, **options) for row in order.rows]
    )


def frame(ours: dict[str, list[float]], metric: str = "bleu") -> pd.DataFrame:
    found = orderings_frame(scores(ours, metric), [beside(SHOWN, printed(PRINTED, metric))], alpha=0.05)
    return found.set_index(["better", "worse"])


def test_each_pair_of_different_printed_scores_has_its_verdict() -> None:
    found = frame(OURS)
    names = [name for name, score in PRINTED.items() if score is not None]
    different = [pair for pair in combinations(names, 2) if PRINTED[pair[0]] != PRINTED[pair[1]]]
    assert len(found) == len(different) == 14, "what is printed as equal, or not at all, is in no order"
    verdicts = found["verdict"].to_dict()
    assert verdicts["SINUSOIDAL", "NONE"] == verdicts["OPR", "NONE"] == "confirmed"
    assert verdicts["SINUSOIDAL", "LEARNED"] == "contradicted"
    assert verdicts["OPR", "SINUSOIDAL"] == "not told apart" and found.loc[("OPR", "SINUSOIDAL"), "same_order"]
    assert {verdict for pair, verdict in verdicts.items() if "ROPE" in pair} == {"not run"}
    assert found.loc[("SINUSOIDAL", "LEARNED"), "published_gap"] == pytest.approx(1.0)
    assert found.loc[("SINUSOIDAL", "LEARNED"), "gap"] == pytest.approx(60.4 / 3 - 24.1), "of seeds 1 to 3"


def test_the_test_is_of_the_systems_of_the_column() -> None:
    found = frame(OURS)
    assert set(found.loc[found["verdict"] != "not run", "n"]) == {3}, "of the seeds that all systems have"
    known = {name: {seed: x for seed, x in enumerate(row) if x == x} for name, row in OURS.items()}
    p_values = {frozenset(pair): found.p for pair, found in all_pairs(block(known)).differences.items()}
    run = found[found["verdict"] != "not run"]
    assert len(run) == 9
    for (better, worse), p in run["p"].items():
        assert p == pytest.approx(p_values[frozenset((better.lower(), worse.lower()))])


@pytest.mark.parametrize("names", [("sinusoidal", "learned"), ("learned", "sinusoidal")])
def test_a_missing_run_does_not_change_the_direction_of_a_pair(names: tuple[str, str]) -> None:
    ours = {"sinusoidal": [20.0, 20.1, 19.8, 30.0], "learned": [21.0, 21.1, 20.9, float("nan")]}
    table = printed({"none": None} | {name: PRINTED[name] for name in names})
    found = orderings_frame(scores(ours), [beside(SHOWN, table)], alpha=0.05)
    (row,) = found.to_dict("records")
    assert (row["better"], row["verdict"], row["same_order"], row["n"]) == ("SINUSOIDAL", "contradicted", False, 3)
    assert row["gap"] == pytest.approx(59.9 / 3 - 21.0)
    assert (row["order_p"], row["order_p_reversed"]) == (1.0, 0.5)


@pytest.mark.parametrize(("name", "margin"), [("bleu", 0.5), ("chrf", 0.5), ("comet", 0.005), ("ter", 0.5)])
def test_models_that_have_learned_nothing_are_untested(name: str, margin: float) -> None:
    ours = {each: [score / 100 for score in row] for each, row in OURS.items()}
    shown = [beside(SHOWN, printed(PRINTED, name))]
    found = [
        orderings_frame(scores(ours, name), shown, alpha=0.05, margins=margins)["verdict"]
        for margins in ({}, {("mini", "tiny", "news", name): margin})
    ]
    decided = {"confirmed", "contradicted", "not told apart"}
    assert decided & set(found[0])
    assert bool(decided & set(found[1])) is (name == "ter"), "of TER, a low score is a good one"


def test_after_an_undeclared_look_no_level_is_exact() -> None:
    shown, asked = [beside(SHOWN, printed(PRINTED))], report(["sinusoidal"], [1, 2, 3, 4])
    for exact in (True, False):
        notes = orderings_table(scores(OURS), shown, asked, exact=exact).notes
        assert any("no level is exact" in note for note in notes) != exact


def test_all_systems_of_the_study_estimate_the_residual_variance() -> None:
    close = {"sinusoidal": [20.0, 20.3], "opr": [20.7, 21.01]}
    alone = frame(close).loc[("OPR", "SINUSOIDAL")]
    assert alone["verdict"] == "confirmed", "two systems with two seeds can agree by luck"
    others = {"mine": [19.0, 20.4], "yours": [21.0, 20.2], "one_seed": [3.0, float("nan")]}
    found = frame(close | others).loc[("OPR", "SINUSOIDAL")]
    assert found["verdict"] == "not told apart"
    known = {name: dict(enumerate(row)) for name, row in (close | others).items() if name != "one_seed"}
    model = block(known)
    t = abs(model.difference("opr", "sinusoidal")) / model.standard_error
    assert found["p"] == pytest.approx(2 * stats.t.sf(t, 3)), "two systems are compared, four estimate the variance"
    elsewhere = scores(others).assign(size="huge")
    mixed = orderings_frame(
        pd.concat([scores(close), elsewhere]), [beside(SHOWN, printed(PRINTED))], alpha=0.05
    ).set_index(["better", "worse"])
    assert mixed.loc[("OPR", "SINUSOIDAL"), "p"] == pytest.approx(alone["p"]), "another size has another variance"


def test_a_pair_whose_seeds_vary_suspiciously_little_says_so_with_its_verdict() -> None:
    shown, asked = [beside(SHOWN, printed(PRINTED))], report(["sinusoidal"], [1, 2, 3, 4])
    for metric, said in (("bleu", True), ("chrf", False)):
        table = orderings_table(scores(OURS), shown, asked, {("mini", "tiny", "news", metric)})
        verdicts = table.data.set_index(["better", "worse"])["verdict"]
        doubt = " (the seeds vary suspiciously little)" * said
        assert verdicts["SINUSOIDAL", "LEARNED"] == f"contradicted{doubt}"
        assert verdicts["OPR", "SINUSOIDAL"] == "not told apart"
        row = frame_of(table.blocks[0]).iloc[0]
        assert row["Contradicted on this test set"].count("; the seeds vary suspiciously little)") == 3 * said
        assert "SINUSOIDAL > LEARNED (+1.00, -3.97" in row["Contradicted on this test set"]


def test_of_a_metric_that_counts_errors_less_is_better() -> None:
    found = frame(OURS, "ter")
    assert found.loc[("NONE", "SINUSOIDAL"), "verdict"] == "confirmed"
    assert found.loc[("NONE", "SINUSOIDAL"), "published_gap"] == pytest.approx(-14.0)
    assert found.loc[("LEARNED", "SINUSOIDAL"), "verdict"] == "contradicted"


def test_one_seed_and_equal_scores_are_said_to_be_untested() -> None:
    found = frame({"sinusoidal": [20.0], "none": [5.0], "opr": [20.0]})
    assert found.loc[("SINUSOIDAL", "NONE"), "verdict"] == "untested"
    assert found.loc[("SINUSOIDAL", "NONE"), "same_order"]
    assert not found.loc[("OPR", "SINUSOIDAL"), "same_order"], "equal scores are in no order"


def test_the_table_counts_and_names_them() -> None:
    table = orderings_table(scores(OURS), [beside(SHOWN, printed(PRINTED))], report(["sinusoidal"], [1, 2, 3, 4]))
    (shown_block,) = table.blocks
    caption, block = shown_block.caption, frame_of(shown_block)
    assert caption == "A paper, Table 1: the order of its systems, and that of ours."
    (row,) = block.to_dict("records")
    assert row["Ours"] == "mini, news, tiny" and row["Pairs"] == "14"
    same = int(table.data["same_order"].fillna(False).astype(bool).sum())
    assert row["Same order"] == f"{same} of 9 run"
    assert row["Confirmed on this test set"].split("; ")[0] == "SINUSOIDAL > NONE (+14.00, +15.03)"
    assert "SINUSOIDAL > LEARNED (+1.00, -3.97)" in row["Contradicted on this test set"].split("; ")
    assert row["Languages"] == "as printed"
    assert row["Untested"] == "0"


def test_a_table_for_two_datasets_has_a_row_for_each() -> None:
    ours = pd.concat([scores(OURS), scores({"none": [20.0, 20.1], "sinusoidal": [5.0, 5.2]}).assign(dataset="other")])
    other = Shown(table="paper_table1", datasets={"big": "other"}, sizes={"base": "tiny"})
    shown = [beside(SHOWN, printed(PRINTED)), beside(other, printed(PRINTED))]
    block = frame_of(orderings_table(ours, shown, report(["sinusoidal"], [1, 2, 3, 4])).blocks[0])
    assert block["Ours"].tolist()[:2] == ["mini, news, tiny", "other, news, tiny"]
    assert block["Same order"].str.split(" of ").str[1].tolist()[:2] == ["9 run", "1 run"]
    assert block["Same order"].str[0].tolist()[1] == "0"
    assert (
        block["Contradicted on this test set"].tolist()[1]
        == "ja-en instead of en-de: SINUSOIDAL > NONE (+14.00, -14.95)"
    )
    assert block["Languages"].tolist()[1] == "ja-en instead of en-de"
    not_run = orderings_table(scores({"cope": [1.0]}), [beside(other, printed(PRINTED))], report(["sinusoidal"], [1]))
    assert frame_of(not_run.blocks[0])["Same order"].tolist() == ["not run"]
    captions = [
        block.caption
        for block in published_table(
            ours, [(each.shown, each.printed) for each in shown], report(["sinusoidal"], [1, 2, 3, 4])
        ).blocks
    ]
    assert [caption.split("ours: ")[1].split(",")[0] for caption in captions] == ["mini", "other"]


def test_pairs_without_scores_say_why() -> None:
    ours = scores(OURS).assign(status=lambda rows: rows["status"].where(rows["encoding"] != "learned", "diverged"))
    ours.loc[ours["encoding"] == "learned", "score"] = float("nan")
    found = orderings_frame(ours, [beside(SHOWN, printed(PRINTED))], alpha=0.05).set_index(["better", "worse"])
    assert found.loc[("SINUSOIDAL", "LEARNED"), "verdict"] == "diverged"
    table = orderings_table(ours, [beside(SHOWN, printed(PRINTED, "chrf"))], report(["none"], [1]))
    block = frame_of(table.blocks[0])
    assert set(block["Same order"].iloc[0].split(", ")) == {"not scored", "not run"}, "ROPE alone was not run"


def test_a_system_with_one_diverged_seed_gets_no_verdict_and_leaves_the_variance() -> None:
    def found(ours: pd.DataFrame) -> pd.DataFrame:
        return orderings_frame(ours, [beside(SHOWN, printed(PRINTED))], alpha=0.05).set_index(["better", "worse"])

    ours = scores(OURS)
    ours.loc[(ours["encoding"] == "learned") & (ours["seed"] == 4), ["score", "status"]] = [float("nan"), "diverged"]
    one, whole = found(ours), ours.copy()
    of_learned = {place for place in one.index if "LEARNED" in place}
    assert of_learned and set(one.loc[list(of_learned), "verdict"]) <= {"diverged", "not run"}
    assert one.loc[("SINUSOIDAL", "LEARNED"), "verdict"] == "diverged"
    whole.loc[whole["encoding"] == "learned", ["score", "status"]] = [float("nan"), "diverged"]
    assert found(whole)["p"].equals(one["p"]), "the others are tested with all of their seeds"


def test_a_table_that_orders_nothing_has_no_block() -> None:
    equal = printed({"none": 13.0, "sinusoidal": 13.0})
    table = orderings_table(scores(OURS), [beside(SHOWN, equal)], report(["sinusoidal"], [1, 2, 3, 4]))
    assert table.data.empty and not table.blocks


def test_a_table_without_pairs_keeps_its_columns() -> None:
    equal = printed({"none": 27.0, "sinusoidal": 27.0})
    empty, full = (
        orderings_table(scores(OURS), [beside(SHOWN, each)], report(["sinusoidal"], [1, 2, 3, 4])).csv
        for each in (equal, printed(PRINTED))
    )
    assert empty == full.partition("\n")[0] + "\n"


def test_a_printed_difference_orders_a_system_and_its_baseline() -> None:
    table = printed({"sinusoidal": None, "opr": None, "none": None}).model_dump()
    table["baseline"] = "SINUSOIDAL"
    table["rows"] = [
        {**row, "scores": []} | gaps
        for row, gaps in zip(table["rows"], ({}, {"gaps": [0.4]}, {"gaps": [-9.0]}), strict=True)
    ]
    found = orderings_frame(scores(OURS), [beside(SHOWN, PublishedScores.model_validate(table))], alpha=0.05)
    found = found.set_index(["better", "worse"])
    assert found["published_gap"].to_dict() == pytest.approx(
        {("OPR", "SINUSOIDAL"): 0.4, ("SINUSOIDAL", "NONE"): 9.0, ("OPR", "NONE"): 9.4}
    )
    assert found.loc[("SINUSOIDAL", "NONE"), "verdict"] == "confirmed"


def test_rows_without_scores_have_no_order() -> None:
    table = printed(PRINTED, "aer")
    assert orderings_frame(scores(OURS, "aer"), [beside(SHOWN, table)], alpha=0.05).empty


def test_a_pair_of_other_languages_says_so_with_its_verdict() -> None:
    other = Shown(table="paper_table1", datasets={"big": "other"}, sizes={"base": "tiny"})
    found = orderings_frame(scores(OURS).assign(dataset="other"), [beside(other, printed(PRINTED))], alpha=0.05)
    verdicts = found.set_index(["better", "worse"])["verdict"]
    assert verdicts["SINUSOIDAL", "NONE"] == "confirmed (ja-en instead of en-de)"
    assert verdicts["SINUSOIDAL", "LEARNED"] == "contradicted (ja-en instead of en-de)"
    assert verdicts["ROPE", "OPR"] == "not run"


def of_columns(*columns: dict[str, float]) -> PublishedScores:
    """A table of several columns of BLEU."""
    named = [{"column": f"C{i}", "dataset": "big", "test": f"news{i}", "metric": "bleu"} for i in range(len(columns))]
    rows = [
        {"row": name.upper(), "encoding": name, "size": "base", "scores": [column[name] for column in columns]}
        for name in columns[0]
    ]
    base = printed(dict.fromkeys(columns[0], 1.0)).model_dump()
    return PublishedScores.model_validate(base | {"columns": named, "rows": rows, "baseline": rows[0]["row"]})


def test_the_order_of_a_column_is_tested_by_permuting_our_systems() -> None:
    # The worked example: S = 8 of 10, p = 5/120.
    names = ["none", "sinusoidal", "learned", "opr", "relative"]
    theirs = dict(zip(names, [27.3, 27.5, 27.9, 28.1, 28.6], strict=True))
    ours = dict(zip(names, [17.0, 17.4, 17.2, 18.1, 18.3], strict=True))
    found = scores({name: [score, score + 0.1] for name, score in ours.items()})
    table = orderings_table(found, [beside(SHOWN, printed(theirs))], report(names, [1, 2]))
    assert table.data["order"].unique().tolist() == ["order reproduced"]
    assert table.data["order_p"].unique() == pytest.approx([5 / 120])
    assert frame_of(table.blocks[0])["Order"].tolist() == ["order reproduced (p = 0.042)"]
    few = orderings_table(found, [beside(SHOWN, printed({"none": 1.0, "opr": 2.0}))], report(names, [1, 2]))
    assert few.data["order"].tolist() == ["too few systems"]


def test_pairs_and_orders_are_corrected_over_the_columns_of_a_table() -> None:
    names = ["none", "sinusoidal", "learned", "opr", "relative"]
    theirs = dict(zip(names, [27.3, 27.5, 27.9, 28.1, 28.6], strict=True))
    shown = beside(SHOWN, of_columns(theirs, theirs))
    ours = scores({name: [score, score + 0.1] for name, score in theirs.items()})
    both = pd.concat([ours.assign(test="news0"), ours.assign(test="news1")])
    two, one = (orderings_frame(own, [shown], alpha=0.05) for own in (both, ours.assign(test="news0")))
    assert two["level"].unique().tolist() == [0.025] and one["level"].unique().tolist() == [0.05]
    table = orderings_table(both, [shown], report(names, [1, 2]))
    whole = frame_of(table.blocks[0]).iloc[-1]
    assert whole["Column"] == "all" and whole["Order"] == "order reproduced (p = 0.008)"
