"""``wordorder analyse``, and what a study says of its analyses."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from translated_study import analysed, write_binary, write_sample
from wordorder import workflow as plan
from wordorder.cli.analyses import ANALYSES
from wordorder.cli.main import main
from wordorder.config.analyses import Analyses
from wordorder.config.load import load_dataset, load_study, slice_argument
from wordorder.config.models import Analysed
from wordorder.errors import WordorderError

OF_TRANSLATIONS: dict[str, dict[str, Any]] = {
    "ngram_gap": {"characters": 8, "words": 3, "bleu": 3},
    "length": {"edges": [5, 8, 30]},
    "reordering": {"by": "gold"},
    "position": {},
    "extrapolation": {},
    "sweep": {
        "parameter": "share of words lost",
        "curves": {"noisy": {"sinusoidal": 0.3, "none": 0.6}},
        "scale": "log",
    },
}
ENDINGS = ("svg", "pdf", "png", "csv")
CONFIG = Path(__file__).parents[2] / "config"


def analyse(name: str, asked: Analysed, results: Path, data: Path, prefix: Path) -> int:
    command = ["analyse", name, "--config", plan.canonical(asked), "--results", str(results), "--data", str(data)]
    return main([*command, "--output-prefix", str(prefix)])


@pytest.mark.parametrize("name", OF_TRANSLATIONS)
def test_writes_figure_and_data_and_names_what_is_missing(name: str, tmp_path: Path) -> None:
    results, data = write_sample(tmp_path)
    assert analyse(name, analysed(**{name: OF_TRANSLATIONS[name]}), results, data, tmp_path / "out" / name) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {f"{name}.{end}" for end in ENDINGS}
    drawn = " ".join(re.findall(r">([^<>]+)</text>", (tmp_path / "out" / f"{name}.svg").read_text(encoding="utf-8")))
    for text in ("opr", "none, 1 of 2 cells (diverged)", "untrained, 2 of 2 cells (missing)"):
        assert text in drawn
    data_drawn = pd.read_csv(tmp_path / "out" / f"{name}.csv", keep_default_na=False)
    assert set(data_drawn["encoding"]) == {"sinusoidal", "opr", "none", "untrained"}


def test_the_same_data_give_the_same_bytes(tmp_path: Path) -> None:
    results, data = write_sample(tmp_path)
    for folder in ("one", "two"):
        assert analyse("position", analysed(position={}), results, data, tmp_path / folder / "position") == 0
    for end in ENDINGS:
        one, two = (tmp_path / folder / f"position.{end}" for folder in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()


def test_a_figure_says_that_no_sentence_is_longer(tmp_path: Path) -> None:
    results, data = write_sample(tmp_path)
    write_binary(data, "train", range(20, 60))
    assert analyse("extrapolation", analysed(extrapolation={}), results, data, tmp_path / "figure") == 0
    assert "no sentences<" in (tmp_path / "figure.svg").read_text(encoding="utf-8")
    rows = pd.read_csv(tmp_path / "figure.csv")
    assert set(rows.loc[rows["bucket"] == "beyond", "status"]) == {"no sentences"}


def test_a_study_without_any_translation_still_has_its_figures(tmp_path: Path) -> None:
    _, data = write_sample(tmp_path)
    (tmp_path / "nothing").mkdir()
    for name, settings in OF_TRANSLATIONS.items():
        assert analyse(name, analysed(**{name: settings}), tmp_path / "nothing", data, tmp_path / name) == 0
        assert "(missing)" in (tmp_path / f"{name}.svg").read_text(encoding="utf-8")


def test_settings_of_another_analysis_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert analyse("length", analysed(position={}), tmp_path, tmp_path, tmp_path / "figure") == 1
    assert "must hold the settings of 'length' and of no other analysis, but it holds position." in (
        capsys.readouterr().err
    )


# ---------------------------------------------------------------------------------------------------- configuration


def test_every_analysis_has_its_settings_and_its_modules() -> None:
    assert set(Analyses.model_fields) == set(ANALYSES)
    for computing, drawing in ANALYSES.values():
        assert callable(import_module(computing).frame) and callable(import_module(drawing).draw)


def test_what_is_not_named_is_not_wanted_and_a_bare_name_asks_for_defaults() -> None:
    asked = Analyses.model_validate_json('{"length": null, "position": {"bins": 5}}')
    assert asked.names == ["length", "position"]
    assert asked.length is not None and asked.length.edges == [20, 40, 60]
    assert Analyses().names == []
    # What a study does not want is not in its slices, so that a new kind of analysis changes none of them.
    assert set(json.loads(asked.model_dump_json())) == {"length", "position"}


def test_edges_must_rise() -> None:
    with pytest.raises(WordorderError, match=r"the edges must rise, but are \[20, 10\]"):
        slice_argument('{"length": {"edges": [20, 10]}}', Analyses)


def test_a_slice_holds_the_settings_of_one_analysis() -> None:
    study = load_study("multi30k", CONFIG)
    datasets = [load_dataset(name, CONFIG) for name in study.datasets]
    asked = slice_argument(plan.analysis_slice(study, datasets, "length"), Analysed)
    assert asked.settings.names == ["length"] and asked.settings.length == study.analyses.length
    assert asked.target_languages == {"multi30k": "de"} and asked.source_languages == {"multi30k": "en"}
    other = study.model_copy(update={"analyses": Analyses.model_validate({"length": {"edges": [3]}, "position": {}})})
    assert plan.analysis_slice(other, datasets, "length") != plan.analysis_slice(study, datasets, "length")
    assert plan.analysis_slice(other, datasets, "position") == plan.analysis_slice(study, datasets, "position")


@pytest.mark.parametrize(
    ("analyses", "error"),
    [
        ("reordering: {by: gold}", "the dataset 'multi30k' has no gold trees"),
        ("reordering: {aligner: eflomal}", "'analyses.reordering.aligner' is 'eflomal', but only an aligner of type"),
        ("lenght: {}", r"'analyses\.lenght' is no known key; did you mean 'length'\?"),
    ],
)
def test_a_study_that_asks_for_what_cannot_be_is_told(analyses: str, error: str, config: Path) -> None:
    path = config / "studies" / "multi30k.yaml"
    path.write_text(path.read_text(encoding="utf-8").partition("analyses:")[0] + f"analyses: {{{analyses}}}\n")
    with pytest.raises(WordorderError, match=error):
        plan.check("multi30k", config)


def test_words_of_a_language_without_spaces_are_not_counted(config: Path) -> None:
    study = load_study("multi30k", config)
    dataset = load_dataset("multi30k", config).model_copy(update={"source_language": "zh-TW"})
    with pytest.raises(WordorderError, match=r"Set 'analyses\.length\.unit' to 'subword'"):
        plan.check_analyses(study, [dataset], config)
