"""Scores against the number of a sweep."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pandas as pd
import pytest

from analysis_runs import computed, drawn
from snakemake_runs import ROOT
from translated_study import analysed, write_sample
from wordorder.config.analyses import Analyses
from wordorder.config.load import slice_argument
from wordorder.errors import WordorderError
from wordorder.results.frames import load_scores
from wordorder.workflow.analyses import check_analyses
from wordorder.workflow.configuration import Configuration

SWEEP = {"parameter": "k", "curves": {"waves": {"opr": 8, "sinusoidal": 2}}}


def test_the_sweep_comes_first_by_its_numbers_with_the_scores_of_every_seed(tmp_path: Path) -> None:
    results, data = write_sample(tmp_path)
    asked = analysed(sweep=SWEEP)
    rows = computed(asked, results, data)
    bleu = rows[rows["metric"] == "bleu"]
    assert list(bleu["encoding"].unique()) == ["sinusoidal", "opr", "none", "untrained"]
    assert list(bleu["value"].dropna()) == [2, 2, 8, 8]
    assert list(bleu["curve"]) == ["waves"] * 4 + [""] * 4
    scores = load_scores(asked.report, results).set_index(["encoding", "seed", "metric"])["score"]
    opr = bleu[bleu["encoding"] == "opr"]
    assert list(opr["score"]) == [scores["opr", 1, "bleu"], scores["opr", 2, "bleu"]]
    assert set(opr["mean"]) == {opr["score"].mean()} and set(opr["seeds"]) == {2}
    assert opr["sd"].iloc[0] == pytest.approx(abs(opr["score"].iloc[0] - opr["score"].iloc[1]) / 2**0.5)
    lost = bleu[bleu["encoding"] == "none"]
    assert list(lost["status"]) == ["scored", "diverged"] and set(lost["seeds"]) == {1}


def test_the_line_goes_through_the_means_and_others_are_levels(tmp_path: Path) -> None:
    results, data = write_sample(tmp_path)
    rows = computed(asked := analysed(sweep=SWEEP), results, data)
    panel = drawn(asked, rows).axes[0]
    bleu = rows[rows["metric"] == "bleu"].drop_duplicates("encoding").set_index("encoding")
    line, level = panel.containers[0].lines[0], next(line for line in panel.lines if line.get_label() == "none")
    assert list(line.get_xdata()) == [2, 8]
    assert list(line.get_ydata()) == [bleu["mean"]["sinusoidal"], bleu["mean"]["opr"]]
    assert set(level.get_ydata()) == {bleu["mean"]["none"]}
    assert [text.get_text() for text in panel.get_xticklabels()] == ["2", "8"]


def test_comet_without_its_model_is_no_cell_without_scores(tmp_path: Path) -> None:
    results, data = write_sample(tmp_path)
    rows = computed(asked := analysed(sweep=SWEEP), results, data)
    comet = rows[rows["metric"] == "bleu"].assign(metric="comet", score=float("nan"))
    comet["status"] = comet["status"].replace("scored", "not scored")
    figure = drawn(asked, pd.concat([rows, comet], ignore_index=True))
    legends = [legend.get_title().get_text() for legend in figure.legends]
    assert legends == [legend.get_title().get_text() for legend in drawn(asked, rows).legends]
    assert "not scored" in [text.get_text() for text in figure.axes[-1].texts]


def test_comet_that_scored_only_some_test_sets_loses_no_cell_on_the_others(tmp_path: Path) -> None:
    results, data = write_sample(tmp_path)
    rows = computed(asked := analysed(sweep=SWEEP), results, data)
    bleu = rows[rows["metric"] == "bleu"]
    both = pd.concat([bleu, bleu.assign(test="test_2")], ignore_index=True)
    comet = both.assign(metric="comet")
    lost = comet["test"] == "test_2"
    comet.loc[lost, "score"] = float("nan")
    comet.loc[lost, "status"] = comet["status"].replace("scored", "not scored")
    figure = drawn(asked, pd.concat([both, comet], ignore_index=True))
    assert "not scored" not in figure.legends[0].get_title().get_text().replace("\n", " ")
    assert [text.get_text() for text in figure.axes[-1].texts] == ["not scored"]


@pytest.mark.parametrize(
    ("text", "code", "key"),
    [
        ('"curves": {}', "wrong-length", "sweep.curves"),
        ('"curves": {"c": {"a": 1}}', "wrong-length", "sweep.curves.c"),
        ('"curves": {"c": {"a": 1, "b": 1}}', "invalid-value", "sweep"),
        ('"curves": {"c": {"a": 1, "b": 2}, "d": {"a": 1, "e": 2}}', "invalid-value", "sweep"),
        ('"curves": {"c": {"a": 0, "b": 1}}, "scale": "log"', "invalid-value", "sweep"),
    ],
)
def test_mistakes(text: str, code: str, key: str) -> None:
    with pytest.raises(WordorderError) as caught:
        slice_argument(f'{{"sweep": {{"parameter": "k", {text}}}}}', Analyses)
    assert (caught.value.parts[0].code, caught.value.parts[0].key) == (code, key)


def test_a_curve_is_not_named_like_an_encoding_beside_it() -> None:
    """The legend would show both by one name."""
    configuration = Configuration(ROOT / "config")
    study = configuration.study("opr_k_mini")
    names = [name for name in study.encodings if name.startswith("opr_") and not name.endswith("rpr")][:2]
    for name, fits in (("sinusoidal", False), (names[0], True)):
        sweep = {"sweep": {"parameter": "k", "curves": {name: dict.fromkeys(names, 1) | {names[0]: 2}}}}
        changed = study.model_copy(update={"analyses": Analyses.model_validate(sweep)})
        with nullcontext() if fits else pytest.raises(WordorderError) as caught:
            check_analyses(changed, configuration)
        assert fits or (caught.value.key == f"analyses.sweep.curves.{name}")
