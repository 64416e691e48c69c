"""Tests of mistakes in datasets: each has a code, a line and a key."""

from __future__ import annotations

from pathlib import Path

import pytest

from raises import raises
from small_config import Problems, found, replace
from wordorder.config.load import load_dataset, load_study

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
        ("of: 9, keep: [0]}", "of: 6, keep: [3]}"),  # of line 12, for example, whose bucket of 9 is 3
        [{"code": "duplicate-entry", "line": 12, "key": "valid[0]"}],
    ),
    (
        ("of: 9, keep: [0]}", "of: 10, drop: [0]}"),
        [{"code": "duplicate-entry", "line": 12, "key": "valid[0]"}],
    ),
    (
        ("licence: free", "licence: free\npreprocessing: {tokenise: false, segment: {en: jieba}}"),
        [{"code": "inconsistent-keys", "line": 6, "key": "preprocessing.segment"}],
    ),
    (
        ("licence: free", "licence: free\npreprocessing: {tokenise: false, aggressive_dash_splits: true}"),
        [{"code": "inconsistent-keys", "line": 6, "key": "preprocessing.aggressive_dash_splits"}],
    ),
    (
        ("licence: free", 'licence: free\npreprocessing: {replace: {en: {"\\u212b": A}}}'),
        [{"code": "invalid-value", "line": 6, "key": "preprocessing"}],
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
        ("of: 9, keep: [0]}", "of: 18, keep: [9, 10]}"),  # 0 and 1 of 9
        (
            "of: 9, keep: [0]}",
            "of: 27, drop: [2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 17, 20, 21, 22, 23, 24, 25, 26]}",
        ),
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


def test_splits_of_different_lengths_may_share_a_file(root: Path) -> None:
    path = root / "datasets/pair.yaml"
    replace(
        path,
        ("choose: {by: line, of: 9, drop: [0, 1]}", "words: {source: [1, 8]}"),
        ("choose: {by: line, of: 9, keep: [0]}", "words: {source: [9, 12]}"),
        ("choose: {by: line, of: 9, keep: [1]}", "words: {source: [1, 99], target: [9, 12]}"),
    )
    duplicate = {"code": "duplicate-entry", "line": 15, "key": "tests.test[0]"}
    assert found(path, load_dataset, "pair", root) == [duplicate]
    replace(path, ("{source: [1, 8]}", "{source: [1, 8], target: [1, 8]}"))
    load_dataset("pair", root)
    replace(path, ("{source: [9, 12]}", "{source: [8, 12]}"))
    assert found(path, load_dataset, "pair", root) == [{"code": "duplicate-entry", "line": 12, "key": "valid[0]"}]


def test_members_are_the_same_however_they_are_written(root: Path) -> None:
    path = root / "datasets/pair.yaml"
    text = path.read_text().replace("a.no:", "a.zip:").replace("file: a.no", "file: a.zip, member: x")
    text = text.replace(", choose: {by: line, of: 9, keep: [0]}", "", 1)
    for member in ("x", "./x"):
        before, _, after = text.partition("valid:")
        path.write_text(f"{before}valid:{after.replace('member: x', f'member: {member}', 1)}")
        assert found(path, load_dataset, "pair", root) == [{"code": "duplicate-entry", "line": 12, "key": "valid[0]"}]


def test_lines_of_an_archive_are_not_counted(root: Path) -> None:
    path = root / "datasets/pair.yaml"
    text = path.read_text().replace("a.no:", "a.tgz:").replace("file: a.no", "file: a.tgz, member: x")
    path.write_text(text.replace(f"sha256: {'b' * 64}", f"lines: 5, sha256: {'b' * 64}"))
    problem = {"code": "inconsistent-keys", "line": 8, "key": "downloads.a.tgz.lines"}
    assert found(path, load_dataset, "pair", root) == [problem]


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
