"""Results and comparisons as data frames, and trained models that translate."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import wordorder
from evaluation_samples import noisy, sentences
from little_study import Workspace
from raises import raises
from snakemake_runs import ROOT
from wordorder.api.comparisons import comparison_text
from wordorder.files import read_json, write_json, write_text
from wordorder.results.bundle import unpack
from wordorder.results.index import read_index, write_index
from wordorder.workflow.addresses import decoding_label
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.models import cell_files

DEMO = ROOT / "results" / "reference" / "demo"


def test_results_have_one_row_per_score() -> None:
    scores, table = wordorder.load_results(DEMO), wordorder.load_table(DEMO)
    assert len(scores) == len(table) * 3
    row = table[(table["encoding"] == "opr") & (table["metric"] == "bleu")].iloc[0]
    own = scores[(scores["encoding"] == "opr") & (scores["metric"] == "bleu")]
    assert list(own["seed"]) == [1, 2, 3]
    assert np.isclose(own["score"].mean(), row["mean"]) and np.isclose(own["score"].std(), row["sd"])


def test_missing_results_are_named(tmp_path: Path) -> None:
    with raises(code="no-results", path=tmp_path / "nothing"):
        wordorder.load_results("nothing", results=tmp_path)
    with raises(code="unknown-name", suggestion="parameters"):
        wordorder.load_table(DEMO, "parameter")


def test_a_better_system_is_found() -> None:
    references = sentences(60)
    better = [noisy(references, 0.1, seed) for seed in (1, 2, 3)]
    worse = [noisy(references, 0.5, seed) for seed in (4, 5, 6)]
    found = wordorder.compare_outputs(better, worse, references, target_language="de", metrics=["bleu"])
    assert list(found["outcome"]) == ["better"] and found["low"][0] > 0
    assert wordorder.compare_outputs(worse, better, references, target_language="de", metrics=["bleu"])["difference"][
        0
    ] == pytest.approx(-found["difference"][0])


def test_ends_of_lines_do_not_matter() -> None:
    references = sentences(40)
    outputs = [[noisy(references, rate, seed) for seed in (1, 2)] for rate in (0.1, 0.5)]
    plain, ended = (
        wordorder.compare_outputs(
            *[[[line + end for line in lines] for lines in own] for own in outputs],
            [line + end for line in references],
            target_language="de",
            metrics=["bleu"],
        )
        for end in ("", "\n")
    )
    assert plain.equals(ended)


def test_arrays_and_iterators_are_lists_of_lines() -> None:
    references = sentences(40)
    outputs = [[noisy(references, rate, seed) for seed in (1, 2)] for rate in (0.1, 0.5)]
    options: Any = {"target_language": "de", "metrics": ["bleu"]}
    plain = wordorder.compare_outputs(*outputs, references, **options)
    arrays: Any = [np.array(own) for own in outputs]
    assert wordorder.compare_outputs(*arrays, iter(references), **options).equals(plain)


def test_one_seed_has_paired_tests_only() -> None:
    references = sentences(60)
    found = wordorder.compare_outputs(
        [noisy(references, 0.1, 1)], [noisy(references, 0.5, 2)], references, target_language="de", metrics=["bleu"]
    )
    assert found["p"].isna().all() and found["bootstrap p seed 1"][0] < 0.05


def test_as_many_seeds_of_both_are_needed() -> None:
    with raises(code="different-seeds", found=2, expected=1):
        wordorder.compare_outputs([["a"], ["b"]], [["a"]], ["a"], target_language="de")


def test_mistakes_in_outputs_are_named_before_work() -> None:
    lines = ["a cat", "a dog", "a bird"]
    language = {"target_language": "en"}
    with raises(code="different-lengths", key="system", found=2, expected=3, says="Seed 1 of the system has 2 lines"):
        wordorder.compare_outputs([lines[:2]], [lines], lines, **language)
    with raises(code="different-lengths", key="baseline", found=0, says="Seed 2 of the baseline"):
        wordorder.compare_outputs([lines, lines], [lines, []], lines, **language)
    with raises(code="not-a-list", key="system"):
        wordorder.compare_outputs(lines, lines, lines, **language)
    with raises(code="no-references"):
        wordorder.compare_outputs([[]], [[]], [], **language)
    with raises(code="not-a-list", key="metrics", found="bleu"):
        wordorder.compare_outputs([lines], [lines], lines, metrics="bleu", **language)
    for name, suggestion in (("chrf+", "chrf++"), ("comet", None)):  # COMET needs an environment of its own
        with raises(code="unknown-name", key="metrics", suggestion=suggestion):
            wordorder.compare_outputs([lines], [lines], lines, metrics=[name], **language)
    with raises(code="not-a-list", key="references"):
        wordorder.compare_outputs([lines], [lines], "a text", **language)
    with raises(code="wrong-type", key="baseline", line=2):
        wordorder.compare_outputs([lines], [["a", None, "b"]], lines, **language)  # type: ignore[list-item]
    with raises(code="wrong-type", key="target_language"):
        wordorder.compare_outputs([lines], [lines], lines, target_language=None)  # type: ignore[arg-type]
    for margin in (-1.0, 0.0, float("nan"), "0.5"):
        with raises(code="wrong-margin", key="margin"):
            wordorder.compare_outputs([lines], [lines], lines, metrics=["chrf"], margin=margin, **language)


def test_unknown_names_of_a_model_are_named(tmp_path: Path) -> None:
    where = {"results": tmp_path, "root": ROOT / "config"}
    with raises(code="unknown-name", key="encoding", suggestion="opr"):
        wordorder.load_model("demo", "oprr", **where)
    with raises(code="unknown-name", key="seed", found="77", expected=["1", "2", "3"]):
        wordorder.load_model("demo", "opr", seed=77, **where)
    with raises(code="missing-file"):
        wordorder.load_model("demo", "opr", seed="1", **where)
    with raises(code="out-of-range", key="threads"):
        wordorder.load_model("demo", "opr", threads=0, **where)
    for key in ("dataset", "size"):
        with raises(code="unknown-name", key=key, found="nope"):
            wordorder.load_model("demo", "opr", **{key: "nope"}, **where)
    with raises(code="unknown-name", key="size", found="tiny_1450", expected=["tiny"]):
        wordorder.load_model("captions_parameters", "deberta", size="tiny_1450", **where)


@pytest.fixture
def demo(tmp_path: Path) -> dict[str, Path]:
    """Where the results of the study 'demo' are, without models."""
    unpack(DEMO, tmp_path / "demo")
    return {"results": tmp_path, "root": ROOT / "config"}


def test_missing_translations_are_named(demo: dict[str, Path]) -> None:
    cells = read_index(demo["results"] / "demo").cells
    for (_, _, encoding, seed), cell in cells.items():
        if (encoding, seed) in {("opr", 2), ("none", 1)}:
            for path in cell.folder.rglob("*.hypotheses"):
                path.unlink()
    with raises(code="missing-translations", says="'opr' with seed 2") as raised:
        wordorder.compare_encodings("opr", "sinusoidal", "demo", **demo)
    assert len(raised.error.found) == 1, "'none' is not compared"


def test_a_diverged_training_is_noted(demo: dict[str, Path]) -> None:
    cells = read_index(demo["results"] / "demo").cells
    for (_, _, encoding, seed), cell in cells.items():
        diverged = (encoding, seed) == ("opr", 2)
        if diverged:
            write_json(cell.record, read_json(cell.record) | {"status": "diverged"})
        for path in cell.folder.rglob("*.hypotheses"):
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)[:20]
            write_text(demo["results"] / f"data/grammar/raw/{path.stem}.target", "".join(lines))
            write_text(path, "" if diverged else "".join(lines))
    text = comparison_text(wordorder.compare_encodings("opr", "sinusoidal", "demo", **demo))
    assert "Without translations: " in text.splitlines()[-1] and "seed 2" in text.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.xdist_group("finished_study")
def test_a_finished_study_is_read_translated_and_compared(finished: Workspace) -> None:
    where = {"results": finished.folder / "results", "root": finished.config}
    model = wordorder.load_model("little", "opr", **where)
    source = finished.folder / "results/data/pair/raw/test.source"
    lines = source.read_text().splitlines()[:3]
    assert len(model.translate(lines)) == 3
    with pytest.raises(TypeError, match="a list of sentences"):
        model.translate(lines[0])
    assert model.module.encoding.config.type == "opr" and model.target_language == "xx"
    assert set(wordorder.load_results("little", results=where["results"])["encoding"]) == {"opr", "sinusoidal"}
    compared = wordorder.compare_encodings("opr", "sinusoidal", "little", **where)
    assert list(compared["system"].unique()) == ["opr"]
    with raises(code="unknown-name", suggestion="opr"):
        wordorder.compare_encodings("op", "sinusoidal", "little", **where)
    with raises(code="same-encoding"):
        wordorder.compare_encodings("opr", "opr", "little", **where)


@pytest.mark.parametrize("edit", [{"recipe": {"max_epochs": 5}}, {"decoding": {"beam": 7}}], ids=["recipe", "decoding"])
def test_a_study_that_changed_after_its_run_is_an_error(tmp_path: Path, edit: dict[str, object]) -> None:
    """Its old models are not those that the study describes."""
    root, results = tmp_path / "config", tmp_path / "results"
    shutil.copytree(ROOT / "config", root)
    configuration = Configuration(root)
    study = configuration.study("demo")
    rows = {
        (cell.dataset, cell.size, cell.encoding, cell.seed): f"../models/{files.folder.relative_to(results / 'models')}"
        for cell, files in cell_files(study, configuration, results).items()
    }
    decodings = {name: decoding_label(own) for name, own in study.decodings.items()}
    write_index(results / "demo", rows, decodings, dict.fromkeys(study.datasets, "scores"), {})
    where = {"results": results, "root": root}
    with raises(code="missing-translations"):
        wordorder.compare_encodings("opr", "sinusoidal", "demo", **where)
    path = root / "studies/demo.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text(encoding="utf-8")) | edit), encoding="utf-8")
    with raises(code="edited-study", says="wordorder run demo"):
        wordorder.compare_encodings("opr", "sinusoidal", "demo", **where)
    with raises(code="edited-study"):
        wordorder.load_model("demo", "opr", **where)
