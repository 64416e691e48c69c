"""wordorder.config.document: safe YAML and JSON with line numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from wordorder.config.document import parse_json, parse_yaml, read_yaml
from wordorder.errors import WordorderError

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
    ("text", "sentence"),
    [
        ("a: 1\nb:\n  c: 1\n  c: 2\n", "x.yaml, line 4: 'b.c' was already given on line 3; keep one of them."),
        ("a: {b: 1, b: 1}", "x.yaml, line 1: 'a.b' was already given on line 1; keep one of them."),
        ("a: &x [1]\nb: *x\n", "x.yaml, line 2: 'b' is an alias (*), which is not read; write it out."),
        ("a: &x\n  - *x\n", "x.yaml, line 1: 'a[0]' is an alias (*), which is not read; write it out."),
        ("a: 1\n2: 3", "x.yaml, line 2: the key '2' in the top level is not text; put it in quotes."),
        ("a:\n  [1, 2]: 3", "x.yaml, line 2: the key of several parts in 'a' is not text; put it in quotes."),
        (
            "a: !!python/object/apply:os.system [ls]",
            "x.yaml, line 1: 'a' has the type tag:yaml.org,2002:python/object/apply:os.system, which is not read; "
            "remove it.",
        ),
        ("a: !!int x", "x.yaml, line 1: 'a' has the type tag:yaml.org,2002:int, which is not read; remove it."),
        ("a: 1\nb: [1, 2\n", "x.yaml, line 3: this is not valid YAML: "),
        ("a: 1\n---\nb: 2\n", "x.yaml, line 2: this is not valid YAML: "),
        ("a: \x01", "x.yaml: this is not valid YAML: "),
    ],
)
def test_bad_yaml(text: str, sentence: str) -> None:
    with pytest.raises(WordorderError) as caught:
        parse_yaml(text, "x.yaml")
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_several_problems_come_in_the_order_of_the_lines() -> None:
    with pytest.raises(WordorderError) as caught:
        parse_yaml("a: 1\na: 2\nb: !x 1\n", "x.yaml")
    assert str(caught.value).splitlines() == [
        "x.yaml has 2 problems:",
        "  line 2: 'a' was already given on line 1; keep one of them.",
        "  line 3: 'b' has the type !x, which is not read; remove it.",
    ]


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(WordorderError, match=r"none\.yaml does not exist\."):
        read_yaml(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9")
    with pytest.raises(WordorderError, match=r"latin\.yaml is not UTF-8: byte 3 is invalid\."):
        read_yaml(tmp_path / "latin.yaml")
    with pytest.raises(WordorderError, match="cannot be read: Is a directory"):
        read_yaml(tmp_path)


def test_bad_json() -> None:
    with pytest.raises(WordorderError, match=r"^here: the key 'b' is given more than once; keep one of them\.$"):
        parse_json('{"a": {"b": 1, "c": 2, "b": 1}}', "here")
    with pytest.raises(WordorderError, match=r"^here: this is not valid JSON: .*line 1 column 2"):
        parse_json("{", "here")
    with pytest.raises(WordorderError, match=r"^here: this is not valid JSON: "):
        parse_json("[" * 100_000, "here")
