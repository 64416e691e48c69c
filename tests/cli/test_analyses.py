"""Tests of ``wordorder stage analyse``, and of the checks of a study's analyses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from index_samples import index_cells
from raises import raises
from translated_study import analysed, write_binary, write_sample
from wordorder.analyses.base import REGISTRY
from wordorder.analyses.measure import the_analysis
from wordorder.cli.main import main
from wordorder.config.analyses import Analyses
from wordorder.config.load import load_dataset, load_study, slice_argument
from wordorder.config.models import Analysed, Study
from wordorder.errors import WordorderError
from wordorder.integrity import is_note
from wordorder.workflow.analyses import (
    check_analyses,
    gold_splits,
    measure_slice,
    measured_analysis,
    measured_content,
    measured_sets,
    studied_dataset,
)
from wordorder.workflow.checks import check
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.slices import canonical
from wordorder.workflow.study_slices import analysis_slice

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
SHIPPED = Configuration(CONFIG)


def analyse(name: str, asked: Analysed, results: Path, data: Path, prefix: Path) -> int:
    folders = ["--results", str(results), "--data", str(data), "--output-prefix", str(prefix)]
    return main(["stage", "analyse", name, "--config", canonical(asked), *folders])


@pytest.mark.parametrize("name", OF_TRANSLATIONS)
def test_writes_figure_and_data_and_names_what_is_missing(name: str, tmp_path: Path) -> None:
    results, data = write_sample(tmp_path)
    assert analyse(name, analysed(**{name: OF_TRANSLATIONS[name]}), results, data, tmp_path / "out" / name) == 0
    assert {path.name for path in (tmp_path / "out").iterdir() if not is_note(path)} == {
        f"{name}.{end}" for end in ENDINGS
    }
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
    for name, settings in OF_TRANSLATIONS.items():
        index_cells(tmp_path / "nothing", analysed(**{name: settings}).report)
        assert analyse(name, analysed(**{name: settings}), tmp_path / "nothing", data, tmp_path / name) == 0
        assert "(missing)" in (tmp_path / f"{name}.svg").read_text(encoding="utf-8")


def test_settings_of_another_analysis_are_refused() -> None:
    with pytest.raises(WordorderError) as caught:
        the_analysis(Analyses({"position": None}), "length")
    assert (caught.value.code, caught.value.key) == ("wrong-slice", "--config")


# ---------------------------------------------------------------------------------------------------- configuration


def test_every_analysis_is_one_file_that_says_everything() -> None:
    assert len(REGISTRY.names()) == 13
    for analysis in REGISTRY:
        assert len(analysis.caption) > 60 and analysis.__doc__
        # Nothing that it must define is left to the base class.
        assert not analysis.__abstractmethods__, analysis
        assert REGISTRY.module(analysis.name).__name__ == f"wordorder.analyses.{analysis.name}"


def test_all_analyses_are_known_without_what_only_their_jobs_need() -> None:
    code = (
        "import sys; from wordorder.config.load import load_study; from wordorder.analyses.base import REGISTRY; "
        f"study = load_study('arena_mini', {str(CONFIG)!r}); assert study.analyses.names and REGISTRY.names(); "
        "print(*({'torch', 'matplotlib', 'scipy', 'pandas', 'sacrebleu'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_what_is_not_named_is_not_wanted_and_a_bare_name_asks_for_defaults() -> None:
    asked = Analyses.model_validate_json('{"position": {"bins": 5}, "length": null}')
    assert asked.names == ["position", "length"], "in the order of the study"
    assert asked["length"].edges == [20, 40, 60] and asked["position"].bins == 5
    assert Analyses({}).names == []
    assert json.loads(asked.model_dump_json()).keys() == {"length", "position"}
    assert Analyses.model_validate_json(asked.model_dump_json()) == asked


def test_edges_must_rise() -> None:
    with raises("invalid-configuration", key="length", found={"edges": [20, 10]}):
        slice_argument('{"length": {"edges": [20, 10]}}', Analyses)


def test_a_slice_holds_the_settings_of_one_analysis() -> None:
    study = load_study("multi30k", CONFIG)
    asked = slice_argument(analysis_slice(study, SHIPPED, "length"), Analysed)
    assert asked.settings.names == ["length"] and asked.settings["length"] == study.analyses["length"]
    assert asked.target_languages == {"multi30k": "de"} and asked.source_languages == {"multi30k": "en"}
    other = study.model_copy(update={"analyses": Analyses.model_validate({"length": {"edges": [3]}, "position": {}})})
    assert analysis_slice(other, SHIPPED, "length") != analysis_slice(study, SHIPPED, "length")
    assert analysis_slice(other, SHIPPED, "position") == analysis_slice(study, SHIPPED, "position")


def asking(analyses: str, config: Path) -> Path:
    """Return the study multi30k with these analyses."""
    path = config / "studies" / "multi30k.yaml"
    path.write_text(path.read_text(encoding="utf-8").partition("analyses:")[0] + f"analyses:\n  {analyses}\n")
    return path


@pytest.mark.parametrize(
    ("analyses", "key"),
    [
        ("reordering: {by: gold}", "reordering.by"),
        ("reordering: {aligner: nothing}", "reordering.aligner"),
        ("sweep: {parameter: k, curves: {waves: {opr: 1, nobody: 2}}}", "sweep.curves.waves"),
        ("alignment: {sets: [nowhere]}", "alignment.sets"),
    ],
)
def test_a_study_that_asks_for_what_cannot_be_is_told(analyses: str, key: str, config: Path) -> None:
    path = asking(analyses, config)
    study = load_study("multi30k", config)
    with pytest.raises(WordorderError) as caught:
        check_analyses(study, Configuration(config))
    error = caught.value
    assert (error.code, error.key, error.path) == ("unsuitable-analysis", f"analyses.{key}", path)
    assert error.line == len(path.read_text(encoding="utf-8").splitlines())
    with raises("unsuitable-analysis", path, error.line, f"analyses.{key}"):
        check(study, Configuration(config))


@pytest.mark.parametrize(
    ("analyses", "code", "key", "suggestion"),
    [
        ("lenght: {}", "unknown-key", "analyses.lenght", "length"),
        ("length: {edge: [1]}", "unknown-key", "analyses.length.edge", "edges"),
        ("length: {edges: [1, x]}", "wrong-type", "analyses.length.edges[1]", None),
        ("length: {unit: words}", "unknown-choice", "analyses.length.unit", "word"),
        ("length: {edges: [2, 1]}", "invalid-value", "analyses.length", None),
        ("alignment: {heads: [-1]}", "out-of-range", "analyses.alignment.heads", None),
    ],
)
def test_a_mistake_is_told_with_its_place(
    analyses: str, code: str, key: str, suggestion: str | None, config: Path
) -> None:
    path = asking(analyses, config)
    with pytest.raises(WordorderError) as caught:
        load_study("multi30k", config)
    error = caught.value.parts[0]
    assert (error.code, error.suggestion) == (code, suggestion)
    assert error.key is not None and error.key.startswith(key)
    assert (error.path, error.line) == (path, len(path.read_text(encoding="utf-8").splitlines()))


def test_words_of_a_language_without_spaces_are_not_counted(config: Path) -> None:
    path = config / "datasets" / "multi30k.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("source_language: en", "source_language: zh-TW"))
    with pytest.raises(WordorderError) as caught:
        check_analyses(load_study("multi30k", config), Configuration(config))
    assert caught.value.key == "analyses.length.unit"


# --------------------------------------------------------------------------------------------- what the workflow asks


def files(study: Study, name: str) -> set[tuple[str, str]]:
    dataset = studied_dataset(study, load_dataset(study.datasets[0], CONFIG), SHIPPED)
    return {(each.kind, each.path) for each in study.analyses[name].inputs(dataset)}


def test_analyses_name_what_they_read() -> None:
    study = load_study("multi30k", CONFIG)
    test = study.tests[0] if study.tests else load_dataset("multi30k", CONFIG).test_names[0]
    wanted = {"length": {"unit": "subword"}, "reordering": None, "extrapolation": None, "perplexity": None}
    study = study.model_copy(update={"analyses": Analyses(wanted)})
    always = {("translations", ""), ("records", "")}
    assert files(study, "length") >= always | {("file", f"raw/{test}.target"), ("corpus", test)}
    assert ("file", f"alignment/hmm/{test}.links") in files(study, "reordering")
    assert ("corpus", "train") in files(study, "extrapolation")
    assert files(study, "perplexity") == {("measures", "")}
    assert measured_sets(study, load_dataset("multi30k", CONFIG), "length", SHIPPED) == []
    assert test in measured_sets(study, load_dataset("multi30k", CONFIG), "perplexity", SHIPPED)


def test_the_sets_of_the_alignment_are_no_part_of_the_settings_that_are_measured() -> None:
    study, dataset = load_study("multi30k", CONFIG), load_dataset("multi30k", CONFIG)
    slices, settings = [], []
    for given in ({"sets": ["gold"]}, {"sets": ["europarl100-de-en"]}, {"layer": -1}):
        asked = study.model_copy(update={"analyses": Analyses({"alignment": given})})
        content = measured_content(asked, dataset, "alignment", SHIPPED)
        settings.append(content["settings"])
        slices.append(measure_slice(dataset, measured_analysis(content)))
    assert slices[0] == slices[1] != slices[2]
    assert settings[0] == settings[1] != settings[2]
    fitting = study.model_copy(update={"analyses": Analyses({"alignment": {"sets": ["europarl100-de-en"]}})})
    assert measured_sets(fitting, dataset, "alignment", SHIPPED) == ["gold.europarl100-de-en"]
    assert gold_splits(fitting, dataset, SHIPPED) == ["gold.europarl100-de-en"]
    with pytest.raises(WordorderError) as caught:
        measured_content(study, dataset, "length", SHIPPED)
    assert caught.value.code == "no-measure"
