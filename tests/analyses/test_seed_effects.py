"""How much each seed changes the scores of each encoding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis_runs import drawn
from evaluation_samples import report
from wordorder.config.models import Analysed
from wordorder.results import frames

ASKED = Analysed.model_validate(
    {
        "report": report(["sinusoidal", "opr", "none"], [1, 2, 3, 4], tests=("test",)),
        "settings": {"seed_effects": {}},
        "source_languages": {"pair": "en"},
        "target_languages": {"pair": "de"},
    }
)
SCORES = {"sinusoidal": [20.0, 21.0, 19.0, 20.0], "opr": [30.0, 32.0, 28.0, 30.0], "none": [5.0, 4.0, 6.0, np.nan]}


def computed(monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    rows = [
        {"dataset": "pair", "size": "tiny", "encoding": name, "seed": seed, "test": "test", "metric": "bleu"}
        | {"score": score, "status": "diverged" if np.isnan(score) else "scored", "signature": ""}
        for name, of in SCORES.items()
        for seed, score in enumerate(of, 1)
    ]
    monkeypatch.setattr(frames, "load_scores", lambda *_: pd.DataFrame(rows))
    frame: pd.DataFrame = ASKED.settings["seed_effects"].frame(ASKED, Path(), Path())
    return frame


def test_effects_are_distances_from_the_mean_of_the_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = computed(monkeypatch)
    assert list(rows["encoding"].unique()) == list(SCORES), "in the order of the study"
    assert list(rows[rows["encoding"] == "opr"]["effect"]) == [0, 2, -2, 0]
    assert set(rows[rows["encoding"] == "none"]["seeds"]) == {3}


def test_seeds_that_are_good_for_both_are_correlated(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = computed(monkeypatch).drop_duplicates("encoding").set_index("encoding")
    assert rows["correlation"].to_dict() == pytest.approx({"sinusoidal": 1, "opr": 1, "none": -1})


def test_an_encoding_without_scores_keeps_its_place_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCORES, "opr", [np.nan] * 4)
    figure = drawn(ASKED, computed(monkeypatch))
    (panel,) = figure.axes
    assert [text.get_text().split("\n") for text in panel.get_xticklabels()][1] == ["opr", "no sd"]
    assert "No scores: opr, 4 of 4 cells (diverged)" in figure.get_supxlabel().replace("\n", " ")


def test_comet_without_its_model_is_no_cell_without_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = computed(monkeypatch)
    empty = {"metric": "comet", "score": np.nan, "effect": np.nan, "sd": np.nan}
    comet = rows.assign(**empty, status=rows["status"].replace("scored", "not scored"))
    figure = drawn(ASKED, pd.concat([rows, comet], ignore_index=True))
    assert figure.get_supxlabel().replace("\n", " ") == "No scores: none, 1 of 4 cells (diverged)"
    assert [text.get_text() for text in figure.axes[1].texts] == ["not scored"]


def test_a_line_joins_each_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    (panel,) = drawn(ASKED, computed(monkeypatch)).axes
    lines = [list(line.get_ydata()) for line in panel.lines]
    assert [0.0, 0.0, 0.0] in [np.nan_to_num(line).tolist() for line in lines]
    assert [1.0, 2.0, -1.0] in lines
    assert [text.get_text().split("\n")[0] for text in panel.get_xticklabels()] == list(SCORES)


def test_deviations_have_the_decimals_of_their_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = computed(monkeypatch)
    rows[["sd", "effect"]] /= 1000
    for metric, sd in (("bleu", "sd 0.00"), ("comet", "sd 0.0016")):
        (panel,) = drawn(ASKED, rows.assign(metric=metric)).axes
        assert panel.get_xticklabels()[1].get_text().split("\n")[1] == sd


def test_two_seeds_have_no_correlation(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would always be 1 or -1."""
    monkeypatch.setitem(SCORES, "none", [5.0, 4.0, np.nan, np.nan])
    rows = computed(monkeypatch)
    assert rows.loc[rows["encoding"] == "none", "correlation"].isna().all()
    assert rows.loc[rows["encoding"] == "opr", "correlation"].notna().all()
