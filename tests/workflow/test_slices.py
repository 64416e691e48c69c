"""Test that slices and addresses change exactly when their job must rerun."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from raises import raises
from snakemake_runs import ROOT
from wildcards import Wildcards
from wordorder.config.datasets import Download, Generator, Import, Preparation, Subword
from wordorder.config.decoding import Decoding
from wordorder.config.load import dataset_names, load_dataset, load_sizes, load_study, slice_argument
from wordorder.config.models import Cell, Evaluation, Family, Model, Report
from wordorder.config.pages import PublishedReport
from wordorder.config.published_scores import Shown
from wordorder.files import read_bytes
from wordorder.integrity import demand_below, note_of
from wordorder.registry import registry_of
from wordorder.workflow import dataset_slices, study, study_slices
from wordorder.workflow.addresses import decoding_label, evaluation_label
from wordorder.workflow.catalogue import Catalogue
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.models import ModelRules
from wordorder.workflow.positions import positions_name, reorderers
from wordorder.workflow.slices import canonical
from wordorder.workflow.store import SliceStore

SHIPPED = ROOT / "config"


def slices(root: Path, name: str) -> dict[tuple[object, ...], str]:
    """Every slice of a study, by stage and by what it is for."""
    configuration = Configuration(root)
    asked = configuration.study(name)
    models = ModelRules(configuration, SliceStore(is_main=True))
    found: dict[tuple[object, ...], str] = {}
    for cell in study.cells(asked):
        address = models.address(asked, cell)
        found["cell", *cell] = models.cell_slice(Wildcards(**address._asdict(), seed=str(cell.seed)))
    (decoding,) = asked.decodings.values()
    found["decoding",] = models.decoding_slice(Wildcards(decoding=decoding_label(decoding)))
    found["report",] = study_slices.report_slice(asked, configuration)
    for data in configuration.datasets_of(asked):
        label = evaluation_label(models.evaluation_of(asked, data.name))
        found["evaluation", data.name] = models.evaluation_slice(Wildcards(evaluation=label))
        found["significance", data.name] = study_slices.significance_slice(asked, data, asked.sizes[0])
        found["preprocessing", data.name] = dataset_slices.preprocessing_slice(data)
        found["subword", data.name] = dataset_slices.subword_slice(data)
        for split in ("train", "valid", *study.test_names(asked, data)):
            if data.generator:
                found["generator", data.name, split] = dataset_slices.generator_slice(data, split)
            else:
                found["import", data.name, split] = dataset_slices.import_slice(data, split)
        for file in data.downloads:
            found["download", data.name, file] = canonical(data.downloads[file])
    return found


def folders(root: Path, name: str) -> dict[study.CellName, str]:
    """The folder of every model of a study."""
    configuration = Configuration(root)
    asked = configuration.study(name)
    models = ModelRules(configuration, SliceStore(is_main=True))
    return {cell: models.folder(asked, cell) for cell in study.cells(asked)}


def changed(root: Path, name: str, edit: Callable[[], None]) -> set[tuple[object, ...]]:
    """The slices that differ, came or went when ``edit`` has changed the files.

    The folders of models that were there before change exactly where their slices do.
    """
    before, old = slices(root, name), folders(root, name)
    edit()
    after, new = slices(root, name), folders(root, name)
    found = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    assert {("cell", *cell) for cell in old.keys() & new.keys() if old[cell] != new[cell]} == {
        key for key in found if key in before and key in after and key[0] == "cell"
    }
    return found


def replace(path: Path, old: str, new: str) -> Callable[[], None]:
    def edit() -> None:
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return edit


def all_cells(root: Path, name: str) -> set[tuple[object, ...]]:
    return {("cell", *cell) for cell in study.cells(load_study(name, root))}


def test_cells_are_the_product(root: Path) -> None:
    cells = study.cells(load_study("demo", root))
    assert len(cells) == 12
    assert cells[0] == ("grammar", "none", "micro", 1)
    assert cells[1].seed == 2 and cells[3].encoding == "sinusoidal"


def test_the_slice_of_a_cell_holds_what_its_name_says(root: Path) -> None:
    asked, found = load_study("demo", root), slices(root, "demo")
    for name in study.cells(asked):
        cell = slice_argument(found["cell", *name], Cell)
        assert cell.encoding.type == name.encoding  # in the demo, entries are called like their types
        assert (cell.seed, cell.size, cell.recipe) == (name.seed, load_sizes(root)[name.size], asked.recipe)


MODELS: dict[str, type[Model]] = {
    "cell": Cell,
    "decoding": Decoding,
    "report": Report,
    "evaluation": Evaluation,
    "significance": Family,
    "preprocessing": Preparation,
    "subword": Subword,
    "generator": Generator,
    "import": Import,
    "download": Download,
}


@pytest.mark.parametrize("name", ["iwslt16_deen", "mini_deen", "wat17_jaen", "wmt14_ende", "wmt17_zhen"])
def test_the_slice_of_an_import_holds_the_format_of_each_file(name: str) -> None:
    dataset = load_dataset(name, ROOT / "config")
    for split in ("train", "valid", *dataset.test_names):
        found = slice_argument(dataset_slices.import_slice(dataset, split), Import)
        assert found.parts == dataset_slices.parts(dataset, split)


@pytest.mark.parametrize("name", ["demo", "multi30k", "multi30k_fr"])
def test_slices_are_canonical_and_their_models_read_them(root: Path, name: str) -> None:
    for key, text in slices(root, name).items():
        assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert canonical(slice_argument(text, MODELS[str(key[0])])) == text


@pytest.mark.parametrize("name", dataset_names(SHIPPED))
def test_an_import_reads_the_formats_of_its_dataset(name: str) -> None:
    dataset = load_dataset(name, SHIPPED)
    for split in () if dataset.generator else ("train", "valid", *dataset.test_names):
        found = slice_argument(dataset_slices.import_slice(dataset, split), Import)
        assert found.parts == dataset_slices.parts(dataset, split)


def test_a_title_changes_the_report_alone(root: Path) -> None:
    edit = replace(root / "studies/demo.yaml", "title: ", "title: New ")
    assert changed(root, "demo", edit) == {("report",)}


def test_figures_tables_and_comments_change_nothing(root: Path) -> None:
    edit = replace(root / "studies/demo.yaml", "baseline:", "figures: [perplexity]  # one\ntables: [scores]\nbaseline:")
    assert changed(root, "demo", edit) == set()


def test_companions_change_the_page_alone(root: Path) -> None:
    def page() -> dict[str, object]:
        configuration = Configuration(root)
        found: dict[str, object] = json.loads(study_slices.page_slice(configuration.study("demo"), configuration))
        return found

    before = page()
    edit = replace(root / "studies/demo.yaml", "title:", "companions: [arena]\ntitle:")
    assert changed(root, "demo", edit) == set()
    assert page() == before | {"companions": [{"name": "arena", "title": load_study("arena", root).title}]}


def test_the_page_knows_the_types_of_the_package(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    replace(root / "studies/demo.yaml", "encodings: [", "encodings: [opr_rpr, ")()
    configuration = Configuration(root)
    study = configuration.study("demo")
    found = json.loads(study_slices.page_slice(study, configuration))["fidelity"]
    assert set(found) == set(study.encodings)
    assert found["opr_rpr"] == ["opr", "relative"]
    assert found["sinusoidal"] == ["sinusoidal"]
    # An encoding of a user has no row.
    monkeypatch.setenv("XDG_CACHE_HOME", str(root / "cache"))  # the types of each encoding are kept in a cache
    monkeypatch.setitem(registry_of("encodings")._modules, "opr", ("json", "OPR"))
    found = json.loads(study_slices.page_slice(study, Configuration(root)))["fidelity"]
    assert found["opr_rpr"] == ["relative"]


def test_the_page_of_a_project_links_to_no_page_that_only_a_clone_has(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = Configuration(root)
    asked = configuration.study("opr")
    assert asked.paper == "opr"
    for folder, links in ((ROOT, True), (root, False)):
        monkeypatch.chdir(folder)
        found = study_slices.page_of(asked, configuration)
        assert (bool(found.fidelity), found.undocumented) == (links, not links)
    (root / "docs/papers").mkdir(parents=True)
    (root / "docs/papers/opr.md").touch()
    assert not study_slices.page_of(asked, configuration).undocumented


def test_writing_a_default_out_changes_nothing(root: Path) -> None:
    edit = replace(root / "studies/demo.yaml", "  norm: pre", "  norm: pre\n  label_smoothing: 1e-1\n  weight_decay: 0")
    assert changed(root, "demo", edit) == set()
    assert changed(root, "demo", replace(root / "encodings.yaml", "  k: 8\n", "  k: 8.0\n  placement: both\n")) == set()


def test_k_changes_the_cells_of_opr_alone(root: Path) -> None:
    edit = replace(root / "encodings.yaml", "  k: 8\n", "  k: 1\n")
    assert changed(root, "demo", edit) == {("cell", "grammar", "opr", "micro", seed) for seed in (1, 2, 3)}


def test_a_new_seed_changes_no_other_cell(root: Path) -> None:
    edit = replace(root / "studies/demo.yaml", "[1, 2, 3]", "[1, 2, 3, 4]")
    new = {("cell", "grammar", encoding, "micro", 4) for encoding in ("none", "sinusoidal", "opr", "relative")}
    assert changed(root, "demo", edit) == new | {("significance", "grammar"), ("report",)}


def test_a_new_encoding_changes_no_other_cell(root: Path) -> None:
    edit = replace(root / "studies/demo.yaml", "opr, relative]", "opr, relative, learned]")
    new = {("cell", "grammar", "learned", "micro", seed) for seed in (1, 2, 3)}
    assert changed(root, "demo", edit) == new | {("significance", "grammar"), ("report",)}


def test_another_size_changes_nothing(root: Path) -> None:
    assert changed(root, "demo", replace(root / "sizes.yaml", "tiny: {", "tinier: {")) == set()
    edit = replace(root / "sizes.yaml", "dim: 128, ffn_dim: 256", "dim: 128, ffn_dim: 128")
    assert changed(root, "demo", edit) == all_cells(root, "demo")


def test_the_recipe_changes_all_cells_and_nothing_else(root: Path) -> None:
    edit = replace(root / "studies/demo.yaml", "warmup_updates: 200", "warmup_updates: 201")
    assert changed(root, "demo", edit) == all_cells(root, "demo")


def test_decoding_metrics_and_significance_do_not_change_cells(root: Path) -> None:
    path = root / "studies/multi30k.yaml"
    assert changed(root, "multi30k", replace(path, "beam: 5", "beam: 4")) == {("decoding",)}
    significance = {("significance", "multi30k")}
    edit = replace(path, "baseline:", "significance: {alpha: 0.01}\nbaseline:")
    assert changed(root, "multi30k", edit) == significance | {("report",)}, "the letters of the score table"
    edit = replace(path, "metrics: [bleu, chrf, chrf++, ter, bleu_legacy, comet]", "metrics: [bleu]")
    assert changed(root, "multi30k", edit) == {("evaluation", "multi30k"), ("report",)} | significance


def test_a_new_test_set_changes_no_other_job(root: Path) -> None:
    edit = replace(root / "datasets/grammar.yaml", "    test: 500", "    test: 500\n    long: 50")
    assert changed(root, "demo", edit) == {
        ("generator", "grammar", "long"),
        ("evaluation", "grammar"),
        ("report",),
    }
    edit = replace(root / "datasets/grammar.yaml", "  train: 8000", "  train: 9000")
    assert changed(root, "demo", edit) == {("generator", "grammar", "train")}
    edit = replace(root / "studies/multi30k.yaml", "test_2017_mscoco]", "test_2017_mscoco, newstest2014]")
    assert changed(root, "multi30k", edit) == {
        ("import", "multi30k", "newstest2014"),
        ("evaluation", "multi30k"),
        ("report",),
    }


def test_preprocessing_and_subwords_change_apart(root: Path) -> None:
    data = root / "datasets/multi30k.yaml"
    assert changed(root, "multi30k", replace(data, "vocabulary: 8000", "vocabulary: 9000")) == {("subword", "multi30k")}
    edit = replace(data, "vocabulary:", "cleaning: {max_length: 100}\n  vocabulary:")
    assert changed(root, "multi30k", edit) == {("preprocessing", "multi30k")}


def test_an_address_changes_its_download_alone(root: Path) -> None:
    edit = replace(root / "datasets/multi30k.yaml", "https://raw.githubusercontent.com/", "https://mirror.example.org/")
    assert changed(root, "multi30k", edit) == {("download", "multi30k", "train.en.gz")}


def test_shards_licence_and_titles_of_a_dataset_change_no_job_on_data(root: Path) -> None:
    edit = replace(root / "datasets/multi30k.yaml", "title: ", "shards: 4\nhomepage: x\ntitle: New ")
    replace(root / "datasets/multi30k.yaml", "homepage: https://github.com/multi30k/dataset\n", "")()
    assert changed(root, "multi30k", edit) == {("report",)}


def test_selected_tests_keep_the_order_of_the_dataset_and_their_order_does_not_matter(root: Path) -> None:
    asked, data = load_study("multi30k", root), load_dataset("multi30k", root)
    assert study.test_names(asked, data) == ["test_2016_flickr", "test_2017_flickr", "test_2017_mscoco"]
    everything = asked.model_copy(update={"tests": []})
    assert study.test_names(everything, data) == list(data.tests)
    several = asked.model_copy(update={"decoding": {"wide": Decoding(beam=9), "narrow": Decoding(beam=1)}})
    assert study.decoded_tests(several, data)[:3] == [
        "test_2016_flickr@wide",
        "test_2016_flickr@narrow",
        "test_2017_flickr@wide",
    ]
    # Studies that name the same metrics in another order share the evaluations.
    models = ModelRules(Configuration(root), SliceStore(is_main=True))
    turned = asked.model_copy(update={"metrics": asked.metrics[::-1]})
    assert models.evaluation_of(turned, "multi30k") == models.evaluation_of(asked, "multi30k")


def test_the_family_is_every_encoding_against_the_baseline_unless_declared(root: Path) -> None:
    pairs = [(c.system, c.baseline) for c in study.comparisons(load_study("demo", root))]
    assert pairs == [("none", "sinusoidal"), ("opr", "sinusoidal"), ("relative", "sinusoidal")]
    replace(root / "studies/demo.yaml", "baseline:", "comparisons:\n  - {system: opr, baseline: none}\nbaseline:")()
    asked = load_study("demo", root)
    assert [(c.system, c.baseline) for c in study.comparisons(asked)] == [("opr", "none")]
    family = json.loads(study_slices.significance_slice(asked, load_dataset("grammar", root), asked.sizes[0]))
    assert family["comparisons"] == [{"baseline": "none", "system": "opr"}]
    assert set(family["encodings"]) == {"none", "sinusoidal", "opr", "relative"}, "all estimate the variance"


def test_a_dataset_without_generator_has_no_generator_slice(root: Path) -> None:
    with raises("unknown-name", key="generator", found="multi30k", says="'train'"):
        dataset_slices.generator_slice(load_dataset("multi30k", root), "train")


@pytest.fixture
def needing(root: Path) -> Path:
    """The encoding 'needing' needs reordered positions, in the demo and in multi30k."""
    with (root / "encodings.yaml").open("a") as file:
        file.write("\nneeding: {compose: [{type: inxl}, {type: relative}]}\n")
    for name in ("demo", "multi30k"):
        replace(root / f"studies/{name}.yaml", "encodings: [", "encodings: [needing, ")()
    return root


def kinds(root: Path, encoding: str) -> list[str]:
    asked, data = load_study("demo", root), load_dataset("grammar", root)
    return [positions_name(asked, data, encoding, split) for split in ("train", "valid", "test")]


def used_reorderers(root: Path) -> list[str]:
    configuration = Configuration(root)
    return reorderers(configuration.study("demo"), configuration)


def test_encodings_that_need_positions_get_those_of_the_study(needing: Path) -> None:
    assert kinds(needing, "needing") == ["gold", "gold", "gold"]
    cells = {("cell", "grammar", "needing", "micro", seed) for seed in (1, 2, 3)}

    def moved(edit: Callable[[], None]) -> set[tuple[object, ...]]:
        """The cells whose folders change; positions are no part of a training's slice."""
        before = folders(needing, "demo")
        edit()
        after = folders(needing, "demo")
        return {("cell", *cell) for cell in before if before[cell] != after[cell]}

    path = needing / "studies/demo.yaml"
    assert moved(replace(path, "baseline:", "reordering: {train: identity}\nbaseline:")) == cells
    assert kinds(needing, "needing") == ["identity", "gold", "gold"]
    assert moved(replace(path, "{train: identity}", "{test: identity}")) == cells
    assert kinds(needing, "needing") == ["gold", "identity", "identity"]


def test_positions_of_a_reorderer_bear_its_name(needing: Path) -> None:
    assert used_reorderers(needing) == []
    edit = "reordering: {train: oracle, test: predicted, reorderer: btg, noise: 0.10}\nbaseline:"
    replace(needing / "studies/demo.yaml", "baseline:", edit)()
    assert kinds(needing, "needing") == ["oracle.btg.noise0.1", "predicted.btg", "predicted.btg"]
    assert used_reorderers(needing) == ["btg"]


@pytest.mark.parametrize(
    ("noise", "name"),
    [("1", "1"), ("0.5", "0.5"), ("1.0e-05", "1e-05"), ("0.12345678", "0.12345678"), ("0.12345679", "0.12345679")],
)
def test_noise_is_named_exactly(needing: Path, noise: str, name: str) -> None:
    edit = f"reordering: {{train: gold, noise: {noise}}}\nbaseline:"
    replace(needing / "studies/demo.yaml", "baseline:", edit)()
    assert kinds(needing, "needing") == [f"gold.noise{name}", "gold", "gold"]


def test_test_sets_may_have_the_positions_of_their_references(needing: Path) -> None:
    edit = "reordering: {train: identity, test: oracle, reorderer: btg}\nbaseline:"
    replace(needing / "studies/demo.yaml", "baseline:", edit)()
    assert kinds(needing, "needing") == ["identity", "oracle.btg", "oracle.btg"]
    assert used_reorderers(needing) == ["btg"]


def test_an_encoding_of_a_study_can_get_other_positions(needing: Path) -> None:
    replace(needing / "encodings.yaml", "\nneeding: ", "\nother: {type: inxl}\nneeding: ")()
    replace(needing / "studies/demo.yaml", "[needing, ", "[needing, other, ")()
    edit = "reordering: {train: identity, encodings: {other: {train: predicted, reorderer: btg}}}\nbaseline:"
    replace(needing / "studies/demo.yaml", "baseline:", edit)()
    assert kinds(needing, "needing") == ["identity", "gold", "gold"]
    assert kinds(needing, "other") == ["predicted.btg", "gold", "gold"]
    assert used_reorderers(needing) == ["btg"]


def test_reordering_is_no_part_of_a_model_that_does_not_need_it(root: Path) -> None:
    edit = replace(root / "studies/demo.yaml", "baseline:", "reordering: {train: identity}\nbaseline:")
    assert changed(root, "demo", edit) == set()


def test_what_names_mean_is_in_the_report_only_if_names_could_exchange_it(root: Path) -> None:
    configuration, seen = Configuration(root), set()
    demo = configuration.study("demo")
    assert "meanings" not in study_slices.report_slice(demo, configuration)
    for beams in ((1, 2), (2, 1)):
        named = {name: Decoding(beam=beam) for name, beam in zip(("one", "two"), beams, strict=True)}
        asked = demo.model_copy(update={"decoding": named})
        seen.add(study_slices.report_of(asked, configuration).meanings)
    entries = (root / "encodings.yaml").read_text()
    for types in (("opr", "sinusoidal"), ("sinusoidal", "opr")):
        (root / "encodings.yaml").write_text(f"{entries}\nfirst: {{type: {types[0]}}}\nsecond: {{type: {types[1]}}}\n")
        configuration = Configuration(root)
        asked = demo.model_copy(update={"encodings": ["first", "second"], "baseline": "first"})
        found = study_slices.report_of(asked, configuration)
        assert "meanings" not in found.model_dump_json()  # which bundles contain
        seen.add(found.meanings)
    assert len(seen) == 4 and "" not in seen


def test_datasets_with_one_title_are_told_apart_by_their_names(root: Path) -> None:
    text = (root / "datasets/grammar.yaml").read_text()
    (root / "datasets/other.yaml").write_text(text.replace("name: grammar", "name: other"))
    asked = Configuration(root).study("demo")
    (title,) = [data.title for data in study_slices.report_of(asked, Configuration(root)).datasets]
    both = asked.model_copy(update={"datasets": ["grammar", "other"]})
    titles = [data.title for data in study_slices.report_of(both, Configuration(root)).datasets]
    assert titles == [f"{title} (grammar)", f"{title} (other)"]


def test_published_tables_come_with_the_slice_of_their_table(root: Path) -> None:
    configuration = Configuration(root)
    asked = configuration.study("demo")
    shown = [Shown(table="opr_table6", datasets={"wmt14_ende": "grammar"})]
    text = study_slices.published_scores_slice(asked.model_copy(update={"published": shown}), configuration)
    found = PublishedReport.model_validate_json(text)
    assert found.report.study == "demo" and found.published[0].shown == shown[0]
    assert [row.row for row in found.published[0].printed.rows] == ["APE", "OPR"]
    wrong = asked.model_copy(update={"published": [Shown(table="opr_table")]})
    with raises("unknown-name", path=root / "published/scores.yaml", found="opr_table", says="opr_table6"):
        study_slices.published_scores_slice(wrong, configuration)
    for replaced, near in (
        ({"datasets": {"wmt14_endee": "grammar"}}, "wmt14_ende"),
        ({"datasets": {"wmt14_ende": "gramar"}}, "grammar"),
        ({"tests": {"newstest2041": "test"}}, "newstest2014"),
        ({"sizes": {"bigg": "micro"}}, "big"),
        ({"sizes": {"big": "mirco"}}, "micro"),
    ):
        wrong = asked.model_copy(update={"published": [Shown(table="opr_table6", **replaced)]})
        with raises("unknown-name", key=next(iter(replaced)), suggestion=near):
            study_slices.published_scores_slice(wrong, configuration)


@pytest.mark.parametrize("damage", [b"\xff", b"", None, "flip", "checksum"])
def test_a_damaged_slice_is_written_again_when_a_run_starts(damage: bytes | str | None, tmp_path: Path) -> None:
    path, store = tmp_path / "slices" / "one.json", SliceStore(is_main=True)
    demand_below(path.parent)
    store.get(path, "", lambda: {"beam": 4, "name": "one"})
    store.write()
    whole = path.read_bytes()
    if damage is None:
        path.unlink()
    elif damage == "checksum":
        note_of(path).unlink()
    else:
        path.write_bytes(whole.replace(b"4", b"5") if isinstance(damage, str) else damage)
    store.write()
    assert read_bytes(path) == whole


def test_a_changed_plug_in_of_a_distribution_is_read_again(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editable installation keeps its version."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    described, module = tmp_path / "site/mine-1.0.dist-info", tmp_path / "site/mine/encoding.py"
    described.mkdir(parents=True)
    module.parent.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[wordorder.architectures]\nmine = mine.encoding\n")
    module.touch()
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    first = Catalogue(root)._file
    assert Catalogue(root)._file == first
    module.write_text("# changed\n")
    assert Catalogue(root)._file != first


@pytest.mark.parametrize("damage", [b"\xff", b"", b"[]", "flip"])
def test_a_damaged_cache_changes_no_slice(
    damage: bytes | str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    catalogue = Catalogue(root)
    before = [catalogue.encoding("opr"), catalogue.size("micro")]
    (cache,) = (tmp_path / "cache/wordorder/catalogue").glob("*.json")
    text = cache.read_bytes()
    assert b'"dim": 128' in text
    cache.write_bytes(text.replace(b'"dim": 128', b'"dim": 129') if isinstance(damage, str) else damage)
    catalogue = Catalogue(root)
    assert [catalogue.encoding("opr"), catalogue.size("micro")] == before
    assert cache.read_bytes() == text
