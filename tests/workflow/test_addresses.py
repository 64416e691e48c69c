"""Tests of wordorder.workflow.addresses: what determines a model's address, and what does not."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from guide import plugin
from little_study import Workspace
from snakemake_runs import ROOT
from wildcards import Wildcards
from wordorder.config.canonical import digest, minimal
from wordorder.config.decoding import Decoding
from wordorder.config.load import (
    dataset_names,
    load_dataset,
    load_encodings,
    load_recipes,
    load_sizes,
    load_study,
    study_names,
)
from wordorder.config.models import Evaluation, Recipe
from wordorder.config.sizes import Sizes
from wordorder.encodings.registry import parse
from wordorder.errors import WordorderError
from wordorder.files import read_json, write_text
from wordorder.model.architectures.transformer import TransformerSize
from wordorder.registry import registry_of
from wordorder.workflow.addresses import cell_content, decoding_label, evaluation_label
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.models import ModelRules, cell_files
from wordorder.workflow.store import SliceStore
from wordorder.workflow.study import cells

CONFIG = ROOT / "config"
RECIPE = Recipe(max_epochs=4, batch_tokens=512, learning_rate=1.5e-3, precision="fp32")
TRANSFORMER = {"encoder_layers": 2, "decoder_layers": 2, "dim": 128, "ffn_dim": 256, "heads": 4, "dropout": 0.1}
LSTM = {"architecture": "lstm", "layers": 2, "dim": 128, "dropout": 0.1}
COMPOSED = {"compose": [{"type": "opr", "k": 4}, {"type": "relative", "clip": 8, "values": False}]}
# Whoever changes one of these makes everybody train all models again: a new option needs a default instead.
FROZEN: list[tuple[dict[str, Any], dict[str, Any], dict[str, str], str]] = [
    ({"type": "sinusoidal"}, TRANSFORMER, {}, "fb0630c994"),
    ({"type": "opr", "k": 16, "placement": "both"}, TRANSFORMER, {}, "f4f3e65089"),
    (COMPOSED, TRANSFORMER, {}, "9f6b5c4cd9"),
    ({"type": "inxl"}, TRANSFORMER, {"train": "oracle.btg", "test": "predicted.btg"}, "648199c4a1"),
    ({"type": "sinusoidal"}, LSTM, {}, "7e457d1228"),
]


@pytest.mark.parametrize(("encoding", "size", "positions", "frozen"), FROZEN)
def test_addresses_of_known_models_never_change(
    encoding: dict[str, Any], size: dict[str, Any], positions: dict[str, str], frozen: str
) -> None:
    sizes = Sizes.model_validate({"own": size}).root
    config = parse(encoding)
    size = sizes["own"]
    content = cell_content(
        minimal(config), minimal(size), RECIPE, positions, config.revisions, config.own_code | size.own_code
    )
    assert digest(content) == frozen


def test_a_corrected_encoding_s_models_are_not_those_from_before_it() -> None:
    """The configuration says the same as before the correction, but its models are trained again."""
    config = parse({"compose": [{"type": "cope"}, {"type": "sinusoidal"}]})
    assert config.revisions == {"cope": 2}
    contents = [cell_content(minimal(config), {}, RECIPE, {}, revisions, {}) for revisions in ({}, config.revisions)]
    assert digest(contents[0]) != digest(contents[1])


@pytest.mark.parametrize(
    "outer",
    [
        {"type": "dape", "over": {"type": "alibi"}},
        {"type": "randomized", "base": "alibi"},
        {"compose": [{"type": "opr"}, {"type": "alibi"}]},
    ],
    ids=["dape", "randomized", "composed"],
)
def test_a_correction_of_an_encoding_counts_inside_others(
    outer: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = parse(outer).revisions
    monkeypatch.setattr(type(parse({"type": "alibi"})), "revision", 2)
    assert parse(outer).revisions == before | {"alibi": 2}


def test_a_corrected_architecture_s_models_are_not_those_from_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = []
    for revision in (1, 2):
        monkeypatch.setattr(TransformerSize, "revision", revision)
        workspace = Workspace(tmp_path / str(revision))
        workspace.write()
        folders.append(workspace.model_folder("opr"))
    assert folders[0] != folders[1]


def folder_with(workspace: Workspace, plugins: Path, kind: str, text: str) -> str:
    """Return the folder of the model of 'opr' with a file of the plug-in folder."""
    plugins.joinpath(kind, "own.py").write_text(text, encoding="utf-8")
    registry_of(kind).forget_discovery()
    return workspace.model_folder("opr")


@pytest.mark.parametrize(
    "entry",
    [
        "{type: slope}",
        "{type: slope, octaves: 4}",
        "{compose: [{type: slope}, {type: opr}]}",
        "{type: dape, over: {type: slope}}",
    ],
)
def test_changed_code_of_an_own_encoding_is_another_model(entry: str, tmp_path: Path, plugins: Path) -> None:
    workspace, text = Workspace(tmp_path), plugin("encodings")
    workspace.write()
    workspace.change("encodings.yaml", "{type: opr, k: 8}", entry)
    before = folder_with(workspace, plugins, "encodings", text)
    assert folder_with(workspace, plugins, "encodings", text.replace("= 8.0", "= 4.0")) != before
    assert folder_with(workspace, plugins, "encodings", text.replace('"""The slopes', '"""Slopes')) == before


def test_a_process_that_loaded_old_code_leaves_nothing_in_the_cache(tmp_path: Path, plugins: Path) -> None:
    workspace, text = Workspace(tmp_path), plugin("encodings")
    workspace.write()
    workspace.change("encodings.yaml", "{type: opr, k: 8}", "{type: slope}")
    before = folder_with(workspace, plugins, "encodings", text)
    plugins.joinpath("encodings/own.py").write_text(text.replace("= 8.0", "= 4.0"), encoding="utf-8")
    assert workspace.model_folder("opr") == before
    registry_of("encodings").forget_discovery()  # as a new process
    assert workspace.model_folder("opr") != before


def test_a_stated_revision_replaces_the_code_of_an_own_encoding(tmp_path: Path, plugins: Path) -> None:
    workspace, line = Workspace(tmp_path), '    type: Literal["slope"] = "slope"\n'
    workspace.write()
    workspace.change("encodings.yaml", "{type: opr, k: 8}", "{type: slope}")
    folders = [
        folder_with(workspace, plugins, "encodings", plugin("encodings").replace(line, line + more))
        for more in ("    revision = 1\n", "    revision = 1\n    other: int = 0\n", "    revision = 2\n")
    ]
    assert folders[0] == folders[1] != folders[2]
    # Without a revision, it was the address of the model before the code counted.
    recipe = load_study("little", workspace.config).recipe
    content = cell_content({"type": "slope"}, minimal(load_sizes(workspace.config)["mini"]), recipe, {}, {}, {})
    assert Path(folders[0]).parent.name == digest(content)


def test_changed_code_of_an_own_architecture_is_another_model(tmp_path: Path, plugins: Path) -> None:
    workspace, text = Workspace(tmp_path), plugin("architectures")
    workspace.write()
    workspace.change("sizes.yaml", "mini: {", "mini: {architecture: shared_encoder, ")
    before = folder_with(workspace, plugins, "architectures", text)
    assert folder_with(workspace, plugins, "architectures", text + "MORE = 1\n") != before
    assert folder_with(workspace, plugins, "architectures", text + "# More\n") == before


def test_labels_of_known_evaluations_never_change() -> None:
    assert decoding_label(Decoding()) == "beam5-44136fa355"
    assert decoding_label(Decoding(beam=4, alpha=0.6, length_penalty="gnmt")) == "beam4-cb654a1f36"
    assert evaluation_label(Evaluation(tests=["test"], metrics=["bleu", "chrf++"])) == "evaluation-05b687f8d3"


def test_every_shipped_encoding_comes_back_from_its_minimal_form() -> None:
    for name, config in load_encodings(CONFIG).items():
        again = parse(minimal(config))
        assert again == config and minimal(again) == minimal(config), name


def test_every_shipped_size_and_recipe_comes_back_from_its_minimal_form() -> None:
    sizes = load_sizes(CONFIG)
    assert Sizes.model_validate({name: minimal(size) for name, size in sizes.items()}).root == sizes
    recipes = [Recipe.model_validate(recipe) for recipe in load_recipes(CONFIG).values()]
    configuration = Configuration(CONFIG)
    recipes += [configuration.study(name).recipe for name in study_names(CONFIG)]
    for recipe in recipes:
        assert Recipe.model_validate(minimal(recipe)) == recipe


def test_every_shipped_dataset_comes_back_from_its_minimal_form() -> None:
    for name in dataset_names(CONFIG):
        dataset = load_dataset(name, CONFIG)
        assert type(dataset).model_validate(minimal(dataset)) == dataset, name


class Before(BaseModel):
    type: Literal["slope"] = "slope"
    octaves: float = 8


class Inner(BaseModel):
    rate: float = 0.1
    on: bool = False


class After(Before):
    bias: bool = False
    inner: Inner = Inner(rate=0.2)


def test_a_new_option_with_a_default_changes_no_digest() -> None:
    assert minimal(Before()) == minimal(After()) == {"type": "slope"}, "the type is part of it even as the only choice"
    assert digest(minimal(Before(octaves=4))) == digest(minimal(After(octaves=4)))
    assert minimal(After(bias=True)) == {"type": "slope", "bias": True}
    # What differs from the default of the outer field is kept, though it is the inner class's own default.
    for value in (After(inner=Inner()), After(inner=Inner(on=True)), After(inner=Inner(rate=0.2, on=True))):
        assert After.model_validate(minimal(value)) == value


def test_two_names_of_one_configuration_share_a_model(tmp_path: Path) -> None:
    root = Path(shutil.copytree(CONFIG, tmp_path / "config"))
    with (root / "encodings.yaml").open("a") as file:
        file.write("\nmy_opr: {type: opr, k: 8.0, placement: both}\nother: {type: opr, k: 7}\n")
    configuration = Configuration(root)
    study = configuration.study("demo").model_copy(update={"encodings": ["my_opr", "opr", "other"], "seeds": [1]})
    mine, known, other = (str(files.folder) for files in cell_files(study, configuration, Path("results")).values())
    assert mine == known and "/opr/" in known and "/other/" in other and other.split("/")[-2] != known.split("/")[-2]


def job(address: Any) -> Wildcards:
    return Wildcards(**address._asdict(), seed="1")


def test_the_jobs_of_an_edited_or_removed_study_read_their_slices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(shutil.copytree(CONFIG, tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    store = SliceStore(is_main=True)
    models = ModelRules(Configuration(root), store)
    demo = models.configuration.study("demo")
    changed = {"encodings": ["inxl"], "recipe": demo.recipe.model_copy(update={"warmup_updates": 201})}
    study = demo.model_copy(update=changed)
    cell = cells(study)[0]
    evaluation, address = models.evaluation_file(study, cell, ""), models.address(study, cell)
    wanted = models.cell_slice(job(address)), models.train_options(job(address))
    label = evaluation.rpartition("/")[2].removesuffix(".json")
    assert not Path("results").exists()
    store.write()

    # No study of the folder has that number of updates.
    again = ModelRules(Configuration(root), SliceStore(is_main=False))
    assert (again.cell_slice(job(address)), again.train_options(job(address))) == wanted
    assert again.evaluation_slice(Wildcards(evaluation=label)) == models.evaluation_slice(Wildcards(evaluation=label))
    assert read_json(Path(address.folder, "cell.json"))["positions"]["test"] == "predicted.btg"

    path = Path(address.folder, "cell.json")
    text = path.read_text()
    write_text(path, text.replace("201", "202"))  # with its checksum, as a program would
    with pytest.raises(WordorderError) as caught:
        again.cell_slice(job(address))
    assert (caught.value.code, caught.value.path) == ("changed-slice", path)
    path.unlink()
    with pytest.raises(WordorderError) as caught:
        again.cell_slice(job(address))
    assert caught.value.code == "unknown-model"
    with pytest.raises(WordorderError) as caught:
        again.decoding_slice(Wildcards(decoding="beam9-0123456789"))
    assert caught.value.code == "unknown-slice"


def test_the_main_process_repairs_a_slice_that_a_study_asks_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path, content = tmp_path / "slice.json", {"beam": 3}
    for text in (None, '{"beam":4}', "damaged"):
        if text is not None:
            path.write_text(text)
        store = SliceStore(is_main=True)
        assert store.get(path, digest(content), lambda: content) == content
        store.write()
        assert read_json(path) == content
