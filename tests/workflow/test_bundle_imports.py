"""Test that a study imports the results of a bundle's models and trains only the models that the bundle lacks."""

from __future__ import annotations

import shutil
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bundle_files import change_records
from little_study import Workspace
from snakemake_runs import dry_run, outputs, snakemake
from wordorder.cli.main import main
from wordorder.config.models import Study
from wordorder.errors import WordorderError
from wordorder.files import read_json, write_text
from wordorder.workflow.bundle_imports import Imported, import_bundle, imported_text, needing_weights
from wordorder.workflow.configuration import Configuration

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("finished_study")]  # one process, so that the study is run once

# One encoding and one metric more; no figure that reads weights.
MORE = """
name: more
based_on: little
title: One encoding more
encodings: [opr, sinusoidal, none]
metrics: [bleu, ter]
figures: [scores, perplexity]
"""
WORK = ("train_model", "evaluate_model", "measure_model")


@pytest.fixture
def elsewhere(study: Workspace, tmp_path: Path) -> Workspace:
    """The configuration on another machine, which has prepared the data and trained nothing."""
    study.change("encodings.yaml", "sinusoidal:", "none: {type: none}\nsinusoidal:")
    (study.config / "studies/more.yaml").write_text(MORE)
    other = Workspace(tmp_path / "elsewhere")
    shutil.copytree(study.config, other.config)
    return other


def run(workspace: Workspace, target: str, name: str = "little") -> None:
    done = snakemake(workspace.folder, target, *workspace.arguments()[1:], f"study={name}")
    assert done.returncode == 0, done.stdout + done.stderr


def bundled(workspace: Workspace, bundle: Path) -> Path:
    """Write the bundle of the finished study."""
    options = ["--results", str(workspace.folder / "results"), "--root", str(workspace.config)]
    assert main(["stage", "write-reference", "little", *options, "--output", str(bundle)]) == 0
    return bundle


def jobs(workspace: Workspace, target: str) -> dict[str, list[str]]:
    found = outputs(dry_run(workspace.folder, target, *workspace.arguments()[1:]))
    return {rule: found[rule] for rule in WORK if rule in found}


def imported(workspace: Workspace, bundle: Path, name: str = "more", **changes: Any) -> Imported:
    configuration = Configuration(workspace.config)
    study: Study = configuration.study(name).model_copy(update=changes)
    return import_bundle(bundle, study, configuration, workspace.folder / "results")


def test_only_the_models_that_the_bundle_lacks_are_trained(
    study: Workspace, elsewhere: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for place in (study, elsewhere):
        place.change("studies/little.yaml", "baseline:", "analyses: {attention_distance: {}}\nbaseline:")
    run(study, "little")
    bundle = bundled(study, tmp_path / "bundle")
    with pytest.raises(WordorderError) as raised:
        imported(elsewhere, bundle)
    assert raised.value.code == "not-prepared"
    run(elsewhere, "prepare_all", "more")
    results = elsewhere.folder / "results"
    options = ["--results", str(results), "--root", str(elsewhere.config)]
    capsys.readouterr()
    assert main(["stage", "import-reference", "more", str(bundle), *options]) == 0
    assert capsys.readouterr().out == f"{bundle}: 2 models imported, 0 models there before.\n"
    assert [*map(len, (imported(elsewhere, bundle).taken, imported(elsewhere, bundle).present))] == [0, 2]

    assert jobs(elsewhere, "more") == {
        "train_model": [elsewhere.cell("none", "model.pt", study="more")],
        "evaluate_model": [elsewhere.evaluation("none", study="more")],
        "measure_model": [elsewhere.measures("none", "attention_distance", study="more")],
    }
    run(elsewhere, "more")
    ours, theirs = (
        pd.read_csv(place / "tables/scores.csv").query("metric == 'bleu' and encoding != 'none'")
        for place in (results / "more", study.folder / "results/little")
    )
    assert ours["mean"].tolist() == theirs["mean"].tolist()
    figures = pd.read_csv(results / "more/figures/perplexity.csv")
    assert set(figures["encoding"]) == {"opr", "sinusoidal", "none"}
    for name, origin in {"opr": "little", "none": None}.items():
        record = read_json(elsewhere.folder / elsewhere.cell(name, "record.json", study="more"))
        assert record.get("imported_from") == origin
    assert "finished, imported from little" in (results / "more/index.html").read_text()
    assert main(["models", *options]) == 0
    assert capsys.readouterr().out.count("no weights") == 2
    assert jobs(elsewhere, "more") == {}


def test_a_model_of_another_configuration_or_of_other_data_is_not_imported(
    study: Workspace, elsewhere: Workspace, tmp_path: Path
) -> None:
    bundle = bundled(study, tmp_path / "bundle")
    shutil.copytree(study.folder / "results/data", elsewhere.folder / "results/data")

    def refused(**changes: Any) -> list[str]:
        found = imported(elsewhere, bundle, **changes)
        assert not found.taken and sorted(chain(*found.refused.values())) == both
        assert all(reason in imported_text(bundle, found) for reason in found.refused)
        return list(found.refused)

    configuration = Configuration(elsewhere.config)
    more = configuration.study("more")
    both = sorted(cell for cell in configured(more) if cell[1] != "none")
    assert (
        "encoding, size, recipe or positions differ"
        in refused(recipe=more.recipe.model_copy(update={"max_updates": 30}))[0]
    )
    assert "no translations with" in refused(decoding=more.decoding.model_copy(update={"beam": 3}))[0]
    assert refused(tests=["test", "other"]) == ["The bundle has no translations of other."]

    reference = elsewhere.folder / "results/data/pair/raw/test.target"
    before = reference.read_text()
    write_text(reference, before.replace(" ", "  ", 1))
    assert refused() == ["The references of test differ from those of the bundle."]
    write_text(reference, before)

    change_records(bundle, lambda lines: [line.replace('"valid":"', '"valid":"0') for line in lines])
    assert "'valid'" in refused()[0]
    unknown = '"train_positions":{"kind":"gold","sha256":"0"},"valid":"'
    change_records(bundle, lambda lines: [line.replace('"valid":"0', unknown) for line in lines])
    assert "positions 'gold' of 'train'" in refused()[0]
    change_records(bundle, lambda lines: [line.replace('"model":', '"was":') for line in lines])
    with pytest.raises(WordorderError) as raised:
        imported(elsewhere, bundle)
    assert raised.value.code == "old-bundle"


def test_a_rebuilt_bundle_is_imported_and_analyses_that_it_did_not_measure_are_named(
    study: Workspace, elsewhere: Workspace, tmp_path: Path
) -> None:
    bundle = bundled(study, tmp_path / "little")
    options = ["--data", str(study.folder / "results/data"), "--root", str(study.config)]
    assert main(["stage", "rebuild-reference", str(bundle), *options]) == 0
    shutil.copytree(study.folder / "results/data", elsewhere.folder / "results/data")
    elsewhere.change("studies/more.yaml", "figures:", "analyses: {attention_distance: {}, position: {}}\nfigures:")
    found = imported(elsewhere, bundle)
    assert (len(found.taken), found.unmeasured) == (2, ["attention_distance"])
    assert "attention_distance" in imported_text(bundle, found)


def test_decodings_are_compared_by_their_content_and_earlier_looks_come_along(
    study: Workspace, elsewhere: Workspace, tmp_path: Path
) -> None:
    bundle = bundled(study, tmp_path / "bundle")
    shutil.copytree(study.folder / "results/data", elsewhere.folder / "results/data")
    named = "decoding: {same: {beam: 2, max_length_a: 0, max_length_b: 10}}\nfigures:"
    elsewhere.change("studies/more.yaml", "figures:", named)
    assert len(imported(elsewhere, bundle).taken) == 2
    ours, theirs = (
        (place.folder / place.decoded("opr", "test.hypotheses")).read_bytes() for place in (elsewhere, study)
    )
    assert ours == theirs
    looks = Path("results/little/significance/pair.mini.test.looks")
    assert not (elsewhere.folder / looks).exists(), "another study has looks of its own"
    imported(elsewhere, bundle, "little")
    assert (elsewhere.folder / looks).read_bytes() == (study.folder / looks).read_bytes()


def configured(study: Study) -> list[tuple[str, str, str, int]]:
    return [(dataset, name, size, 1) for dataset in study.datasets for name in study.encodings for size in study.sizes]


def test_figures_of_weights_are_named(study: Workspace) -> None:
    little = Configuration(study.config).study("little")
    assert needing_weights(little.model_copy(update={"figures": ["scores", "similarity"]})) == ["similarity"]
