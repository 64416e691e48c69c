"""What comparisons of fewer seeds would have said."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis_runs import drawn
from evaluation_samples import report
from wordorder.analyses.fewer_seeds import SHARES, _with_itself
from wordorder.comparison.levels import level_of
from wordorder.config.load import load_study
from wordorder.config.models import Analysed
from wordorder.config.seeds import Looks
from wordorder.drawing.hints import hints
from wordorder.errors import WordorderError
from wordorder.results import frames
from wordorder.statistics.blocked import block
from wordorder.statistics.dunnett import against_baseline
from wordorder.workflow.analyses import check_analyses
from wordorder.workflow.configuration import Configuration

SEEDS = list(range(1, 11))


def asked(encodings: list[str], **settings: object) -> Analysed:
    return Analysed.model_validate(
        {
            "report": report(encodings, SEEDS, tests=("test",)),
            "settings": {"fewer_seeds": settings},
            "source_languages": {"pair": "en"},
            "target_languages": {"pair": "de"},
        }
    )


def computed(
    slice_: Analysed,
    scores: dict[str, np.ndarray],
    monkeypatch: pytest.MonkeyPatch,
    status: dict[tuple[str, int], str] | None = None,
) -> pd.DataFrame:
    """Compute the data from scores that are not on disk."""
    status = status or {}
    rows = [
        {"dataset": "pair", "size": "tiny", "test": "test", "encoding": name, "seed": seed, "metric": "bleu"}
        | {"score": score, "status": status.get((name, seed), "scored"), "signature": ""}
        for name, of in scores.items()
        for seed, score in zip(SEEDS, of, strict=True)
    ]
    monkeypatch.setattr(frames, "load_scores", lambda *_: pd.DataFrame(rows))
    frame: pd.DataFrame = slice_.settings["fewer_seeds"].frame(slice_, Path(), Path())
    return frame.set_index(["encoding", "other", "count"])


def test_all_subsets_are_compared_as_a_study_compares(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(5)
    scores = {"sinusoidal": draws.normal(20, 1, 10), "opr": draws.normal(21, 1, 10)}
    rows = computed(asked(["sinusoidal", "opr"], counts=[1, 3]), scores, monkeypatch)
    one, three = rows.loc["opr", "sinusoidal", 1], rows.loc["opr", "sinusoidal", 3]
    difference = scores["opr"] - scores["sinusoidal"]
    assert one["difference"] == pytest.approx(difference.mean()) and one["subsets"] == 10
    assert one["same_order"] == pytest.approx((np.sign(difference) == np.sign(difference.mean())).mean())
    assert np.isnan(one["undecided"]), "one seed cannot be tested"
    # With two systems, Dunnett's test on blocked scores is the paired t-test.
    chosen = [difference[list(subset)] for subset in combinations(range(10), 3)]
    found = np.array([stats.ttest_1samp(values, 0).pvalue < 0.05 for values in chosen])
    whole = stats.ttest_1samp(difference, 0).pvalue < 0.05
    assert three["subsets"] == 120
    assert three["undecided"] == pytest.approx((~found).mean() if whole else 0)
    assert three["largest_95"] == pytest.approx(np.quantile([abs(values.mean()) for values in chosen], 0.95))
    assert sum(three[["as all seeds", "undecided", "otherwise"]]) == pytest.approx(1)


def test_equal_systems_differ_significantly_in_one_of_twenty_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(6)
    scores = {"sinusoidal": draws.normal(20, 1, 10), "opr": draws.normal(20, 1, 10)}
    rows = computed(asked(["sinusoidal", "opr"], counts=[2], draws=400), scores, monkeypatch)
    itself = rows.loc["opr", "opr", 2]
    assert itself["subsets"] == 400 and 0 < itself["otherwise"] < 0.15
    assert np.isnan(itself["same_order"])


def test_subsets_that_find_what_all_seeds_do_not_say_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    difference = np.array([2.0, 2.1, 1.9, 2.0, 0.0, -2.0, -2.1, -1.9, -2.0, 0.1])
    scores = {"sinusoidal": np.full(10, 20.0), "opr": 20 + difference}
    row = computed(asked(["sinusoidal", "opr"], counts=[3]), scores, monkeypatch).loc["opr", "sinusoidal", 3]
    chosen = [difference[list(subset)] for subset in combinations(range(10), 3)]
    found = np.mean([stats.ttest_1samp(values, 0).pvalue < 0.05 for values in chosen])
    assert found > 0 and row["otherwise"] == pytest.approx(found)
    assert row["as all seeds"] == pytest.approx(1 - found) and row["undecided"] == 0


def test_equal_systems_whose_differences_do_not_vary_are_not_found_to_differ() -> None:
    """A study cannot test differences without a variance, such as 1 and 1."""
    row = _with_itself(np.array([10.0, 11.0, 12.0, 13.0]), 2, 200, 0.05)
    assert (row["as all seeds"], row["otherwise"]) == (1, 0)


def test_pairs_without_the_baseline_are_compared_by_tukeys_test(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(8)
    scores = {name: draws.normal(mean, 1, 10) for name, mean in (("sinusoidal", 20), ("opr", 22), ("rope", 24))}
    rows = computed(asked(list(scores), counts=[5], draws=60), scores, monkeypatch)
    assert [pair for pair in rows.index if pair[0] != pair[1]] == [
        ("opr", "sinusoidal", 5), ("rope", "sinusoidal", 5), ("opr", "rope", 5)
    ]  # fmt: skip
    row = rows.loc["opr", "rope", 5]
    assert row["difference"] == pytest.approx((scores["opr"] - scores["rope"]).mean())
    assert row["otherwise"] == 0 and row["as all seeds"] > 0


def test_the_level_is_that_of_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(6)
    scores = {"sinusoidal": draws.normal(20, 1, 10), "opr": draws.normal(20, 1, 10)}
    usual = asked(["sinusoidal", "opr"], counts=[2], draws=400)
    loose = usual.model_copy(update={"report": usual.report.model_copy(update={"alpha": 0.5})})
    found = computed(loose, scores, monkeypatch).loc["opr", "opr", 2]["otherwise"]
    assert found > 2 * computed(usual, scores, monkeypatch).loc["opr", "opr", 2]["otherwise"]


def test_a_seed_that_an_encoding_lacks_is_used_by_none(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = {"sinusoidal": np.arange(10.0), "opr": np.arange(10.0) + 1}
    scores["opr"][3] = np.nan
    rows = computed(asked(["sinusoidal", "opr"], counts=[1, 5]), scores, monkeypatch, {("opr", 4): "missing"})
    assert rows.loc["opr", "sinusoidal", 1]["subsets"] == 9
    many = rows.xs(5, level="count")
    assert len(many) == 3 and set(many["subsets"]) == {0}, "nine seeds have no two disjoint subsets of five"


def test_a_diverged_encoding_is_excluded_as_in_a_study(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(9)
    scores = {name: draws.normal(mean, 1, 10) for name, mean in (("sinusoidal", 20), ("opr", 22), ("rope", 22))}
    scores["rope"][[2, 5]] = np.nan
    slice_ = asked(list(scores), counts=[2, 5], draws=60)
    frame = computed(slice_, scores, monkeypatch, {("rope", 3): "diverged", ("rope", 6): "diverged"})
    compared = frame[frame["subsets"] > 0]
    assert {pair[:2] for pair in compared.index} == {
        ("opr", "sinusoidal"), ("sinusoidal", "sinusoidal"), ("opr", "opr")
    }  # fmt: skip
    assert compared.loc["opr", "sinusoidal", 2]["subsets"] == 45, "of all ten seeds"
    # The correction still counts the excluded encoding.
    model = block({name: dict(enumerate(of)) for name, of in scores.items() if name != "rope"}, diverged=["rope"])
    assert model.declared == 3
    whole, found = against_baseline(model, "sinusoidal").differences["opr"], []
    for subset in combinations(range(10), 2):
        own = {name: {seed: scores[name][seed] for seed in subset} for name in ("sinusoidal", "opr")}
        found.append(against_baseline(block(own, diverged=["rope"]), "sinusoidal").differences["opr"].p < 0.05)
    assert whole.p < 0.05 and 0 < np.mean(found) < 1
    assert compared.loc["opr", "sinusoidal", 2]["as all seeds"] == pytest.approx(np.mean(found))
    excluded = frame[frame["subsets"] == 0]
    assert {pair[:2] for pair in excluded.index} == {("rope", "sinusoidal"), ("opr", "rope"), ("rope", "rope")}
    assert excluded.drop(columns=["dataset", "size", "test", "metric", "subsets"]).isna().all(axis=None)
    panels = drawn(slice_, frame.reset_index()).axes
    texts = {panel.get_title(): [text.get_text() for text in panel.texts] for panel in panels}
    assert texts["rope with itself"] == texts["rope against sinusoidal"] == ["not compared"] * 2
    assert "not compared" not in texts["opr with itself"] and "nan" not in "".join(texts)


def test_without_the_baseline_only_equal_systems_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = {name: np.random.default_rng(3).normal(20, 1, 10) for name in ("sinusoidal", "opr", "rope")}
    scores["sinusoidal"][0] = np.nan
    frame = computed(asked(list(scores), counts=[2]), scores, monkeypatch, {("sinusoidal", 1): "diverged"})
    assert {pair[:2] for pair in frame[frame["subsets"] > 0].index} == {("opr", "opr"), ("rope", "rope")}


def test_the_figure_has_a_panel_per_comparison_and_a_bar_per_number(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(7)
    scores = {name: draws.normal(20, 1, 10) for name in ("sinusoidal", "opr")}
    slice_ = asked(["sinusoidal", "opr"], counts=[1, 2])
    frame = computed(slice_, scores, monkeypatch).reset_index()
    panels = drawn(slice_, frame).axes
    assert len(panels) == 3
    assert [text.get_text() for text in panels[0].get_xticklabels()] == ["1", "2"]
    heights = [patch.get_height() for patch in panels[0].patches]
    first = frame.iloc[0]
    assert heights[:3] == pytest.approx([first["same_order"], 0, 1 - first["same_order"]])
    drawn(slice_, frame.iloc[:0])


def test_the_exact_values_of_bars_name_numbers_outcomes_and_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = np.random.default_rng(10).normal(20, 1, 10)
    scores = {"sinusoidal": usual, "opr": usual + np.repeat([1.0, -1.0], [8, 2])}
    slice_ = asked(list(scores), counts=[1, 2])
    frame = computed(slice_, scores, monkeypatch).reset_index()
    frame.loc[frame["count"] == 2, SHARES] = [0.5, 0.3, 0.2]
    figure = drawn(slice_, frame[frame["encoding"] != frame["other"]])
    figure.draw_without_rendering()
    marks = hints(figure)
    assert [mark.text for mark in marks] == [
        "1 seed per system; same order as all seeds: 80 %",
        "1 seed per system; another order: 20 %",
        "2 seeds per system; as all seeds: 50 %",
        "2 seeds per system; undecided: 30 %",
        "2 seeds per system; otherwise: 20 %",
    ]
    assert marks[2].y > marks[3].y > marks[4].y, "each in the middle of its part of the bar"


def test_differences_have_the_decimals_of_their_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    slice_ = asked(["sinusoidal", "opr"], counts=[1])
    frame = computed(slice_, {"sinusoidal": np.zeros(10), "opr": np.full(10, 0.0016)}, monkeypatch).reset_index()
    comet = slice_.model_copy(update={"report": slice_.report.model_copy(update={"metrics": ["comet"]})})
    for of, difference in ((slice_, "0.00"), (comet, "0.0016")):
        panel = drawn(of, frame.assign(metric=of.report.metrics[0])).axes[0]
        assert f"+{difference}" in panel.get_title()
        assert [text.get_text() for text in panel.texts] == [f"≤ {difference}"]


def test_a_study_with_too_few_seeds_is_refused(config: Path) -> None:
    path = config / "studies" / "demo.yaml"
    text = path.read_text(encoding="utf-8").partition("analyses:")[0] + "analyses:\n  fewer_seeds: {}\n"
    path.write_text(text, encoding="utf-8")
    shipped = Configuration(config)
    with pytest.raises(WordorderError) as caught:
        check_analyses(load_study("demo", config), shipped)
    assert (caught.value.code, caught.value.key) == ("unsuitable-analysis", "analyses.fewer_seeds.counts")


def test_all_seeds_are_tested_at_the_level_of_the_present_look(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(19)
    scores = {"sinusoidal": draws.normal(20, 1, 10), "opr": draws.normal(21, 1, 10)}
    difference = scores["opr"] - scores["sinusoidal"]
    p = stats.ttest_1samp(difference, 0).pvalue
    usual = asked(["sinusoidal", "opr"], counts=[3])
    looks = Looks.model_validate({"looks": [10, 20], "until": 10})
    looked = usual.model_copy(update={"report": usual.report.model_copy(update={"looks": looks})})
    level = level_of(0.05, range(1, 11), looks).level
    assert level < p < 0.05
    first, second = (computed(each, scores, monkeypatch).loc["opr", "sinusoidal", 3] for each in (usual, looked))
    assert first["as all seeds"] == pytest.approx(second["otherwise"]), "found by subsets, and by all seeds in one case"
    assert first["undecided"] == pytest.approx(second["as all seeds"])
