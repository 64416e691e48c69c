"""Tests of wordorder.config.load and .checks: every mistake has a code, a line and a key."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raises import raises
from wordorder.config.decoding import Decoding
from wordorder.config.load import (
    encoding_names,
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
from wordorder.config.models import Cell, Recipe, Scoring
from wordorder.config.seeds import Looks

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
  - {{source: {{file: a.en}}, target: {{file: a.no}}, choose: {{by: line, of: 9, drop: [0, 1]}}}}
valid:
  - {{source: {{file: a.en}}, target: {{file: a.no}}, choose: {{by: line, of: 9, keep: [0]}}}}
tests:
  test:
    - {{source: {{file: a.en}}, target: {{file: a.no}}, choose: {{by: line, of: 9, keep: [1]}}}}
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


Problems = list[dict[str, object]]


def found(path: Path, load: Callable[..., object], *arguments: object) -> Problems:
    """Return code, line, key and suggestion of every problem of a file, where present."""
    with raises("invalid-configuration", path=path) as caught:
        load(*arguments)
    names = ("code", "line", "key", "suggestion")
    parts = [{name: getattr(part, name) for name in names} for part in caught.error.parts]
    return [{name: value for name, value in part.items() if value is not None} for part in parts]


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
        [{"code": "unknown-key", "line": 9, "key": "recipe.max_epoch", "suggestion": "max_epochs"}],
    ),
    (
        ("title:", "titel:"),
        [
            {"code": "missing-key", "line": 1, "key": "title"},
            {"code": "unknown-key", "line": 2, "key": "titel", "suggestion": "title"},
        ],
    ),
    (
        ("\n  max_epochs: 8", ""),
        [{"code": "invalid-value", "line": 7, "key": "recipe"}],
    ),
    # wrong types and values
    (("8\n", "eight\n"), [{"code": "wrong-type", "line": 9, "key": "recipe.max_epochs"}]),
    (("8\n", "'8'\n"), [{"code": "wrong-type", "line": 9, "key": "recipe.max_epochs"}]),
    (("8\n", "8.5\n"), [{"code": "wrong-type", "line": 9, "key": "recipe.max_epochs"}]),
    (("8\n", "true\n"), [{"code": "wrong-type", "line": 9, "key": "recipe.max_epochs"}]),
    (("8\n", "0\n"), [{"code": "out-of-range", "line": 9, "key": "recipe.max_epochs"}]),
    (("2e-3", "1e999"), [{"code": "out-of-range", "line": 8, "key": "recipe.learning_rate"}]),
    (("2e-3", "fast"), [{"code": "wrong-type", "line": 8, "key": "recipe.learning_rate"}]),
    (
        ("max_epochs: 8", "max_epochs: 8\n  dropout: 1"),
        [{"code": "out-of-range", "line": 10, "key": "recipe.dropout"}],
    ),
    (("[1, 2]", "[1, -2]"), [{"code": "out-of-range", "line": 6, "key": "seeds[1]"}]),
    (("[1, 2]", "[1, 4294967296]"), [{"code": "out-of-range", "line": 6, "key": "seeds[1]"}]),
    (("[1, 2]", "[]"), [{"code": "wrong-length", "line": 6, "key": "seeds"}]),
    (("[1, 2]", "1"), [{"code": "wrong-type", "line": 6, "key": "seeds"}]),
    (("[1, 2]", "{looks: [5, 3]}"), [{"code": "invalid-value", "line": 6, "key": "seeds"}]),
    (("[1, 2]", "{looks: [3]}"), [{"code": "wrong-length", "line": 6, "key": "seeds.looks"}]),
    (("[1, 2]", "{looks: [1, 3]}"), [{"code": "out-of-range", "line": 6, "key": "seeds.looks[0]"}]),
    (("[1, 2]", "{looks: [3, 5], until: 4}"), [{"code": "invalid-value", "line": 6, "key": "seeds"}]),
    (
        ("[1, 2]", "{looks: [3, 5], untill: 5}"),
        [{"code": "unknown-key", "line": 6, "key": "seeds.untill", "suggestion": "until"}],
    ),
    (
        ("metrics:", "margin: {blue: 0.5}\nmetrics:"),
        [{"code": "unknown-name", "line": 10, "key": "margin.blue", "suggestion": "bleu"}],
    ),
    (
        ("metrics:", "decoding: {v1.0: {beam: 4}, ours: {beam: 5}}\nmetrics:"),
        [{"code": "reserved-name", "line": 10, "key": "decoding.v1.0"}],
    ),
    (
        ("metrics:", "recipes:\n  pair:\n    dropout: x\nmetrics:"),
        [{"code": "wrong-type", "line": 12, "key": "recipes.pair.dropout"}],
    ),
    (
        ("metrics:", "recipes: {pair: {max_updates: '100', accumulate: true}}\nmetrics:"),
        [{"code": "wrong-type", "line": 10, "key": f"recipes.pair.{key}"} for key in ("accumulate", "max_updates")],
    ),
    (
        ("metrics:", "recipes: {pair: {warmup_from: 0.1}}\nmetrics:"),
        [{"code": "invalid-value", "line": 10, "key": "recipes.pair"}],
    ),
    (
        ("metrics:", "recipes: {pairr: {learning_rate: 1e-3}}\nmetrics:"),
        [{"code": "unknown-name", "line": 10, "key": "recipes.pairr", "suggestion": "pair"}],
    ),
    (
        ("metrics:", "significance: {alpha: 0}\nmetrics:"),
        [{"code": "out-of-range", "line": 10, "key": "significance.alpha"}],
    ),
    (
        ("metrics:", "significance: {alpha: 0.5}\nmetrics:"),
        [{"code": "out-of-range", "line": 10, "key": "significance.alpha"}],
    ),
    (
        ("metrics:", "significance: {bootstrap_samples: 1}\nmetrics:"),
        [{"code": "out-of-range", "line": 10, "key": "significance.bootstrap_samples"}],
    ),
    (("metrics:", "margin: {bleu: 0}\nmetrics:"), [{"code": "out-of-range", "line": 10, "key": "margin.bleu"}]),
    (("A small study", ""), [{"code": "wrong-type", "line": 2, "key": "title"}]),
    (
        ("[bleu]", "[bleu, blue]"),
        [{"code": "unknown-name", "line": 10, "key": "metrics[1]", "suggestion": "bleu"}],
    ),
    (
        ("[bleu]", "[bleu, {comet: {modell: m}}]"),
        [{"code": "unknown-key", "line": 10, "key": "metrics[1].comet.modell", "suggestion": "model"}],
    ),
    (("[bleu]", "[bleu, {comet: {model: 3}}]"), [{"code": "wrong-type", "line": 10, "key": "metrics[1].comet.model"}]),
    (("[bleu]", "[bleu, {bleu: {}}]"), [{"code": "duplicate-entry", "line": 10, "key": "metrics[1]"}]),
    (
        ("[bleu]", "[bleu, 3]"),
        [{"code": "invalid-value", "line": 10, "key": "metrics[1]"}],
    ),
    (
        ("max_epochs: 8", "max_epochs: 8\n  norm: prenorm"),
        [{"code": "unknown-choice", "line": 10, "key": "recipe.norm", "suggestion": "pre"}],
    ),
    (
        ("metrics:", "reordering: {train: glod}\nmetrics:"),
        [{"code": "unknown-choice", "line": 10, "key": "reordering.train", "suggestion": "gold"}],
    ),
    (
        ("metrics:", "reordering: {valid: gold}\nmetrics:"),
        [{"code": "unknown-key", "line": 10, "key": "reordering.valid"}],
    ),
    # names that do not exist
    (
        ("[micro]", "[mirco]"),
        [{"code": "unknown-name", "line": 5, "key": "sizes[0]", "suggestion": "micro"}],
    ),
    (
        ("[none, opr]", "[none, opr, relativ]"),
        [{"code": "unknown-name", "line": 4, "key": "encodings[2]", "suggestion": "relative"}],
    ),
    (
        ("[toy, pair]", "[toy, pear]"),
        [{"code": "unknown-name", "line": 3, "key": "datasets[1]", "suggestion": "pair"}],
    ),
    (
        ("[toy, pair]", "[toy, ../pair]"),
        [
            {"code": "unknown-name", "line": 3, "key": "datasets[1]", "suggestion": "pair"},
            {"code": "malformed-text", "line": 3, "key": "datasets[1]"},
        ],
    ),
    (
        ("metrics:", "reordering: {train: predicted}\nmetrics:"),
        [{"code": "invalid-value", "line": 10, "key": "reordering"}],
    ),
    (
        ("metrics:", "reordering: {train: predicted, reorderer: bgt}\nmetrics:"),
        [{"code": "unknown-name", "line": 10, "key": "reordering.reorderer", "suggestion": "btg"}],
    ),
    (
        ("metrics:", "reordering:\n  encodings: {opr: {train: predicted, reorderer: bgt}}\nmetrics:"),
        [{"code": "unknown-name", "line": 11, "key": "reordering.encodings.opr.reorderer", "suggestion": "btg"}],
    ),
    # names that depend on one another
    (
        ("metrics:", "reordering:\n  encodings: {relative: {train: identity}}\nmetrics:"),
        [{"code": "unknown-name", "line": 11, "key": "reordering.encodings.relative"}],
    ),
    (
        ("baseline: none\n", "baseline: nane\n"),
        [{"code": "unknown-name", "line": 11, "key": "baseline", "suggestion": "none"}],
    ),
    (
        ("system: opr", "system: relative"),
        [{"code": "unknown-name", "line": 13, "key": "comparisons[0].system"}],
    ),
    (
        ("opr, baseline: none", "opr, baseline: sinusoidal"),
        [{"code": "unknown-name", "line": 13, "key": "comparisons[0].baseline"}],
    ),
    (("system: opr", "system: none"), [{"code": "self-reference", "line": 13, "key": "comparisons[0]"}]),
    (
        ("name: mini", "name: maxi"),
        [{"code": "wrong-name", "line": 1, "key": "name"}],
    ),
    (
        ("metrics:", "tests: [test, herd]\nmetrics:"),
        [{"code": "unknown-name", "line": 10, "key": "tests[1]", "suggestion": "hard"}],
    ),
    (
        ("metrics:", "tests: [hard]\nmetrics:"),
        [{"code": "missing-entry", "line": 10, "key": "tests"}],
    ),
    (
        ("metrics:", "only: {macro: [none]}\nmetrics:"),
        [{"code": "unknown-name", "line": 10, "key": "only.macro", "suggestion": "micro"}],
    ),
    (
        ("metrics:", "only: {micro: [none, opr, relative]}\nmetrics:"),
        [{"code": "unknown-name", "line": 10, "key": "only.micro[2]"}],
    ),
    (
        ("metrics:", "only: {micro: [none]}\nmetrics:"),
        [{"code": "missing-entry", "line": 4, "key": "encodings[1]"}],
    ),
    # repetitions
    (("[1, 2]", "[1, 2, 1]"), [{"code": "duplicate-entry", "line": 6, "key": "seeds[2]"}]),
    (
        ("[none, opr]", "[none, opr, opr]"),
        [{"code": "duplicate-entry", "line": 4, "key": "encodings[2]"}],
    ),
    (("[toy, pair]", "[toy, pair, toy]"), [{"code": "duplicate-entry", "line": 3, "key": "datasets[2]"}]),
    (("[micro]", "[micro, micro]"), [{"code": "duplicate-entry", "line": 5, "key": "sizes[1]"}]),
    (("[bleu]", "[bleu, bleu]"), [{"code": "duplicate-entry", "line": 10, "key": "metrics[1]"}]),
    (
        ("comparisons:", "comparisons:\n  - {baseline: none, system: opr}"),
        [{"code": "duplicate-entry", "line": 14, "key": "comparisons[1]"}],
    ),
    (
        ("metrics:", "tests: [test, test]\nmetrics:"),
        [{"code": "duplicate-entry", "line": 10, "key": "tests[1]"}],
    ),
]


def test_seeds_of_looks_are_those_up_to_the_present_one(root: Path) -> None:
    replace(root / "studies/mini.yaml", ("[1, 2]", "{looks: [3, 5]}"))
    assert load_study("mini", root).seed_numbers == [1, 2, 3]
    replace(root / "studies/mini.yaml", ("[3, 5]", "[3, 5], until: 5, declared: false"))
    assert load_study("mini", root).seed_numbers == [1, 2, 3, 4, 5]
    assert load_study("mini", root).looks == Looks(looks=[3, 5], until=5, declared=False)


@pytest.mark.parametrize(("change", "problems"), STUDY_MISTAKES)
def test_a_mistake_in_a_study(root: Path, change: tuple[str, str], problems: Problems) -> None:
    replace(root / "studies/mini.yaml", change)
    assert found(root / "studies/mini.yaml", load_study, "mini", root) == problems


def test_mistakes_of_all_kinds_are_reported_together(root: Path) -> None:
    replace(
        root / "studies/mini.yaml", ("8\n", "x\n"), ("[micro]", "[mirco]"), ("[1, 2]", "[1, 1]"), ("title", "titel")
    )
    problems = found(root / "studies/mini.yaml", load_study, "mini", root)
    assert [problem["line"] for problem in problems] == [1, 2, 5, 6, 9]


@pytest.mark.parametrize("name", ["data", "reference"])
def test_a_study_cannot_be_called_as_another_folder(root: Path, name: str) -> None:
    (root / f"studies/{name}.yaml").write_text(STUDY.replace("mini", name))
    with raises("reserved-name", line=1, found=name):
        load_study(name, root)


@pytest.mark.parametrize(
    ("companions", "problems"),
    [
        (
            "[maxi, max]",
            [{"code": "unknown-name", "line": 14, "key": "companions[1]", "suggestion": "maxi"}],
        ),
        ("[mini]", [{"code": "self-reference", "line": 14, "key": "companions[0]"}]),
        ("[maxi, maxi]", [{"code": "duplicate-entry", "line": 14, "key": "companions[1]"}]),
        ("maxi", [{"code": "wrong-type", "line": 14, "key": "companions"}]),
        (
            "[../maxi]",
            [
                {"code": "unknown-name", "line": 14, "key": "companions[0]", "suggestion": "maxi"},
                {"code": "malformed-text", "line": 14, "key": "companions[0]"},
            ],
        ),
    ],
)
def test_mistakes_in_companions(root: Path, companions: str, problems: Problems) -> None:
    path = root / "studies/mini.yaml"
    (root / "studies/maxi.yaml").write_text(STUDY.replace("mini", "maxi"))
    path.write_text(f"{STUDY}companions: {companions}\n")
    assert found(path, load_study, "mini", root) == problems
    path.write_text(f"{STUDY}companions: [maxi]\n")
    assert [study.name for study in load_with_companions("mini", root)] == ["mini", "maxi"]


def test_companions_of_companions_are_not_followed(root: Path) -> None:
    for name, companion in (("mini", "maxi"), ("maxi", "midi"), ("midi", "mini")):
        text = STUDY.replace("mini", name)
        (root / f"studies/{name}.yaml").write_text(f"{text}companions: [{companion}]\n")
    assert [study.name for study in load_with_companions("mini", root)] == ["mini", "maxi"]


def test_unknown_study_and_dataset(root: Path) -> None:
    with raises("unknown-name", path=root / "studies", found="mimi", expected=["mini"], suggestion="mini"):
        load_study("mimi", root)
    with raises("unknown-name", path=root / "datasets", found="toi", suggestion="toy"):
        load_dataset("toi", root)
    with raises("missing-file", path="x.yaml"):
        load_study("x.yaml", root)
    with raises("unknown-name", expected=[]):
        load_study("mini", root / "nowhere")


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "just text", "3"])
def test_a_file_that_is_not_a_mapping_is_refused(root: Path, text: str) -> None:
    for path, load in (
        (root / "studies/mini.yaml", lambda: load_study("mini", root)),
        (root / "datasets/toy.yaml", lambda: load_dataset("toy", root)),
        (root / "sizes.yaml", lambda: load_sizes(root)),
        (root / "encodings.yaml", lambda: load_encodings(root)),
        (root / "recipes.yaml", lambda: load_recipes(root)),
    ):
        good = path.read_text()
        path.write_text(text)
        (problem,) = found(path, load)
        assert problem["code"] == "wrong-type" and "key" not in problem
        path.write_text(good)


PAIR_MISTAKES = [
    (("name: pair", "name: peer"), [{"code": "wrong-name", "line": 1, "key": "name"}]),
    (
        ("valid:\n  - {source: {file: a.en}", "valid:\n  - {source: {file: a.nn}"),
        [{"code": "unknown-name", "line": 12, "key": "valid[0].source.file", "suggestion": "a.no"}],
    ),
    (
        ("  test:\n    - {source: {file: a.en}", "  test:\n    - {source: {file: b}"),
        [{"code": "unknown-name", "line": 15, "key": "tests.test[0].source.file"}],
    ),
    (("tests:\n  test:", "tests:\n  train:"), [{"code": "reserved-name", "line": 14, "key": "tests.train"}]),
    (("tests:\n  test:", "tests:\n  gold.x:"), [{"code": "reserved-name", "line": 14, "key": "tests.gold.x"}]),
    (
        ("tests:\n  test:", "tests:\n  empty: []\n  test:"),
        [{"code": "wrong-length", "line": 14, "key": "tests.empty"}],
    ),
    (("tests:\n  test:", "tests:\n  ../test:"), [{"code": "malformed-text", "line": 14, "key": "tests.../test"}]),
    (("a" * 64, "a" * 63), [{"code": "malformed-text", "line": 7, "key": "downloads.a.en.sha256"}]),
    (
        ("https://example.org/a.en", "example.org/a.en"),
        [{"code": "malformed-text", "line": 7, "key": "downloads.a.en.url"}],
    ),
    (
        ("train:\n", "train: []\nspare:\n"),
        [{"code": "missing-key", "line": 9, "key": "train"}, {"code": "unknown-key", "line": 10, "key": "spare"}],
    ),
    (
        ("train:\n", "generator: {}\ntrain:\n"),
        [
            {"code": "inconsistent-keys", "line": 6, "key": "downloads"},
            {"code": "inconsistent-keys", "line": 10, "key": "train"},
            {"code": "inconsistent-keys", "line": 12, "key": "valid"},
            {"code": "inconsistent-keys", "line": 14, "key": "tests"},
        ],
    ),
    (
        ("language: en", "language: jp"),
        [{"code": "unknown-language", "line": 3, "key": "source_language", "suggestion": "ja"}],
    ),
    (
        ("language: 'no'", "language: zh_TW"),
        [{"code": "unknown-language", "line": 4, "key": "target_language"}],
    ),
    (("language: 'no'", "language: ''"), [{"code": "unknown-language", "line": 4, "key": "target_language"}]),
    (
        ("licence: free", "licence: free\ngenerator: {}\npreprocessing: {remove_overlap: true}"),
        [
            {"code": "inconsistent-keys", "line": 7, "key": "preprocessing.remove_overlap"},
            {"code": "inconsistent-keys", "line": 8, "key": "downloads"},
            {"code": "inconsistent-keys", "line": 11, "key": "train"},
            {"code": "inconsistent-keys", "line": 13, "key": "valid"},
            {"code": "inconsistent-keys", "line": 15, "key": "tests"},
        ],
    ),
    (
        ("licence: free", "licence: free\npreprocessing: {segment: {jp: mecab}}"),
        [{"code": "unknown-name", "line": 6, "key": "preprocessing.segment.jp"}],
    ),
    (
        ("licence: free", "licence: free\npreprocessing: {replace: {nb: {a: b}}}"),
        [{"code": "unknown-name", "line": 6, "key": "preprocessing.replace.nb"}],
    ),
    (
        ("licence: free", "licence: free\npreprocessing: {join: [en, jp]}"),
        [{"code": "unknown-name", "line": 6, "key": "preprocessing.join[1]"}],
    ),
    (
        ("of: 9, keep: [0]}", "of: 9, keep: [0, 2]}"),
        [{"code": "duplicate-entry", "line": 12, "key": "valid[0]"}],
    ),
    (
        ("keep: [1]}", "drop: [0, 2]}"),
        [{"code": "duplicate-entry", "line": 15, "key": "tests.test[0]"}],
    ),
    (
        (", choose: {by: line, of: 9, keep: [0]}", ""),
        [{"code": "duplicate-entry", "line": 12, "key": "valid[0]"}],
    ),
    (
        (
            "{file: a.no}, choose: {by: line, of: 9, drop: [0, 1]}",
            "{file: a.en, unescape: true}, choose: {by: line, of: 9, drop: [0, 1]}",
        ),
        [{"code": "duplicate-entry", "line": 10, "key": "train[0]"}],
    ),
    (
        ("train:\n  - {source: {file: a.en}", "train:\n  - {source: {file: a.en, member: x}"),
        [{"code": "invalid-value", "line": 10, "key": "train[0].source"}],
    ),
    (("title: Pair", "title: 7"), [{"code": "wrong-type", "line": 2, "key": "title"}]),
    (
        ("licence: free", "licence: free\npreprocessing: {cleaning: {max_ration: 2}}"),
        [{"code": "unknown-key", "line": 6, "key": "preprocessing.cleaning.max_ration", "suggestion": "max_ratio"}],
    ),
]


@pytest.mark.parametrize(("change", "problems"), PAIR_MISTAKES)
def test_a_mistake_in_a_dataset(root: Path, change: tuple[str, str], problems: Problems) -> None:
    path = root / "datasets/pair.yaml"
    replace(path, change)
    assert found(path, load_dataset, "pair", root) == problems
    assert found(path, load_study, "mini", root) == problems, "a study that uses the dataset says the same"


@pytest.mark.parametrize(
    "change",
    [
        ("drop: [0, 1]}", "drop: [0, 1, 2]}"),
        ("keep: [1]}", "keep: [0]}"),  # the test set is the validation set
        ("by: line, of: 9, keep: [0]", "by: source, of: 9, keep: [1]"),  # whether they overlap is not known
        ("{file: a.no}, choose: {by: line, of: 9, keep: [1]}", "{file: a.no, format: tsv, column: 2}"),
        ("licence: free", "licence: free\npreprocessing: {remove_overlap: true}"),
    ],
)
def test_splits_that_may_share_a_file(root: Path, change: tuple[str, str]) -> None:
    if "remove_overlap" in change[1]:
        replace(root / "datasets/pair.yaml", (", choose: {by: line, of: 9, drop: [0, 1]}", ""))
    replace(root / "datasets/pair.yaml", change)
    load_dataset("pair", root)


@pytest.mark.parametrize("file", ["a.zip", "a.tar", "a.tgz", "a.tar.gz", "a.tar.bz2"])
def test_of_an_archive_a_member_is_named(root: Path, file: str) -> None:
    path = root / "datasets/pair.yaml"
    path.write_text(
        path.read_text().replace("a.no:", f"{file}:").replace("file: a.no", f"file: {file}, member: x/a.no")
    )
    assert load_dataset("pair", root).train[0].target.member == "x/a.no"
    path.write_text(path.read_text().replace(", member: x/a.no", "", 1))
    with raises("invalid-value", path=path, line=10, key="train[0].target", says="'member'"):
        load_dataset("pair", root)


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
    with raises("reserved-name", line=7, found="valid"):
        load_dataset("toy", root)


def test_a_dataset_needs_parts_or_a_generator(root: Path) -> None:
    replace(root / "datasets/toy.yaml", ("generator:\n  tests: {test: 10, hard: 10}\n", ""))
    problems = found(root / "datasets/toy.yaml", load_dataset, "toy", root)
    assert {(problem["code"], problem["key"]) for problem in problems} == {
        ("missing-key", key) for key in ("train", "valid", "tests")
    }


def test_mistakes_in_sizes(root: Path) -> None:
    path = root / "sizes.yaml"
    path.write_text("odd: {encoder_layers: 2, decoder_layers: 2, dim: 128, ffn_dim: 8, heads: 3, dropout: 0.1}\n")
    with raises("invalid-value", path, 1, "odd", says="dim (128) must be a multiple of heads (3)"):
        load_sizes(root)
    path.write_text("a:\n  encoder_layer: 2\n")
    with raises("unknown-key", path, 2, "a.encoder_layer", "encoder_layers"):
        load_sizes(root)
    path.write_text("a b: {}\n")
    with raises("malformed-text", path, 1, "a b"):
        load_sizes(root)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("a: {k: 8}", [{"code": "missing-key", "line": 1, "key": "a.type"}]),
        (
            "a:\n  type: opr\n  compose: [{type: opr}, {type: none}]",
            [{"code": "unknown-key", "line": 3, "key": "a.compose"}],
        ),
        ("a: {compose: [{type: opr}]}", [{"code": "wrong-length", "line": 1, "key": "a.compose"}]),
        ("a: {compose: [{type: opr}, {k: 1}]}", [{"code": "missing-key", "line": 1, "key": "a.compose[1].type"}]),
        ("a: opr", [{"code": "wrong-type", "line": 1, "key": "a"}]),
        ("a: {type: opr}\na: {type: opr}", [{"code": "duplicate-key", "line": 2, "key": "a"}]),
        ("a: {type: oprs}", [{"code": "unknown-name", "line": 1, "key": "a.type", "suggestion": "opr"}]),
        (
            "a: {type: opr, k: '8'}\nb:\n  type: relative\n  clips: 4\n  keys: 1",
            [
                {"code": "wrong-type", "line": 1, "key": "a.k"},
                {"code": "unknown-key", "line": 4, "key": "b.clips", "suggestion": "clip"},
                {"code": "wrong-type", "line": 5, "key": "b.keys"},
            ],
        ),
        (
            "a:\n  compose:\n    - type: opr\n    - type: alibi\n      slope: 1",
            [{"code": "unknown-key", "line": 5, "key": "a.compose[1].slope"}],
        ),
        (
            "a: {compose: [{type: opr}, {type: alibi}], placement: encoder}",
            [{"code": "unknown-choice", "line": 1, "key": "a.placement"}],
        ),
    ],
)
def test_mistakes_in_encodings(root: Path, text: str, problems: Problems) -> None:
    path = root / "encodings.yaml"
    path.write_text(text)
    assert found(path, load_encodings, root) == problems


def test_a_parameter_of_another_encoding_is_said_to_be_one(root: Path) -> None:
    (root / "encodings.yaml").write_text("a: {type: opr, clip: 4}\n")
    with raises("unknown-key", line=1, key="a.clip", says="'relative'"):
        load_encodings(root)


def test_encodings_are_typed(root: Path) -> None:
    entries = load_encodings(root)
    assert type(entries["opr"]).__name__ == "OPRConfig" and entries["opr"].needs_reordered is False
    assert [part.type for part in entries["opr_rpr"].compose] == ["opr", "relative"]
    assert list(entries) == encoding_names(root)


def test_other_entries_of_encodings_are_not_looked_at(root: Path) -> None:
    (root / "encodings.yaml").write_text("a: {type: opr}\nb: {type: nothing}\n")
    assert encoding_names(root) == ["a", "b"]
    assert list(load_encodings(root, ["a"])) == ["a"]
    with raises("unknown-name", line=2, key="b.type"):
        load_encodings(root, ["b"])


def test_names_of_encodings_need_no_pytorch(root: Path) -> None:
    code = f"import sys; from wordorder.config.load import load_study; load_study('mini', {str(root)!r})"
    done = subprocess.run([sys.executable, "-c", f"{code}; print(*sys.modules)"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "wordorder.config.encodings" in done.stdout and "torch" not in done.stdout.split()


def test_slice_argument(tmp_path: Path) -> None:
    assert slice_argument('{"beam":4,"alpha":1}', Decoding) == Decoding(beam=4, alpha=1.0)
    (tmp_path / "d.yaml").write_text("beam: 4  # as in the paper\nalpha: 6e-1\n")
    assert slice_argument(f"@{tmp_path}/d.yaml", Decoding) == Decoding(beam=4, alpha=0.6)
    (tmp_path / "d.json").write_text('{"beam": 4}')
    assert slice_argument(f"@{tmp_path}/d.json", Decoding).beam == 4


@pytest.mark.parametrize("entry", [{"type": "opr", "k": 8.0}, {"compose": [{"type": "opr"}, {"type": "relative"}]}])
def test_a_dumped_slice_is_read_back(entry: Any) -> None:
    size = load_sizes(SHIPPED)["micro"]
    cell = Cell(encoding=entry, size=size, recipe=Recipe(max_epochs=1), seed=3)
    assert slice_argument(cell.model_dump_json(), Cell) == cell
    assert Cell.model_validate_json(cell.model_dump_json(exclude_defaults=True)) == cell


def test_mistakes_in_the_encoding_of_a_slice() -> None:
    size = load_sizes(SHIPPED)["micro"]
    cell = Cell(encoding={"type": "opr"}, size=size, recipe=Recipe(max_epochs=1), seed=3)
    with raises("out-of-range", key="encoding.k"):
        slice_argument(cell.model_dump_json().replace('"k":8.0', '"k":0'), Cell)


def test_mistakes_in_a_slice(tmp_path: Path) -> None:
    for text, problem in (
        ('{"beam":4,"nbest":5}', {"code": "invalid-value", "says": "nbest (5) cannot exceed beam (4)"}),
        ("beam=4", {"code": "invalid-json"}),
        ("[]", {"code": "wrong-type"}),
        (f"@{tmp_path}/none.yaml", {"code": "missing-file", "path": tmp_path / "none.yaml"}),
    ):
        with raises(**problem) as caught:
            slice_argument(text, Decoding)
        assert "--config" in str(caught.error) or "path" in problem
    with raises("missing-key", key="target_language"):
        slice_argument('{"metrics":["bleu"]}', Scoring)
    (tmp_path / "d.yaml").write_text("alpha: 1\nbeem: 4\n")
    with raises("unknown-key", path=tmp_path / "d.yaml", line=2, key="beem", suggestion="beam"):
        slice_argument(f"@{tmp_path}/d.yaml", Decoding)


def test_the_keys_of_a_union_are_those_of_the_kind_that_is_meant(root: Path) -> None:
    (root / "aligners.yaml").write_text("a: {aligner: {type: hmm, iteration: 3}}\nb: {aligner: {type: hnm}}\n")
    assert found(root / "aligners.yaml", load_aligners, root) == [
        {"code": "unknown-key", "line": 1, "key": "a.aligner.iteration", "suggestion": "iterations"},
        {"code": "unknown-choice", "line": 2, "key": "b.aligner.type", "suggestion": "hmm"},
    ]


def test_a_single_fold_is_refused(root: Path) -> None:
    path = root / "reorderers.yaml"
    path.write_text("one: {aligner: hmm, folds: 0}\ntwo: {aligner: hmm, folds: 2}\nthree: {aligner: hmm, folds: 1}\n")
    with raises("invalid-value", path, 3, "three.folds", says="write 0 or a number from 2 on"):
        load_reorderers(root)


def test_reorderers_name_aligners(root: Path) -> None:
    assert load_reorderers(root)["btg"].aligner == "hmm"
    path, known = root / "reorderers.yaml", sorted(load_aligners(root))
    path.write_text("one: {aligner: hmm}\ntwo: {aligner: hhm}\n")
    with raises("unknown-name", path, 2, "two.aligner", "hmm", found="hhm", expected=known):
        load_reorderers(root)
    (root / "aligners.yaml").unlink()
    path.unlink()
    assert (load_aligners(root), load_reorderers(root)) == ({}, {})
