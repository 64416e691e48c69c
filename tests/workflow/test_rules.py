"""Tests of wordorder.workflow: inputs, outputs and options of the rules, without Snakemake."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from little_study import Workspace
from raises import raises
from snakemake_runs import ROOT
from wildcards import Wildcards
from wordorder.config.datasets import Download
from wordorder.config.models import Family, Report
from wordorder.errors import WordorderError
from wordorder.results.frames import cell_folders
from wordorder.results.index import read_index
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.data import DataRules
from wordorder.workflow.exits import exit_on_error
from wordorder.workflow.models import ModelRules
from wordorder.workflow.plan import Plan
from wordorder.workflow.resources import TrainingTable
from wordorder.workflow.store import SliceStore
from wordorder.workflow.studies import StudyRules
from wordorder.workflow.study_slices import report_of
from wordorder.workflow.targets import Targets

ALIGNERS = "hmm: {aligner: {type: hmm}}\npieces: {unit: subword, aligner: {type: eflomal}}\n"
REORDERERS = (
    "btg: {aligner: hmm, parser: {classes: 5}}\n"
    "folds: {aligner: hmm, parser: {classes: 0}, folds: 4}\n"
    "plain: {aligner: pieces, parser: {classes: 9}}\n"
)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """The little study with an encoding that needs positions; the folder of the run is the working directory."""
    workspace = Workspace(tmp_path)
    workspace.write()
    (workspace.config / "aligners.yaml").write_text(ALIGNERS)
    (workspace.config / "reorderers.yaml").write_text(REORDERERS)
    workspace.change("encodings.yaml", "sinusoidal:", "same: {type: opr, k: 8.0}\ninxl: {type: inxl}\nsinusoidal:")
    workspace.change("studies/little.yaml", "[opr, sinusoidal]", "[opr, sinusoidal, inxl]")
    edit = "reordering: {train: oracle, test: predicted, reorderer: btg, noise: 0.1}\nbaseline:"
    workspace.change("studies/little.yaml", "baseline:", edit)
    workspace.folder.mkdir()
    monkeypatch.chdir(workspace.folder)
    return workspace


class Parts:
    """Return the objects that the rules call, for the current configuration."""

    def __init__(self, workspace: Workspace) -> None:
        self.configuration = Configuration(workspace.config)
        self.data = DataRules(self.configuration)
        self.models = ModelRules(self.configuration, SliceStore(is_main=True))
        self.studies = StudyRules(self.configuration, self.models)
        table = workspace.folder / "table"
        if not table.exists():
            table.write_text("* * 1 1 1 1 0")
        self.targets = Targets(self.configuration, self.studies, "little", TrainingTable(table))

    def job(self, workspace: Workspace, encoding: str, **more: str) -> Wildcards:
        """Return the wildcards of a job about a model."""
        dataset, folder, size, digest, seed = workspace.model_folder(encoding).split("/")[2:]
        return Wildcards(dataset=dataset, encoding=folder, size=size, digest=digest, seed=seed, **more)


def test_a_dataset_is_made_of_its_own_text(config: Path) -> None:
    rules = DataRules(Configuration(config))
    job = Wildcards(dataset="multi30k", split="train", side="target")
    assert rules.downloads(job) == [f"resources/downloads/multi30k/train.{end}.gz" for end in ("en", "de")]
    assert rules.download_folder(job) == "resources/downloads/multi30k"
    assert rules.source_to_clean(job) == "results/data/multi30k/raw/train.source"
    tokenised = Wildcards(dataset="iwslt14_deen", split="train", side="target")
    assert rules.target_to_clean(tokenised) == "results/data/iwslt14_deen/tokenised/train.target"
    assert rules.side_language(tokenised) == "en"
    dataset = rules.configuration.dataset("multi30k")
    held_out = rules.held_out_texts(job)
    expected = ["valid", *dataset.test_names] if dataset.preprocessing.remove_overlap else []
    assert held_out == [
        f"results/data/multi30k/raw/{split}.{side}" for split in expected for side in ("source", "target")
    ]
    assert rules.held_out_option(job) == (["--held-out", *held_out] if held_out else [])


def test_datasets_share_the_files_of_a_folder_unless_they_differ(config: Path) -> None:
    rules = DataRules(Configuration(config))
    dataset = rules.configuration.dataset("multi30k")
    file, entry = next(iter(dataset.downloads.items()))
    job = Wildcards(folder="multi30k", file=file)
    assert Download.model_validate_json(rules.download_slice(job)) == entry
    with pytest.raises(WordorderError):
        rules.download_slice(Wildcards(folder="multi30k", file="nothing"))


def test_a_changed_file_of_ones_own_is_noticed_before_the_first_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The outputs of a finished import would otherwise stay, and a dry run would not say so."""
    rules = DataRules(Configuration(ROOT / "config"))
    dataset = rules.configuration.dataset("wat17_jaen")
    file = next(file for file, entry in dataset.downloads.items() if entry.by_hand and not entry.sha256)
    monkeypatch.chdir(tmp_path)
    output = Path("resources/downloads", dataset.folder, file)
    (output.parent / "by_hand").mkdir(parents=True)
    job = Wildcards(folder=dataset.folder, file=file)
    for path in (output, output.parent / "by_hand" / file):
        rules.download_slice(job)
        path.write_text(str(path))
    with raises("changed-file"):
        rules.download_slice(job)


def test_aligners_and_reorderers_decide_what_their_jobs_read(workspace: Workspace) -> None:
    rules = Parts(workspace).data
    data = "results/data/{dataset}"

    def job(reorderer: str, **more: str) -> Wildcards:
        return Wildcards(dataset="pair", reorderer=reorderer, **more)

    assert rules.unit_model(job("btg")) == [] and rules.unit_model(job("plain")) == [f"{data}/subword/model.model"]
    assert rules.word_model(job("plain")) == [] and rules.word_model(job("btg")) == [f"{data}/subword/model.model"]
    assert rules.unit_model(Wildcards(aligner="pieces")) == [f"{data}/subword/model.model"]
    model = [f"{data}/alignment/{{aligner}}/model.npz"]
    assert rules.aligner_training(Wildcards(aligner="hmm", split="train")) == model
    assert rules.aligner_training(Wildcards(aligner="hmm", split="test")) == model
    assert rules.aligner_options(Wildcards(aligner="hmm"), SimpleNamespace(training=model)) == ["--model", *model]
    # An external program learns from what it aligns: it aligns the test set together with the training set.
    texts = rules.aligner_training(Wildcards(aligner="pieces", split="test"))
    assert texts == [f"{data}/clean/train.source", f"{data}/clean/train.target"]
    options = ["--train-source", texts[0], "--train-target", texts[1]]
    assert rules.aligner_options(Wildcards(aligner="pieces"), SimpleNamespace(training=texts)) == options
    assert rules.aligner_training(Wildcards(aligner="pieces", split="train")) == []
    assert rules.aligner_options(Wildcards(aligner="pieces"), SimpleNamespace(training=[])) == []
    assert rules.links(job("plain")) == f"{data}/alignment/pieces/train.links"
    assert rules.links(job("btg", split="test")) == f"{data}/alignment/hmm/test.links"
    assert rules.classes_file(job("btg")) == [f"{data}/classes/word.5.tsv"]
    assert rules.classes_file(job("plain")) == [f"{data}/classes/subword.9.tsv"]
    assert rules.classes_file(job("folds")) == []
    assert rules.subword_of_unit(Wildcards(unit="word")) == []
    # With folds no part is parsed by a parser that has seen it; without, the dataset has as many parts as shards.
    parts = f"{data}/reordering/{{reorderer}}/parts"
    assert rules.parts_of_training_set(job("folds")) == [f"{parts}/{part}of4.orders" for part in (1, 2, 3, 4)]
    assert rules.parts_of_training_set(job("btg")) == [f"{parts}/{part}of2.orders" for part in (1, 2)]
    assert rules.parser_of_part(job("folds", part="3", parts="4")).endswith("/parser/3of4.npz")
    assert rules.parser_of_part(job("btg", part="2", parts="2")).endswith("/parser/all.npz")
    assert rules.without_fold(Wildcards(fold="3of4")) == ["--without", "3/4"]
    assert rules.without_fold(Wildcards(fold="all")) == []
    assert rules.keep_all(Wildcards(split="test")) == ["--keep-all"] and rules.keep_all(Wildcards(split="train")) == []
    for option, name in (
        (rules.unit_option, "subword"),
        (rules.classes_option, "classes"),
    ):
        assert option(job("btg"), SimpleNamespace(**{name: ["file"]}))[0].startswith("--")
        assert option(job("btg"), SimpleNamespace(**{name: []})) == []


def test_a_training_gets_the_positions_that_its_encoding_needs(workspace: Workspace) -> None:
    parts = Parts(workspace)
    rules, opr, inxl = parts.models, parts.job(workspace, "opr"), parts.job(workspace, "inxl")
    train, valid = "results/data/pair/binary/train", "results/data/pair/binary/valid"
    noisy, predicted = ("results/data/pair/positions/" + name for name in ("oracle.btg.noise0.1", "predicted.btg"))
    assert rules.train_options(opr) == [train] and rules.train_positions(opr) == []
    assert rules.valid_options(opr) == [valid] and rules.valid_positions(opr) == []
    assert rules.train_options(inxl) == [train, "--train-positions", f"{noisy}/train"]
    assert rules.valid_options(inxl) == [valid, "--valid-positions", f"{predicted}/valid"]
    assert rules.train_positions(inxl) == [f"{noisy}/train/meta.json"]
    assert rules.valid_positions(inxl) == [f"{predicted}/valid/meta.json"]


def test_an_evaluation_reads_all_its_test_sets(workspace: Workspace) -> None:
    workspace.change("studies/little.yaml", "tests: [test]", "tests: []")
    parts = Parts(workspace)
    label = Path(workspace.evaluation("opr")).stem
    decoding = Path(workspace.evaluation("opr")).parent.name
    opr, inxl = (parts.job(workspace, name, evaluation=label, decoding=decoding) for name in ("opr", "inxl"))
    data = "results/data/pair"

    def read(test: str) -> list[str]:
        return [f"{data}/binary/{test}/meta.json", f"{data}/raw/{test}.target"]

    assert parts.models.evaluated_corpora(opr) == [f"{data}/subword/model.model", *read("other"), *read("test")]
    positions = {f"{data}/positions/predicted.btg/{test}/meta.json" for test in ("test", "other")}
    assert set(parts.models.evaluated_corpora(inxl)) - set(parts.models.evaluated_corpora(opr)) == positions
    assert parts.models.positions_option(opr) == []
    assert parts.models.positions_option(inxl) == ["--positions", "predicted.btg"]
    assert parts.models.decoding_slice(opr) == '{"beam":2,"max_length_a":0.0,"max_length_b":10}'
    assert parts.models.evaluation_slice(opr) == '{"metrics":["bleu","chrf++"],"tests":["other","test"]}'


def test_the_files_of_a_study_are_those_of_its_cells(workspace: Workspace) -> None:
    workspace.change("studies/little.yaml", "[opr, sinusoidal, inxl]", "[opr, same, sinusoidal]")
    workspace.change("studies/little.yaml", "decoding: {", "decoding: {wide: {beam: 3}, narrow: {")
    workspace.change("studies/little.yaml", "max_length_b: 10}", "max_length_b: 10}}")
    parts = Parts(workspace)
    study = parts.configuration.study("little")
    job = Wildcards(study="little", dataset="pair", size="mini", test="test@narrow")
    records = parts.studies.cell_files(study, "record.json")
    assert records == [workspace.cell(name, "record.json") for name in ("opr", "sinusoidal")], "'same' is opr"
    evaluations = parts.studies.evaluations(study)
    decodings = ("wide", "narrow")
    assert evaluations == [
        workspace.evaluation(name, decoding=own) for name in ("opr", "sinusoidal") for own in decodings
    ]
    assert parts.studies.compared_evaluations(job) == evaluations
    assert parts.studies.systems_hypotheses(job) == [
        workspace.decoded(name, "test.hypotheses", decoding="narrow") for name in ("opr", "sinusoidal")
    ]
    assert parts.studies.raw_references(job) == "results/data/pair/raw/test.target"
    assert parts.studies.significance_files(study) == [
        f"results/little/significance/pair.mini.test@{name}.json" for name in decodings
    ]
    assert parts.studies.systems_scores(study) == [] and parts.studies.compared_systems(job) == []
    tables = {Path(file).stem for file in parts.studies.tables(study)}
    assert tables == {"scores", "significance", "variance", "parameters", "credibility"}

    parts.studies.write_indexes()
    index = read_index("results/little")
    assert (
        index.cell("pair", "mini", "same", 1).folder.resolve() == index.cell("pair", "mini", "opr", 1).folder.resolve()
    )
    expected = workspace.folder / workspace.decoded("opr", "test.hypotheses", decoding="wide")
    assert index.cell("pair", "mini", "opr", 1).hypotheses("test@wide").resolve() == expected


def test_a_size_may_have_some_of_the_encodings_only(workspace: Workspace) -> None:
    workspace.change("sizes.yaml", "mini:", "lone: {architecture: lstm, layers: 1, dim: 32, dropout: 0.1}\nmini:")
    workspace.change("encodings.yaml", "sinusoidal:", "relative: {type: relative}\nsinusoidal:")
    workspace.change("studies/little.yaml", "[opr, sinusoidal, inxl]", "[opr, sinusoidal, relative]")
    workspace.change("studies/little.yaml", "sizes: [mini]", "sizes: [mini, lone]")
    with raises("model-cannot-be-built", found=("relative", "lone")):  # no LSTM has such attention
        Parts(workspace).targets.trained(Wildcards())
    workspace.change("studies/little.yaml", "sizes: [mini, lone]", "sizes: [mini, lone]\nonly: {lone: [opr]}")
    parts = Parts(workspace)
    study = parts.configuration.study("little")
    trained = [Path(file).parts[3:5] for file in parts.targets.trained(Wildcards())]
    assert trained == [("opr", "mini"), ("opr", "lone"), ("sinusoidal", "mini"), ("relative", "mini")]
    both, lone = (Wildcards(study="little", dataset="pair", size=size, test="test") for size in ("mini", "lone"))
    compared = [Family.model_validate_json(parts.studies.significance_slice(job)) for job in (both, lone)]
    assert compared[0].encodings == study.encodings and len(compared[0].comparisons) == 2
    assert compared[1].encodings == [] and compared[1].comparisons == []
    assert [len(parts.studies.compared_hypotheses(job)) for job in (both, lone)] == [3, 0]
    assert len(parts.studies.systems_hypotheses(lone)) == 1
    parts.studies.write_indexes()
    report = report_of(study, parts.configuration)
    assert [(cell["encoding"], cell["size"]) for cell, _ in cell_folders(report, "results/little")] == [
        *((name, "mini") for name in study.encodings),
        ("opr", "lone"),
    ]


def test_tables_and_figures_wait_for_what_they_show(workspace: Workspace) -> None:
    parts = Parts(workspace)
    study = parts.configuration.study("little")
    records, evaluations = parts.studies.cell_files(study, "record.json"), parts.studies.evaluations(study)

    def table(name: str) -> list[str]:
        return parts.studies.table_inputs(Wildcards(study="little", table=name))

    def figure(name: str) -> list[str]:
        return parts.studies.figure_inputs(Wildcards(study="little", figure=name))

    significance = parts.studies.significance_files(study)
    assert table("parameters") == records
    assert table("significance") == significance
    # The evaluations follow the records of the trainings; the tests say whether levels are exact.
    for name in ("scores", "credibility", "orderings"):
        assert table(name) == evaluations + significance
    assert figure("mathematics") == []
    assert figure("scores") == evaluations
    assert figure("perplexity") == parts.studies.cell_files(study, "metrics.jsonl")
    assert figure("similarity") == parts.studies.cell_files(study, "model.pt")
    workspace.change("studies/little.yaml", "seeds: [1]", "seeds: [1, 2]")
    more = Parts(workspace)
    first = more.studies.figure_inputs(Wildcards(study="little", figure="similarity"))
    assert first == figure("similarity"), "one model of each encoding"
    assert {file for file in parts.studies.page_inputs(Wildcards(study="little")) if file.endswith(".pdf")} == set()


def test_figures_of_vectors_at_a_size_need_no_model(workspace: Workspace) -> None:
    workspace.change("studies/little.yaml", "seeds: [1]", "vectors_at: {similarity: 64}\nseeds: [1]")
    without = Parts(workspace).studies
    drawn = Wildcards(study="little", figure="similarity"), Wildcards(study="little", figure="value_range")
    assert [bool(without.figure_inputs(job)) for job in drawn] == [False, True], "a figure of no models"
    slices = [Report.model_validate_json(without.figure_slice(job)) for job in drawn]
    assert slices[0].untrained is not None and set(slices[0].untrained.encodings) == {"opr", "sinusoidal", "inxl"}
    assert slices[0].untrained.dim == 64 and slices[1].untrained is None


def test_targets_ask_for_their_stage(workspace: Workspace) -> None:
    parts = Parts(workspace)
    study, targets, job = parts.configuration.study("little"), parts.targets, Wildcards()
    prepared = targets.prepared(job)
    assert {f"results/data/pair/binary/{split}/meta.json" for split in ("train", "valid", "test")} <= set(prepared)
    assert "results/data/pair/positions/oracle.btg.noise0.1/train/meta.json" in prepared
    assert "results/data/pair/positions/predicted.btg/test/meta.json" in prepared
    assert not any("models" in file or "binary/other" in file for file in prepared)
    assert targets.trained(job) == parts.studies.cell_files(study, "model.pt")
    assert targets.evaluated(job) == parts.studies.evaluations(study)
    assert targets.tables(job) == parts.studies.tables(study)
    assert targets.figures(job) == parts.studies.figures(study)
    whole = targets.whole(job)
    assert len(whole) == len(set(whole)) and "results/little/index.html" in whole
    assert not any(file.endswith("model.pt") for file in whole), "models may be deleted"
    twin = "name: twin\nbased_on: little\ntitle: Its twin\nfigures: []\n"
    (workspace.config / "studies/twin.yaml").write_text(twin)
    workspace.change("studies/little.yaml", "title:", "companions: [twin]\ntitle:")
    both = Parts(workspace).targets.whole(job)
    assert set(both) - set(whole) and all(file.startswith("results/twin/") for file in set(both) - set(whole))
    assert set(whole) <= set(both)


def test_a_target_that_cannot_be_is_told_at_once(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    workspace.change("encodings.yaml", "k: 8}", "kk: 8}")
    targets = Parts(workspace).targets
    for name in ("prepared", "trained", "evaluated", "tables", "figures", "analyses", "whole"):
        with pytest.raises(WordorderError):
            getattr(targets, name)(Wildcards())
    with pytest.raises(SystemExit) as caught:
        exit_on_error(targets.trained)(Wildcards())
    assert str(caught.value).startswith("wordorder: error: ") and "kk" in str(caught.value)


def test_a_training_without_a_row_in_the_table_is_told_before_the_data_are_prepared(workspace: Workspace) -> None:
    sizes = (workspace.config / "sizes.yaml").read_text()
    (workspace.config / "sizes.yaml").write_text(f"{sizes}\n{sizes.replace('mini:', 'same_as_mini:')}")
    workspace.change("studies/little.yaml", "sizes: [mini]", "sizes: [same_as_mini]")
    table = workspace.folder / "table"
    table.write_text("pair same_as_mini 1 1 1 1 0")  # A training run has the first name of equal sizes.
    targets = Parts(workspace).targets
    for name in ("trained", "evaluated", "tables", "figures", "analyses", "whole"):
        with raises("no-row-fits", path=table, says="'pair' and the size 'mini'"):
            getattr(targets, name)(Wildcards())
    assert targets.prepared(Wildcards()), "it trains nothing"
    table.write_text("pair mini 1 1 1 1 0")
    assert Parts(workspace).targets.trained(Wildcards())


def test_an_exception_in_the_file_of_an_extension_ends_with_its_line(
    workspace: Workspace, plugins: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = plugins / "analyses" / "longest.py"
    raising = """        raise KeyError("a word")"""
    file.write_text(
        f"""from wordorder.analyses.base import Analysis

class Longest(Analysis):
    name, caption = "longest", "Words."

    def inputs(self, dataset):
{raising}

    def frame(self, asked, results, data): pass
    def draw(self, frame, asked): pass
"""
    )
    workspace.change("studies/little.yaml", "title:", "analyses: {longest: {}}\ntitle:")
    studies = Parts(workspace).studies
    job = Wildcards(study="little", analysis="longest")
    with pytest.raises(KeyError):
        studies.analysis_inputs(job)
    with pytest.raises(SystemExit) as caught:
        exit_on_error(studies.analysis_inputs)(job)
    assert f"Line 7 of {file} " in str(caught.value) and "(KeyError: 'a word')" in str(caught.value)
    with pytest.raises(ZeroDivisionError):
        exit_on_error(lambda: 1 / 0)()


def plan_of(workspace: Workspace) -> Any:
    (workspace.folder / "table").write_text("* * 1 1 1 1 0")
    return Plan(workspace.config, workspace.folder / "table", "little", is_main=True)


def test_a_wrong_configuration_folder_is_named_at_once(workspace: Workspace) -> None:
    table = workspace.folder / "table"
    table.write_text("* * 1 1 1 1 0")
    for folder in (Path("nowhere"), workspace.config / "studies"):
        with pytest.raises(SystemExit) as caught:
            Plan(folder, table, "little", is_main=True)
        message = str(caught.value)
        assert message.startswith(f"wordorder: error: The configuration folder {folder} ")
        assert str(Path.cwd() / folder / "studies") in message and "config_dir" in message
    Plan(Path("nowhere"), table, "little", is_main=False)  # of a job, which has its own error


def test_results_of_an_older_version_are_pointed_out_once(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    old = workspace.folder / "results/little/cells"
    old.mkdir(parents=True)
    with pytest.raises(WordorderError) as caught:
        read_index("results/little")
    assert (caught.value.code, caught.value.path) == ("old-results", Path("results/little"))
    plan = plan_of(workspace)
    plan.studies.cell_files(plan.configuration.study("little"), "model.pt")
    plan.start([])
    assert capsys.readouterr().err.count("results/little/cells") == 1
    assert read_index("results/little").cells and old.is_dir()
    again = plan_of(workspace)
    again.studies.cell_files(again.configuration.study("little"), "model.pt")
    again.start([])
    assert capsys.readouterr().err == "", "the index is there now"


def test_the_patterns_of_wildcards_match_names_only(workspace: Workspace) -> None:
    constraints = plan_of(workspace).constraints()
    assert re.fullmatch(constraints["study"], "little") and not re.fullmatch(constraints["study"], "litle")
    assert re.fullmatch(constraints["reorderer"], "btg") and not re.fullmatch(constraints["gold"], "btg")
    assert re.fullmatch(plan_of(workspace).datasets("generated"), "pair")
    assert not re.fullmatch(plan_of(workspace).datasets("imported"), "pair")
