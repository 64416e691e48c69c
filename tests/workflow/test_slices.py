"""wordorder.workflow: slices change exactly when their job must run again."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from snakemake_runs import ROOT
from wordorder import workflow as plan
from wordorder.cli.plan import add_commands
from wordorder.config.datasets import Download, Generator, Import, Preparation, Subword
from wordorder.config.load import load_dataset, load_sizes, load_study, slice_argument
from wordorder.config.models import Cell, Decoding, Family, Model, PublishedReport, Report, Scoring
from wordorder.config.published_scores import Shown
from wordorder.encodings.registry import parse
from wordorder.errors import WordorderError

SHIPPED = Path(__file__).parents[2] / "config"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The shipped configuration, without reordered positions in the demo."""
    copy = Path(shutil.copytree(SHIPPED, tmp_path / "config"))
    demo = copy / "studies/demo.yaml"
    text = re.sub(r"^reordering: .*\n", "", demo.read_text(), flags=re.MULTILINE)
    demo.write_text(re.sub(r"^encodings: .*", "encodings: [none, sinusoidal, opr, relative]", text, flags=re.MULTILINE))
    return copy


def slices(root: Path, name: str) -> dict[tuple[object, ...], str]:
    """Every slice of a study, by stage and by what it is for."""
    study = load_study(name, root)
    datasets = [load_dataset(dataset, root) for dataset in study.datasets]
    found: dict[tuple[object, ...], str] = {
        ("cell", *cell): plan.cell_slice(study, cell, root) for cell in plan.cells(study)
    }
    found["decoding",] = plan.decoding_slice(study)
    found["report",] = plan.report_slice(study, datasets)
    for data in datasets:
        found["scoring", data.name] = plan.scoring_slice(study, data)
        found["significance", data.name] = plan.significance_slice(study, data)
        found["preprocessing", data.name] = plan.preprocessing_slice(data)
        found["subword", data.name] = plan.subword_slice(data)
        for split in ("train", "valid", *plan.test_names(study, data)):
            if data.generator:
                found["generator", data.name, split] = plan.generator_slice(data, split)
            else:
                found["import", data.name, split] = plan.import_slice(data, split)
        for file in data.downloads:
            found["download", data.name, file] = plan.download_slice(data, file)
    return found


def changed(root: Path, name: str, edit: Callable[[], None]) -> set[tuple[object, ...]]:
    """The slices that differ, came or went when ``edit`` has changed the files."""
    before = slices(root, name)
    edit()
    after = slices(root, name)
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def replace(path: Path, old: str, new: str) -> Callable[[], None]:
    def edit() -> None:
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return edit


def all_cells(root: Path, name: str) -> set[tuple[object, ...]]:
    return {("cell", *cell) for cell in plan.cells(load_study(name, root))}


def test_cells_are_the_product(root: Path) -> None:
    cells = plan.cells(load_study("demo", root))
    assert len(cells) == 12
    assert cells[0] == ("grammar", "none", "micro", 1)
    assert cells[1].seed == 2 and cells[3].encoding == "sinusoidal"


def test_the_slice_of_a_cell_holds_what_its_name_says(root: Path) -> None:
    study = load_study("demo", root)
    for name in plan.cells(study):
        cell = slice_argument(plan.cell_slice(study, name, root), Cell)
        assert cell.encoding.type == name.encoding  # in the demo, entries are called like their types
        assert (cell.seed, cell.size, cell.recipe) == (name.seed, load_sizes(root)[name.size], study.recipe)


MODELS: dict[str, type[Model]] = {
    "cell": Cell,
    "decoding": Decoding,
    "report": Report,
    "scoring": Scoring,
    "significance": Family,
    "preprocessing": Preparation,
    "subword": Subword,
    "generator": Generator,
    "import": Import,
    "download": Download,
}


@pytest.mark.parametrize("name", ["demo", "multi30k", "multi30k_fr"])
def test_slices_are_canonical_and_their_models_read_them(root: Path, name: str) -> None:
    for key, text in slices(root, name).items():
        assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        model = MODELS[str(key[0])]
        assert plan.canonical(slice_argument(text, model)) == text
        always = {key for key, field in model.model_fields.items() if field.exclude_if is None}
        assert always <= set(json.loads(text)) <= set(model.model_fields), "defaults are filled in"


def test_the_encoding_of_a_cell_is_complete_and_means_the_same_when_read_again(root: Path) -> None:
    composed = plan.encoding_config("opr_rpr", root).model_dump(mode="json")
    opr, relative = composed["compose"]
    assert (opr["type"], opr["k"], opr["placement"]) == ("opr", 8.0, "both")
    assert (relative["clip"], relative["keys"], relative["values"], relative["share_heads"]) == (8, True, False, True)
    assert parse(composed).model_dump(mode="json") == composed


def test_a_title_changes_the_report_alone(root: Path) -> None:
    edit = replace(root / "studies/demo.yaml", "title: ", "title: New ")
    assert changed(root, "demo", edit) == {("report",)}


def test_figures_tables_and_comments_change_nothing(root: Path) -> None:
    edit = replace(root / "studies/demo.yaml", "baseline:", "figures: [perplexity]  # one\ntables: [scores]\nbaseline:")
    assert changed(root, "demo", edit) == set()


def test_companions_change_the_page_alone(root: Path) -> None:
    study, datasets = load_study("demo", root), [load_dataset("grammar", root)]
    before = plan.page_slice(study, datasets, root)
    assert "companions" not in before, "pages of studies without companions stay as they are"
    edit = replace(root / "studies/demo.yaml", "title:", "companions: [arena]\ntitle:")
    assert changed(root, "demo", edit) == set()
    after = json.loads(plan.page_slice(load_study("demo", root), datasets, root))
    assert after.pop("companions") == [{"name": "arena", "title": load_study("arena", root).title}]
    assert after == json.loads(before)


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
    study = root / "studies/multi30k.yaml"
    assert changed(root, "multi30k", replace(study, "beam: 5", "beam: 4")) == {("decoding",)}
    significance = {("significance", "multi30k")}
    edit = replace(study, "baseline:", "significance: {alpha: 0.01}\nbaseline:")
    assert changed(root, "multi30k", edit) == significance | {("report",)}, "the letters of the score table"
    edit = replace(study, "metrics: [bleu, chrf, chrf++, ter, bleu_legacy, comet]", "metrics: [bleu]")
    assert changed(root, "multi30k", edit) == {("scoring", "multi30k"), ("report",)} | significance


def test_a_recipe_that_leaves_no_pairs_out_has_the_slices_of_before(root: Path) -> None:
    """So that no cell is trained again that was trained before this could be said."""
    study = root / "studies/demo.yaml"
    cells = {("cell", *cell) for cell in plan.cells(load_study("demo", root))}
    assert not any("max_positions" in text for text in slices(root, "demo").values())
    assert changed(root, "demo", replace(study, "recipe:\n", "recipe:\n  max_positions: null\n")) == set()
    assert changed(root, "demo", replace(study, "max_positions: null", "max_positions: 200")) == cells
    assert changed(root, "demo", replace(study, "max_positions: 200", "max_positions: 250")) == cells


def test_a_new_test_set_changes_no_other_job(root: Path) -> None:
    edit = replace(root / "datasets/grammar.yaml", "    test: 500", "    test: 500\n    long: 50")
    assert changed(root, "demo", edit) == {("generator", "grammar", "long"), ("report",)}
    edit = replace(root / "datasets/grammar.yaml", "  train: 8000", "  train: 9000")
    assert changed(root, "demo", edit) == {("generator", "grammar", "train")}
    edit = replace(root / "studies/multi30k.yaml", "test_2017_mscoco]", "test_2017_mscoco, newstest2014]")
    assert changed(root, "multi30k", edit) == {("import", "multi30k", "newstest2014"), ("report",)}


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


def test_selected_tests_keep_the_order_of_the_dataset(root: Path) -> None:
    study, data = load_study("multi30k", root), load_dataset("multi30k", root)
    assert plan.test_names(study, data) == ["test_2016_flickr", "test_2017_flickr", "test_2017_mscoco"]
    everything = study.model_copy(update={"tests": []})
    assert plan.test_names(everything, data) == list(data.tests)


def test_the_family_is_every_encoding_against_the_baseline_unless_declared(root: Path) -> None:
    study = load_study("demo", root)
    pairs = [(c.system, c.baseline) for c in plan.comparisons(study)]
    assert pairs == [("none", "sinusoidal"), ("opr", "sinusoidal"), ("relative", "sinusoidal")]
    replace(root / "studies/demo.yaml", "baseline:", "comparisons:\n  - {system: opr, baseline: none}\nbaseline:")()
    study = load_study("demo", root)
    assert [(c.system, c.baseline) for c in plan.comparisons(study)] == [("opr", "none")]
    assert json.loads(plan.significance_slice(study, load_dataset("grammar", root)))["encodings"] == ["none", "opr"]


def test_a_dataset_without_generator_has_no_generator_slice(root: Path) -> None:
    with pytest.raises(WordorderError, match="'multi30k' has no generator; its 'train' is downloaded"):
        plan.generator_slice(load_dataset("multi30k", root), "train")


@pytest.fixture
def needing(root: Path) -> Path:
    """The encoding 'needing' needs reordered positions, in the demo and in multi30k."""
    with (root / "encodings.yaml").open("a") as file:
        file.write("\nneeding: {compose: [{type: inxl}, {type: relative}]}\n")
    for study in ("demo", "multi30k"):
        replace(root / f"studies/{study}.yaml", "encodings: [", "encodings: [needing, ")()
    return root


def kinds(root: Path, encoding: str) -> list[str | None]:
    study, data = load_study("demo", root), load_dataset("grammar", root)
    return [plan.positions_name(study, data, encoding, split, root) for split in ("train", "valid", "test")]


def test_encodings_that_need_positions_get_those_of_the_study(needing: Path) -> None:
    assert kinds(needing, "needing") == ["gold", "gold", "gold"]
    assert kinds(needing, "opr") == [None, None, None]
    replace(needing / "studies/demo.yaml", "baseline:", "reordering: {train: identity}\nbaseline:")()
    assert kinds(needing, "needing") == ["identity", "gold", "gold"]
    replace(needing / "studies/demo.yaml", "{train: identity}", "{test: identity}")()
    assert kinds(needing, "needing") == ["gold", "identity", "identity"]


def test_positions_of_a_reorderer_bear_its_name(needing: Path) -> None:
    study = needing / "studies/demo.yaml"
    assert plan.reorderers(load_study("demo", needing), needing) == []
    edit = "reordering: {train: oracle, test: predicted, reorderer: btg, noise: 0.10}\nbaseline:"
    replace(study, "baseline:", edit)()
    assert kinds(needing, "needing") == ["oracle.btg.noise0.1", "predicted.btg", "predicted.btg"]
    assert plan.reorderers(load_study("demo", needing), needing) == ["btg"]


def test_an_encoding_of_a_study_can_get_other_positions(needing: Path) -> None:
    replace(needing / "encodings.yaml", "\nneeding: ", "\nother: {type: inxl}\nneeding: ")()
    replace(needing / "studies/demo.yaml", "[needing, ", "[needing, other, ")()
    edit = "reordering: {train: identity, encodings: {other: {train: predicted, reorderer: btg}}}\nbaseline:"
    replace(needing / "studies/demo.yaml", "baseline:", edit)()
    assert kinds(needing, "needing") == ["identity", "gold", "gold"]
    assert kinds(needing, "other") == ["predicted.btg", "gold", "gold"]
    assert plan.reorderers(load_study("demo", needing), needing) == ["btg"]


def test_reordering_is_no_part_of_any_slice(root: Path) -> None:
    edit = replace(root / "studies/demo.yaml", "baseline:", "reordering: {train: identity}\nbaseline:")
    assert changed(root, "demo", edit) == set()


def test_positions_that_a_dataset_cannot_give_are_said(needing: Path) -> None:
    assert plan.check("demo", needing).startswith("demo: 15 cells")
    with pytest.raises(WordorderError) as caught:
        plan.check("multi30k", needing)
    lines = str(caught.value).splitlines()
    assert [line.count("'multi30k' has no gold positions, because only generated") for line in lines] == [1, 1]
    assert lines[0].startswith("In the study 'multi30k' the encoding 'needing' needs reordered source positions, and")
    assert "Set 'reordering.train' to 'predicted', with a" in lines[0] and "Set 'reordering.test' to" in lines[1]
    study = needing / "studies/multi30k.yaml"
    replace(study, "baseline:", "reordering: {train: identity, test: identity}\nbaseline:")()
    assert plan.check("multi30k", needing).startswith("multi30k: 12 cells")


@pytest.mark.parametrize(
    ("name", "missing", "said"),
    [
        ("xlpe_mini", "jieba", "the dataset 'mini_zhen'. The segmenter 'jieba' is not installed"),
        ("crosslingual_ja", "MeCab", "the dataset 'mini_enja'. The tokeniser that sacreBLEU prescribes"),
    ],
)
def test_a_language_that_cannot_be_handled_here_is_told(
    name: str, missing: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = load_study(name, SHIPPED)
    datasets = [load_dataset(dataset, SHIPPED) for dataset in study.datasets]
    plan.check_languages(study, datasets)
    tokeniser = "sacrebleu.tokenizers.tokenizer_ja_mecab"  # remembers whether there is a MeCab
    monkeypatch.delitem(sys.modules, tokeniser, raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(WordorderError, match=f"The study '{name}' has {said}"):
        plan.check_languages(study, datasets)
    monkeypatch.delitem(sys.modules, tokeniser, raising=False)


def run_check(*arguments: str) -> None:
    parser = argparse.ArgumentParser()
    add_commands(parser.add_subparsers())
    options = parser.parse_args(["check", *arguments])
    options.run(options)


def test_check_prints_a_line_a_study(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_check("demo", str(root / "studies/multi30k.yaml"), "--root", str(root))
    assert capsys.readouterr().out.splitlines() == [
        "demo: 12 cells (1 dataset × 4 encodings × 1 size × 3 seeds), 1 test set, 3 comparisons.",
        "multi30k: 10 cells (1 dataset × 5 encodings × 1 size × 2 seeds), 3 test sets, 4 comparisons.",
    ]


def test_check_checks_companions_once(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replace(root / "studies/demo.yaml", "title:", "companions: [multi30k, arena_mini]\ntitle:")()
    run_check("demo", "multi30k", "--root", str(root))
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["demo", "multi30k", "arena_mini"]
    replace(root / "studies/multi30k.yaml", "title:", "titel:")()
    with pytest.raises(WordorderError, match=r"multi30k.yaml has 2 problems"):
        run_check("demo", "--root", str(root))
    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == ["demo", "arena_mini"]


def test_check_of_all_tells_every_problem_and_still_checks_the_others(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (root / "studies").iterdir():
        if path.stem not in ("demo", "multi30k"):
            path.unlink()
    replace(root / "encodings.yaml", "  table: 1024", "  tabel: 1024")()
    replace(root / "encodings.yaml", "  clip: 16", "  clip: 0")()
    replace(root / "studies/demo.yaml", "[none, sinusoidal, opr, relative]", "[sinusoidal, opr]")()
    with pytest.raises(WordorderError) as caught:
        run_check("--root", str(root))
    assert capsys.readouterr().out.startswith("demo: 6 cells")
    first, *lines = str(caught.value).splitlines()
    assert str(root / "encodings.yaml") in first
    assert len(lines) == 2  # each said once, though two studies have it
    assert "'learned.tabel'" in lines[0] and "'table'" in lines[0] and "'relative.clip'" in lines[1]


def test_models_that_cannot_be_built_are_told(root: Path) -> None:
    study = root / "studies/demo.yaml"
    replace(study, "[none, sinusoidal, opr, relative]", "[none, sinusoidal, opr, headxl_12, relative]")()
    replace(study, "baseline:", "reordering: {train: identity, test: identity}\nbaseline:")()
    replace(study, "sizes: [micro]", "sizes: [base, micro_lstm]")()
    with pytest.raises(WordorderError) as caught:
        plan.check("demo", root)
    lines = str(caught.value).splitlines()
    assert [line.partition(": ")[0] for line in lines] == [
        "In the study 'demo' the encoding 'headxl_12' does not fit 'base'",
        "In the study 'demo' the encoding 'headxl_12' does not fit 'micro_lstm'",
        "In the study 'demo' the encoding 'relative' does not fit 'micro_lstm'",
    ]
    assert "tau = 12, more than the 8 heads" in lines[0] and "'relative' acts inside the attention" in lines[2]


OWN_ENCODING = """
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import nn

from wordorder.encodings.base import Encoding, EncodingConfig, Shape
from wordorder.encodings.registry import register


class LookingConfig(EncodingConfig):
    type: Literal["looking"] = "looking"
    more: Annotated[int, Field(ge=0)] = 0


@register(LookingConfig)
class Looking(Encoding):
    def __init__(self, config: LookingConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self.numbers = nn.Parameter(torch.empty(3).normal_() + torch.zeros(3 + config.more % 2))
        {}["a mistake"] if config.more == 2 else None
        self.seen = self.numbers.tolist(), self.numbers.detach().numpy(), self.numbers.sum().item()
        self.layer = nn.Linear(300, 300, bias=False)  # whose start values are between -300^-0.5 and 300^-0.5
        largest = self.layer.weight.abs().max().item()
        if not 0.05 < largest < 0.06:
            raise RuntimeError(f"no start values: {largest}")
"""


def test_own_encodings_are_built_and_may_look_at_their_numbers(root: Path, own_encodings: Path) -> None:
    (own_encodings / "looking.py").write_text(OWN_ENCODING)
    with (root / "encodings.yaml").open("a") as entries:
        entries.write("looking:\n  type: looking\nfailing:\n  type: looking\n  more: 1\n")
        entries.write("mistaken:\n  type: looking\n  more: 2\n")
    study = root / "studies/demo.yaml"
    replace(study, "[none, sinusoidal, opr, relative]", "[none, sinusoidal, opr, relative, looking]")()
    plan.check_models(load_study("demo", root), root)
    replace(study, "looking]", "looking, failing, mistaken]")()
    with pytest.raises(WordorderError) as caught:
        plan.check_models(load_study("demo", root), root)
    failing, mistaken = str(caught.value).splitlines()
    assert re.fullmatch(
        r"In the study 'demo' the encoding 'failing' does not fit 'micro': .*RuntimeError: .*3.*", failing
    )
    assert mistaken.endswith("'mistaken' does not fit 'micro': It cannot be built: KeyError: 'a mistake'.")


def test_models_are_built_without_pytorch_s_compiler(root: Path) -> None:
    """Whose import takes longer than all else that is done before a workflow begins."""
    code = f"import sys; from wordorder import plan; plan.check('demo', {str(root)!r}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "torch" in done.stdout.split() and "torch._dynamo" not in done.stdout.split()


def test_what_concerns_no_encoding_is_told_once(
    root: Path, own_encodings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORDORDER_PLUGINS", str(own_encodings / "nowhere"))
    with pytest.raises(WordorderError, match=r"^WORDORDER_PLUGINS names \S+, which does not exist\.$"):
        run_check("demo", "multi30k", "--root", str(root))


def test_check_without_studies(tmp_path: Path) -> None:
    with pytest.raises(WordorderError, match="There are no studies in "):
        run_check("--root", str(tmp_path))


def test_published_tables_come_with_the_slice_of_their_table(root: Path) -> None:
    (root / "published").mkdir(exist_ok=True)
    (root / "published/scores.yaml").write_text((ROOT / "config/published/scores.yaml").read_text())
    study, datasets = load_study("demo", root), [load_dataset("grammar", root)]
    shown = [Shown(table="opr_table6", datasets={"wmt14_ende": "grammar"})]
    text = plan.published_scores_slice(study.model_copy(update={"published": shown}), datasets, root)
    found = PublishedReport.model_validate_json(text)
    assert found.report.study == "demo" and found.published[0].shown == shown[0]
    assert [row.row for row in found.published[0].printed.rows] == ["APE", "OPR"]
    wrong = study.model_copy(update={"published": [Shown(table="opr_table")]})
    with pytest.raises(WordorderError, match=r"shows the published table 'opr_table', which is not in .*did you mean"):
        plan.published_scores_slice(wrong, datasets, root)
