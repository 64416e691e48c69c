"""wordorder.config.document: safe YAML and JSON with line numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from raises import raises
from wordorder.config.document import parse_json, parse_yaml, read_yaml
from wordorder.errors import WordorderError, as_json

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda values: st.lists(values) | st.dictionaries(st.text(), values),
    max_leaves=12,
)


@settings(max_examples=50, deadline=None)
@given(PLAIN)
def test_reads_what_a_yaml_library_writes(value: object) -> None:
    text = yaml.safe_dump(value, default_style='"')  # it writes 1E5, a number of YAML 1.2, as unquoted text otherwise
    if "&id" not in text:
        assert parse_yaml(text, "x.yaml").data == value


@settings(max_examples=50, deadline=None)
@given(PLAIN)
def test_reads_what_a_json_library_writes(value: object) -> None:
    text = json.dumps(value)
    assert parse_json(text, "x").data == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("2E5", 200000.0),
        ("-.5", -0.5),
        ("7", 7),
        ("0" * 64, "0" * 64),
        ("9" * 5000, "9" * 5000),
        ("-1.5e+3", -1500.0),
        ("5.", 5.0),
        ("010", 10),  # YAML 1.1 reads 8
        ("no", "no"),  # the language code; YAML 1.1 reads false
        ("on", "on"),
        ("2024-01-01", "2024-01-01"),
        ("1:30", "1:30"),  # YAML 1.1 reads 90
        ("1_000", "1_000"),
        ("true", True),
        ("~", None),
        ("", None),
        ("'7'", "7"),
    ],
)
def test_scalars(text: str, value: object) -> None:
    read = parse_yaml(f"a: {text}", "x.yaml").data["a"]
    assert read == value and type(read) is type(value)


def test_infinity_is_text_and_huge_numbers_are_infinite() -> None:
    data = parse_yaml("a: .inf\nb: 1e999", "x.yaml").data
    assert data == {"a": ".inf", "b": math.inf}  # both are refused by the models


def test_lines_of_nested_keys() -> None:
    document = parse_yaml("a:\n  b: 1\n  c:\n    - x\n    - y: 2\n", "x.yaml")
    assert [document.line(place) for place in [("a",), ("a", "b"), ("a", "c", 1, "y")]] == [1, 2, 5]
    assert document.line(("a", "c", 1, "missing", "deeper")) == 5


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\nb:\n  c: 1\n  c: 2\n", {"code": "duplicate-key", "line": 4, "key": "b.c"}),
        ("a: {b: 1, b: 1}", {"code": "duplicate-key", "line": 1, "key": "a.b"}),
        ("a: &x [1]\nb: *x\n", {"code": "yaml-alias", "line": 2, "key": "b"}),
        ("a: &x\n  - *x\n", {"code": "yaml-alias", "line": 1, "key": "a[0]"}),
        ("a: 1\n2: 3", {"code": "key-not-text", "line": 2}),
        ("a:\n  [1, 2]: 3", {"code": "key-not-text", "line": 2, "key": "a"}),
        ("a: !!python/object/apply:os.system [ls]", {"code": "yaml-tag", "line": 1, "key": "a"}),
        ("a: !!int x", {"code": "yaml-tag", "line": 1, "key": "a"}),
        ("a: 1\nb: [1, 2\n", {"code": "invalid-yaml", "line": 3}),
        ("a: 1\n---\nb: 2\n", {"code": "invalid-yaml", "line": 2}),
        ("a:\n\t- b\n", {"code": "invalid-yaml", "line": 2, "says": "spaces instead of tabs"}),
        ("a: \x01", {"code": "invalid-yaml"}),
        ("a: " + "[" * 5000 + "]" * 5000, {"code": "invalid-yaml", "says": "nested too deeply"}),
    ],
)
def test_bad_yaml(text: str, problem: dict[str, Any]) -> None:
    with raises(path="x.yaml", **problem) as caught:
        parse_yaml(text, Path("x.yaml"))
    assert "\n" not in str(caught.error)
    assert str(caught.error).startswith(f"x.yaml, line {problem['line']}: " if "line" in problem else "x.yaml: ")


def test_several_problems_come_in_the_order_of_the_lines() -> None:
    with raises("duplicate-key", line=2, key="a") as caught:
        parse_yaml("a: 1\na: 2\nb: !x 1\n", "x.yaml")
    assert [(part.code, part.line, part.key) for part in caught.error.parts] == [
        ("duplicate-key", 2, "a"),
        ("yaml-tag", 3, "b"),
    ]
    first, *others = str(caught.error).splitlines()
    assert first == "x.yaml has 2 problems:"
    assert [line.split(":")[0] for line in others] == ["  line 2", "  line 3"]


def test_errors_are_written_for_programs() -> None:
    with raises("invalid-configuration") as caught:
        parse_yaml("a: 1\na: 2\nb: !x é\n", Path("folder/x.yaml"))
    first, second = map(json.loads, as_json(caught.error).splitlines())
    assert first.pop("message")
    assert first == {
        "code": "duplicate-key",
        "path": "folder/x.yaml",
        "line": 2,
        "key": "a",
        "found": None,
        "expected": None,
        "suggestion": None,
    }
    assert (second["code"], second["line"]) == ("yaml-tag", 3) and "!x" in second["message"]
    assert json.loads(as_json(WordorderError("No.", code="no"))) == {
        "code": "no",
        "path": None,
        "line": None,
        "key": None,
        "found": None,
        "expected": None,
        "suggestion": None,
        "message": "No.",
    }


def test_bad_files(tmp_path: Path) -> None:
    with raises("missing-file"):
        read_yaml(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9")
    with raises("not-utf-8"):
        read_yaml(tmp_path / "latin.yaml")
    with raises("unreadable-file"):
        read_yaml(tmp_path)


def test_bad_json() -> None:
    with raises("duplicate-key", key="b"):
        parse_json('{"a": {"b": 1, "c": 2, "b": 1}}', "here")
    with raises("invalid-json"):
        parse_json("{", "here")
    with raises("invalid-json"):
        parse_json("[" * 100_000, "here")
