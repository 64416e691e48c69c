"""wordorder.config.load and .checks: every mistake has its own sentence."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from wordorder.config.checks import RULES
from wordorder.config.load import (
    load_aligners,
    load_dataset,
    load_encodings,
    load_recipes,
    load_reorderers,
    load_sizes,
    load_study,
    load_with_companions,
    slice_argument,
    study_names,
)
from wordorder.config.models import Cell, Decoding, Recipe, Scoring
from wordorder.errors import WordorderError

SHIPPED = Path(__file__).parents[2] / "config"

STUDY = """\
name: mini
title: A small study
datasets: [toy, pair]
encodings: [none, opr]
sizes: [micro]
seeds: [1, 2]
recipe:
  learning_rate: 2e-3
  max_epochs: 8
metrics: [bleu]
baseline: none
comparisons:
  - {system: opr, baseline: none}
"""
TOY = """\
name: toy
title: Toy
source_language: en
target_language: xx
licence: free
generator:
  tests: {test: 10, hard: 10}
"""
PAIR = f"""\
name: pair
title: Pair
source_language: en
target_language: 'no'
licence: free
downloads:
  a.en: {{url: "https://example.org/a.en", sha256: {"a" * 64}}}
  a.no: {{url: "https://example.org/a.no", sha256: {"b" * 64}}}
train:
  - {{source: {{file: a.en}}, target: {{file: a.no}}}}
valid:
  - {{source: {{file: a.en}}, target: {{file: a.no}}}}
tests:
  test:
    - {{source: {{file: a.en}}, target: {{file: a.no}}}}
"""

Edit = Callable[..., Path]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("studies", "datasets"):
        (tmp_path / folder).mkdir()
    for file in ("encodings.yaml", "sizes.yaml", "recipes.yaml", "aligners.yaml", "reorderers.yaml"):
        shutil.copy(SHIPPED / file, tmp_path)
    (tmp_path / "studies/mini.yaml").write_text(STUDY)
    (tmp_path / "datasets/toy.yaml").write_text(TOY)
    (tmp_path / "datasets/pair.yaml").write_text(PAIR)
    return tmp_path


def replace(path: Path, *changes: tuple[str, str]) -> None:
    text = path.read_text()
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text)


def message(function: Callable[..., object], *arguments: object) -> str:
    with pytest.raises(WordorderError) as caught:
        function(*arguments)
    return str(caught.value)


def test_the_correct_files_load(root: Path) -> None:
    study = load_study("mini", root)
    assert study.recipe.learning_rate == 0.002 and study.recipe.adam_betas == (0.9, 0.98)
    assert study == load_study(root / "studies/mini.yaml", root)
    assert load_dataset("pair", root).target_language == "no"
    assert load_dataset("toy", root).test_names == ["test", "hard"]
    assert study_names(root) == ["mini"]


STUDY_MISTAKES = [
    # key that is unknown
    (
        ("max_epochs", "max_epoch"),
        ", line 9: 'recipe.max_epoch' is no known key; did you mean 'max_epochs'? The keys here are ",
    ),
    (
        ("title:", "titel:"),
        "has 2 problems:\n  line 1: 'title' is missing.\n  line 2: 'titel' is no known key; did you mean",
    ),
    (
        ("\n  max_epochs: 8", ""),
        ", line 7: 'recipe' is wrong: max_updates or max_epochs must be given, or the training never",
    ),
    # wrong types and values
    (("8\n", "eight\n"), ", line 9: 'recipe.max_epochs' must be a whole number, but is the text 'eight'."),
    (("8\n", "'8'\n"), ", line 9: 'recipe.max_epochs' must be a whole number, but is the text '8'."),
    (("8\n", "8.5\n"), ", line 9: 'recipe.max_epochs' must be a whole number, but is 8.5."),
    (("8\n", "true\n"), ", line 9: 'recipe.max_epochs' must be a whole number, but is true."),
    (("8\n", "0\n"), ", line 9: 'recipe.max_epochs' must be a number greater than 0, but is 0."),
    (("2e-3", "1e999"), ", line 8: 'recipe.learning_rate' must be a finite number, but is Infinity."),
    (("2e-3", "fast"), ", line 8: 'recipe.learning_rate' must be a number, but is the text 'fast'."),
    (
        ("max_epochs: 8", "max_epochs: 8\n  dropout: 1"),
        ", line 10: 'recipe.dropout' must be a number less than 1, but is 1.",
    ),
    (("[1, 2]", "[1, -2]"), ", line 6: 'seeds[1]' must be a number not less than 0, but is -2."),
    (("[1, 2]", "[]"), ", line 6: 'seeds' must be a list of at least 1, but is a list of 0."),
    (("[1, 2]", "1"), ", line 6: 'seeds' must be a list, but is 1."),
    (("A small study", ""), ", line 2: 'title' must be text, but is empty."),
    (
        ("[bleu]", "[bleu, blue]"),
        ", line 10: 'metrics[1]' is wrong: There is no metric 'blue'. Did you mean 'bleu'? The metrics are bleu, ",
    ),
    (
        ("[bleu]", "[bleu, {comet: {modell: m}}]"),
        ", line 10: 'metrics[1]' is wrong: the settings of 'comet' are not valid (modell: Extra inputs are not "
        "permitted); its keys are model, precision.",
    ),
    (("[bleu]", "[bleu, {bleu: {}}]"), ", line 10: 'metrics[1]' repeats an earlier entry of 'metrics'; remove it."),
    (
        ("[bleu]", "[bleu, 3]"),
        ", line 10: 'metrics[1]' is wrong: it must be the name of a metric, or one name with its",
    ),
    (
        ("max_epochs: 8", "max_epochs: 8\n  norm: prenorm"),
        ", line 10: 'recipe.norm' must be 'pre' or 'post', but is the text 'prenorm'. Did you mean 'pre'?",
    ),
    (
        ("metrics:", "reordering: {train: glod}\nmetrics:"),
        ", line 10: 'reordering.train' must be 'gold', 'identity', 'oracle' or 'predicted', but is the text 'glod'. "
        "Did you mean 'gold'?",
    ),
    (
        ("metrics:", "reordering: {valid: gold}\nmetrics:"),
        ", line 10: 'reordering.valid' is no known key. The keys here are encodings, noise, reorderer, test, train.",
    ),
    # names that do not exist
    (
        ("[micro]", "[mirco]"),
        ", line 5: 'sizes[0]' is the unknown size 'mirco'; did you mean 'micro'? The known sizes are ",
    ),
    (
        ("[none, opr]", "[none, opr, relativ]"),
        ", line 4: 'encodings[2]' is the unknown encoding 'relativ'; did you mean 'relative'? The known encodings are ",
    ),
    (
        ("[toy, pair]", "[toy, pear]"),
        ", line 3: 'datasets[1]' is the unknown dataset 'pear'; did you mean 'pair'? The known datasets are pair, toy.",
    ),
    (("[toy, pair]", "[toy, ../pair]"), "'datasets[1]' must be a name of letters, digits and . _ + - that starts"),
    (
        ("metrics:", "reordering: {train: predicted}\nmetrics:"),
        ", line 10: 'reordering' is wrong: 'oracle' and 'predicted' positions need a 'reorderer', a name in ",
    ),
    (
        ("metrics:", "reordering: {train: predicted, reorderer: bgt}\nmetrics:"),
        ", line 10: 'reordering.reorderer' is the unknown reorderer 'bgt'; did you mean 'btg'? The known reorderers ",
    ),
    (
        ("metrics:", "reordering:\n  encodings: {opr: {train: predicted, reorderer: bgt}}\nmetrics:"),
        ", line 11: 'reordering.encodings.opr.reorderer' is the unknown reorderer 'bgt'; did you mean 'btg'?",
    ),
    # names that depend on one another
    (
        ("metrics:", "reordering:\n  encodings: {relative: {train: identity}}\nmetrics:"),
        ", line 11: 'reordering.encodings.relative' is 'relative', which is no encoding of this study.",
    ),
    (
        ("baseline: none\n", "baseline: nane\n"),
        ", line 11: 'baseline' is 'nane', which is no encoding of this study; did you "
        "mean 'none'? The study's encodings are none, opr.",
    ),
    (
        ("system: opr", "system: relative"),
        ", line 13: 'comparisons[0].system' is 'relative', which is no encoding of this "
        "study. The study's encodings are none, opr.",
    ),
    (
        ("opr, baseline: none", "opr, baseline: sinusoidal"),
        ", line 13: 'comparisons[0].baseline' is 'sinusoidal', which is no ",
    ),
    (("system: opr", "system: none"), ", line 13: 'comparisons[0]' compares 'none' with itself."),
    (
        ("name: mini", "name: maxi"),
        ", line 1: 'name' is 'maxi', but the file is called 'mini.yaml'; the two must be the same",
    ),
    (
        ("metrics:", "tests: [test, herd]\nmetrics:"),
        ", line 10: 'tests[1]' is the unknown test set 'herd'; did you mean 'hard'? "
        "The test sets of this study's datasets are hard, test.",
    ),
    (
        ("metrics:", "tests: [hard]\nmetrics:"),
        ", line 10: 'tests' names no test set of the dataset 'pair'; it has test.",
    ),
    # repetitions
    (("[1, 2]", "[1, 2, 1]"), ", line 6: 'seeds[2]' repeats an earlier entry of 'seeds'; remove it."),
    (
        ("[none, opr]", "[none, opr, opr]"),
        ", line 4: 'encodings[2]' repeats an earlier entry of 'encodings'; remove it.",
    ),
    (("[toy, pair]", "[toy, pair, toy]"), ", line 3: 'datasets[2]' repeats an earlier entry of 'datasets'; remove it."),
    (("[micro]", "[micro, micro]"), ", line 5: 'sizes[1]' repeats an earlier entry of 'sizes'; remove it."),
    (("[bleu]", "[bleu, bleu]"), ", line 10: 'metrics[1]' repeats an earlier entry of 'metrics'; remove it."),
    (
        ("comparisons:", "comparisons:\n  - {baseline: none, system: opr}"),
        ", line 14: 'comparisons[1]' repeats an earlier entry",
    ),
    (
        ("metrics:", "tests: [test, test]\nmetrics:"),
        ", line 10: 'tests[1]' repeats an earlier entry of 'tests'; remove it.",
    ),
]


@pytest.mark.parametrize(("change", "sentence"), STUDY_MISTAKES)
def test_a_mistake_in_a_study(root: Path, change: tuple[str, str], sentence: str) -> None:
    path = root / "studies/mini.yaml"
    replace(path, change)
    said = message(load_study, "mini", root)
    assert said.startswith(str(path)) and sentence in said
    if not sentence.startswith("has "):
        assert said.count("\n") == (2 if "../" in change[1] else 0)  # nothing else is complained about


def test_mistakes_of_all_kinds_are_reported_together(root: Path) -> None:
    replace(
        root / "studies/mini.yaml", ("8\n", "x\n"), ("[micro]", "[mirco]"), ("[1, 2]", "[1, 1]"), ("title", "titel")
    )
    said = message(load_study, "mini", root)
    assert "has 5 problems:" in said
    lines = [line.split(":")[0].strip() for line in said.splitlines()[2:]]
    assert lines == ["line 2", "line 5", "line 6", "line 9"]


@pytest.mark.parametrize(("name", "holds"), [("data", "the datasets"), ("reference", "the reference runs")])
def test_a_study_cannot_be_called_as_another_folder(root: Path, name: str, holds: str) -> None:
    (root / f"studies/{name}.yaml").write_text(STUDY.replace("mini", name))
    assert f"line 1: '{name}' cannot be the name of a study, because results/{name} holds {holds}." in message(
        load_study, name, root
    )


def test_the_rules_of_the_workflow_are_known() -> None:
    files = [SHIPPED.parent / "Snakefile", *(SHIPPED.parent / "workflow/rules").glob("*.smk")]
    rule = re.compile(r"^ *(?:rule|checkpoint|use rule \w+ as) (\w+)", re.MULTILINE)
    found = {name for file in files for name in rule.findall(file.read_text())}
    assert found == RULES


@pytest.mark.parametrize("name", ["tables", "train_model", "scatter_pair"])
def test_a_study_cannot_be_called_as_a_rule(root: Path, name: str) -> None:
    (root / f"studies/{name}.yaml").write_text(STUDY.replace("mini", name))
    assert f"line 1: '{name}' cannot be the name of a study, because a rule of the workflow is called so." in message(
        load_study, name, root
    )
    (root / "studies/scatter_x.yaml").write_text(STUDY.replace("mini", "scatter_x"))
    assert load_study("scatter_x", root).name == "scatter_x"  # no dataset is called x


@pytest.mark.parametrize(
    ("companions", "sentence"),
    [
        (
            "[maxi, max]",
            "'companions[1]' is the unknown study 'max'; did you mean 'maxi'? The other studies are maxi.",
        ),
        ("[mini]", "'companions[0]' is the study itself; remove it, or name another study."),
        ("[maxi, maxi]", "'companions[1]' repeats an earlier entry of 'companions'; remove it."),
        ("maxi", "'companions' must be a list, but is the text 'maxi'."),
        ("[../maxi]", "'companions[0]' must be a name of letters, digits and . _ + - that starts"),
    ],
)
def test_mistakes_in_companions(root: Path, companions: str, sentence: str) -> None:
    path = root / "studies/mini.yaml"
    (root / "studies/maxi.yaml").write_text(STUDY.replace("mini", "maxi"))
    path.write_text(f"{STUDY}companions: {companions}\n")
    said = message(load_study, "mini", root)
    assert said.startswith(str(path)) and f"line 14: {sentence}" in said
    path.write_text(f"{STUDY}companions: [maxi]\n")
    assert [study.name for study in load_with_companions("mini", root)] == ["mini", "maxi"]


def test_companions_of_companions_are_not_followed(root: Path) -> None:
    for name, companion in (("mini", "maxi"), ("maxi", "midi"), ("midi", "mini")):
        text = STUDY.replace("mini", name)
        (root / f"studies/{name}.yaml").write_text(f"{text}companions: [{companion}]\n")
    assert [study.name for study in load_with_companions("mini", root)] == ["mini", "maxi"]


def test_unknown_study_and_dataset(root: Path) -> None:
    assert message(load_study, "mimi", root) == (
        f"There is no study 'mimi' in {root}/studies; did you mean 'mini'? The studies are mini."
    )
    assert message(load_dataset, "toi", root) == (
        f"There is no dataset 'toi' in {root}/datasets; did you mean 'toy'? The datasets are pair, toy."
    )
    assert message(load_study, "x.yaml", root) == "x.yaml does not exist."
    assert "There are no studies." in message(load_study, "mini", root / "nowhere")


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "just text", "3"])
def test_a_file_that_is_no_mapping(root: Path, text: str) -> None:
    for path, load in (
        (root / "studies/mini.yaml", lambda: load_study("mini", root)),
        (root / "datasets/toy.yaml", lambda: load_dataset("toy", root)),
        (root / "sizes.yaml", lambda: load_sizes(root)),
        (root / "encodings.yaml", lambda: load_encodings(root)),
        (root / "recipes.yaml", lambda: load_recipes(root)),
    ):
        good = path.read_text()
        path.write_text(text)
        said = message(load)
        assert said.startswith(str(path)) and ": the top level must be a group of keys, but is " in said
        assert "\n" not in said
        path.write_text(good)


PAIR_MISTAKES = [
    (("name: pair", "name: peer"), ", line 1: 'name' is 'peer', but the file is called 'pair.yaml'"),
    (
        ("valid:\n  - {source: {file: a.en}", "valid:\n  - {source: {file: a.nn}"),
        ", line 12: 'valid[0].source.file' is 'a.nn', "
        "which is no key of 'downloads'; did you mean 'a.no'? The downloads are a.en, a.no.",
    ),
    (
        ("  test:\n    - {source: {file: a.en}", "  test:\n    - {source: {file: b}"),
        ", line 15: 'tests.test[0].source.file' is 'b',",
    ),
    (("tests:\n  test:", "tests:\n  train:"), ", line 14: a test set cannot be called 'train'; give it another name."),
    (
        ("tests:\n  test:", "tests:\n  empty: []\n  test:"),
        ", line 14: 'tests.empty' has no parts; write its source and target",
    ),
    (("tests:\n  test:", "tests:\n  ../test:"), ", line 14: 'tests.../test' must be a name of letters, digits"),
    (("a" * 64, "a" * 63), ", line 7: 'downloads.a.en.sha256' must be 64 hexadecimal digits in lower case, but is"),
    (
        ("https://example.org/a.en", "example.org/a.en"),
        ", line 7: 'downloads.a.en.url' must be an address that starts with",
    ),
    (("train:\n", "train: []\nspare:\n"), "'train' is missing or empty; a dataset has it, or a 'generator'."),
    (("train:\n", "generator: {}\ntrain:\n"), "'train' cannot be given beside 'generator', which makes all sentences."),
    (
        ("language: en", "language: jp"),
        ", line 3: 'source_language' is 'jp', which is no language; did you mean 'ja'?",
    ),
    (
        ("language: 'no'", "language: zh_TW"),
        ", line 4: 'target_language' must be the code of a language, such as 'de', 'qaa' or 'zh-TW', but is 'zh_TW'.",
    ),
    (("language: 'no'", "language: ''"), ", line 4: 'target_language' must be the code of a language, "),
    (
        ("licence: free", "licence: free\npreprocessing: {segment: {jp: mecab}}"),
        ", line 6: 'preprocessing.segment.jp' is no language of this dataset. The dataset's languages are en, no.",
    ),
    (
        ("train:\n  - {source: {file: a.en}", "train:\n  - {source: {file: a.en, member: x}"),
        ", line 10: 'train[0].source' is wrong: 'member' is only for archives, whose names end in .zip, .tar, ",
    ),
    (("title: Pair", "title: 7"), ", line 2: 'title' must be text, but is 7. Put it in quotes."),
    (
        ("licence: free", "licence: free\npreprocessing: {cleaning: {max_ration: 2}}"),
        ", line 6: 'preprocessing.cleaning.max_ration' "
        "is no known key; did you mean 'max_ratio'? The keys here are max_length, max_ratio, min_length, ratio_slack.",
    ),
]


@pytest.mark.parametrize(("change", "sentence"), PAIR_MISTAKES)
def test_a_mistake_in_a_dataset(root: Path, change: tuple[str, str], sentence: str) -> None:
    replace(root / "datasets/pair.yaml", change)
    said = message(load_dataset, "pair", root)
    assert said.startswith(f"{root}/datasets/pair.yaml") and sentence in said
    # A study that uses the dataset says the same.
    assert message(load_study, "mini", root) == said


@pytest.mark.parametrize("file", ["a.zip", "a.tar", "a.tgz", "a.tar.gz", "a.tar.bz2"])
def test_of_an_archive_a_member_is_named(root: Path, file: str) -> None:
    path = root / "datasets/pair.yaml"
    path.write_text(
        path.read_text().replace("a.no:", f"{file}:").replace("file: a.no", f"file: {file}, member: x/a.no")
    )
    assert load_dataset("pair", root).train[0].target.member == "x/a.no"
    path.write_text(path.read_text().replace(", member: x/a.no", "", 1))
    assert f"line 10: 'train[0].target' is wrong: '{file}' is an archive: 'member' must say which of its" in message(
        load_dataset, "pair", root
    )


@pytest.mark.parametrize("language", ["zh-TW", "qaa", "zh"])
def test_codes_of_languages(root: Path, language: str) -> None:
    replace(root / "datasets/pair.yaml", ("language: 'no'", f"language: {language}"))
    replace(
        root / "datasets/pair.yaml",
        ("licence: free", f"licence: free\npreprocessing: {{segment: {{{language}: jieba}}}}"),
    )
    assert load_dataset("pair", root).target_language == language


def test_a_test_set_of_the_generator_cannot_be_called_valid(root: Path) -> None:
    replace(root / "datasets/toy.yaml", ("hard:", "valid:"))
    assert "line 7: a test set cannot be called 'valid'; give it another name." in message(load_dataset, "toy", root)


def test_a_dataset_needs_parts_or_a_generator(root: Path) -> None:
    replace(root / "datasets/toy.yaml", ("generator:\n  tests: {test: 10, hard: 10}\n", ""))
    said = message(load_dataset, "toy", root)
    assert "3 problems" in said and all(f"'{key}' is missing or empty" in said for key in ("train", "valid", "tests"))


def test_mistakes_in_sizes(root: Path) -> None:
    path = root / "sizes.yaml"
    path.write_text("odd: {encoder_layers: 2, decoder_layers: 2, dim: 128, ffn_dim: 8, heads: 3, dropout: 0.1}\n")
    assert message(load_sizes, root) == f"{path}, line 1: 'odd' is wrong: dim (128) must be a multiple of heads (3)."
    path.write_text("a:\n  encoder_layer: 2\n")
    assert "line 2: 'a.encoder_layer' is no known key; did you mean 'encoder_layers'?" in message(load_sizes, root)
    path.write_text("a b: {}\n")
    assert "'a b' must be a name of letters, digits" in message(load_sizes, root)


def test_mistakes_in_encodings(root: Path) -> None:
    path = root / "encodings.yaml"
    for text, sentence in (
        ("a: {k: 8}", "line 1: 'a' is wrong: either 'type' or 'compose' must be given."),
        ("a: {type: opr, compose: [{type: b}, {type: c}]}", "line 1: 'a' is wrong: either 'type' or 'compose' must be"),
        ("a: {compose: [{type: b}]}", "line 1: 'a.compose' must be a list of at least 2, but is a list of 1."),
        ("a: {compose: [{type: b}, {k: 1}]}", "line 1: 'a.compose[1].type' is missing."),
        ("a: opr", "line 1: 'a' must be a group of keys, but is the text 'opr'."),
        ("a: {type: opr}\na: {type: opr}", "line 2: 'a' was already given on line 1; keep one of them."),
    ):
        path.write_text(text)
        assert message(load_encodings, root).startswith(f"{path}, {sentence}")


def test_encodings_are_given_as_written(root: Path) -> None:
    entries = load_encodings(root)
    assert entries["opr"] == {"type": "opr", "k": 8}
    assert list(entries["opr_rpr"]) == ["compose"]


def test_slice_argument(tmp_path: Path) -> None:
    assert slice_argument('{"beam":4,"alpha":1}', Decoding) == Decoding(beam=4, alpha=1.0)
    (tmp_path / "d.yaml").write_text("beam: 4  # as in the paper\nalpha: 6e-1\n")
    assert slice_argument(f"@{tmp_path}/d.yaml", Decoding) == Decoding(beam=4, alpha=0.6)
    (tmp_path / "d.json").write_text('{"beam": 4}')
    assert slice_argument(f"@{tmp_path}/d.json", Decoding).beam == 4


def test_a_dumped_slice_is_read_back() -> None:
    size = load_sizes(SHIPPED)["micro"]
    cell = Cell(encoding={"type": "opr", "k": 8.0}, size=size, recipe=Recipe(max_epochs=1), seed=3)
    assert slice_argument(cell.model_dump_json(), Cell) == cell


def test_mistakes_in_a_slice(tmp_path: Path) -> None:
    assert message(slice_argument, '{"beam":4,"nbest":5}', Decoding) == (
        "The value of --config: the top level is wrong: nbest (5) cannot exceed beam (4)."
    )
    assert message(slice_argument, '{"metrics":["bleu"]}', Scoring) == (
        "The value of --config: 'target_language' is missing."
    )
    assert message(slice_argument, "beam=4", Decoding).startswith("The value of --config: this is not valid JSON: ")
    assert message(slice_argument, "[]", Decoding) == (
        "The value of --config: the top level must be a group of keys, but is a list of 0."
    )
    assert message(slice_argument, f"@{tmp_path}/none.yaml", Decoding) == f"{tmp_path}/none.yaml does not exist."
    (tmp_path / "d.yaml").write_text("alpha: 1\nbeem: 4\n")
    assert message(slice_argument, f"@{tmp_path}/d.yaml", Decoding).startswith(
        f"{tmp_path}/d.yaml, line 2: 'beem' is no known key; did you mean 'beam'? The keys here are "
    )


def test_reorderers_name_aligners(root: Path) -> None:
    assert load_reorderers(root)["btg"].aligner == "hmm"
    (root / "reorderers.yaml").write_text("one: {aligner: hmm}\ntwo: {aligner: hhm}\n")
    assert message(load_reorderers, root) == (
        f"{root / 'reorderers.yaml'}, line 2: 'two.aligner' is the unknown aligner 'hhm'; did you mean 'hmm'? The "
        f"known aligners are {', '.join(sorted(load_aligners(root)))}."
    )
    (root / "aligners.yaml").unlink()
    (root / "reorderers.yaml").unlink()
    assert (load_aligners(root), load_reorderers(root)) == ({}, {})
