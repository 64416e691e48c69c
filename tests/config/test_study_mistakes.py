"""Tests of mistakes in studies: each has a code, a line and a key."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from pydantic import TypeAdapter

from raises import raises
from small_config import STUDY, Problems, found, replace
from wordorder.config.load import load_study, load_with_companions, study_names
from wordorder.config.models import Study
from wordorder.config.seeds import Looks

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
    (
        ("metrics:", "analyses: {position: {ngrams: [1, 2, 1]}}\nmetrics:"),
        [{"code": "duplicate-entry", "line": 10, "key": "analyses.position.ngrams[2]"}],
    ),
    (
        ("metrics:", "analyses:\n  probes: {swaps: [2, 2]}\n  fewer_seeds: {counts: [1, 1]}\nmetrics:"),
        [
            {"code": "duplicate-entry", "line": 11, "key": "analyses.probes.swaps[1]"},
            {"code": "duplicate-entry", "line": 12, "key": "analyses.fewer_seeds.counts[1]"},
        ],
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


@pytest.mark.parametrize(
    ("key", "wrong", "example"),
    [
        ("seeds", 3, "seeds: [1, 2, 3]"),
        ("comparisons", [["opr", "sinusoidal"]], "comparisons: [{system: one, baseline: other}]"),
        ("margin", 0.5, "margin: {bleu: 0.5}"),
    ],
)
def test_a_wrong_type_is_shown_an_example(root: Path, key: str, wrong: object, example: str) -> None:
    (root / "studies/mini.yaml").write_text(yaml.safe_dump(yaml.safe_load(STUDY) | {key: wrong}))
    with raises("wrong-type", says=example):
        load_study("mini", root)


def test_examples_are_right() -> None:
    examples = {name: field.examples for name, field in Study.model_fields.items() if field.examples}
    assert {"seeds", "comparisons", "margin"} <= set(examples)
    for name, (example,) in examples.items():
        TypeAdapter(Study.model_fields[name].annotation).validate_python(example)


def test_a_bundle_is_no_study(root: Path, tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle/study.json").write_text("{}")
    with raises("not-a-study", tmp_path / "bundle"):
        load_study(tmp_path / "bundle", root)


def test_a_bundle_in_the_working_directory_does_not_hide_the_study_of_its_name(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = study_names(root)[0]
    Path(name).mkdir()
    Path(name, "study.json").write_text("{}")
    assert load_study(name, root).name == name


def test_companions_of_companions_are_not_followed(root: Path) -> None:
    for name, companion in (("mini", "maxi"), ("maxi", "midi"), ("midi", "mini")):
        text = STUDY.replace("mini", name)
        (root / f"studies/{name}.yaml").write_text(f"{text}companions: [{companion}]\n")
    assert [study.name for study in load_with_companions("mini", root)] == ["mini", "maxi"]
