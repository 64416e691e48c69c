from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

from raises import raises
from tiny_models import CONFIG
from wordorder.cli.main import main
from wordorder.config.load import load_encodings, load_published, load_sizes
from wordorder.config.published import PublishedTable
from wordorder.encodings.registry import parse
from wordorder.model.counts import Compared, compare_published


def test_params_of_the_published_base_model(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (config / "encodings.yaml").write_text(
        "none: {type: none}\nlearned: {type: learned}\nrelative: {type: relative, clip: 15, share_heads: false}\n"
    )
    assert main(["params", "--size", "base", "--vocabulary", "37000", "--root", str(config)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[0][:3] == ["encoding", "total", "encoding"]
    assert rows[1:] == [["none", "63.08", "0.00"], ["learned", "64.13", "1.05"], ["relative", "63.37", "0.29"]]


def test_an_encoding_that_does_not_fit_the_size_has_no_count(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["params", "--size", "tiny_lstm", "--vocabulary", "1000", "--root", str(config)]) == 0
    rows = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()}
    assert rows["none"] == rows["sinusoidal"]
    assert len(rows["none"]) == 2
    assert rows["relative"][:5] == ["-", "-", "The", "encoding", "'relative'"]
    assert set(rows) == {"encoding", *load_encodings(config)}


@pytest.mark.parametrize(
    ("options", "code", "key"),
    [
        ("--size bass --vocabulary 100", "unknown-size", "--size"),
        ("--size base --vocabulary 4", "invalid-value", "--vocabulary"),
        ("--size base", "missing-option", "--size"),
        ("--vocabulary 100", "missing-option", "--size"),
        ("", "missing-option", "--size"),
        ("--published --size base", "conflicting-options", "--published"),
    ],
)
def test_mistakes(
    config: Path,
    options: str,
    code: str,
    key: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WORDORDER_ERRORS", "json")
    assert main(["params", *options.split(), "--root", str(config)]) == 1
    error = json.loads(capsys.readouterr().err)
    assert (error["code"], error["key"]) == (code, key)


def test_a_missing_extension_is_named_with_its_entry(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORDORDER_ERRORS", "json")
    (config / "encodings.yaml").write_text("none: {type: none}\n")
    with (config / "sizes.yaml").open("a") as sizes:
        sizes.write("mine: {architecture: lost}\n")
    command = ["params", "--vocabulary", "100", "--root", str(config), "--size"]
    assert main([*command, "tiny"]) == 0, "another size"
    assert main([*command, "mine"]) == 1
    error = json.loads(capsys.readouterr().err)
    assert (error["code"], error["key"], error["found"]) == ("unknown-name", "mine.architecture", "lost")
    (config / "encodings.yaml").write_text("own: {type: lost}\n")
    assert main([*command, "tiny"]) == 1
    error = json.loads(capsys.readouterr().err)
    assert (error["code"], error["key"], error["found"]) == ("unknown-name", "own.type", "lost")


# -------------------------------------------------------------------------------------------- published counts


@pytest.fixture(scope="module")
def compared() -> dict[tuple[str, str, str], Compared]:
    found = compare_published(load_published(CONFIG), load_encodings(CONFIG), load_sizes(CONFIG))
    return {(own.table.paper, own.table.table, own.row.row): own for own in found}


def test_the_posnet_paper_s_column_is_met_to_the_last_digit(compared: dict[tuple[str, str, str], Compared]) -> None:
    column = {
        "w/o PE": "63.08",
        "SAPE": "63.08",
        "LAPE": "64.13",
        "RPE": "63.37",
        "Adaptive-T5": "63.08",
        "PosNet-Attn": "64.11",
        "PosNet-Embed": "66.49",
    }
    own = {row: each for (paper, _, row), each in compared.items() if paper.startswith("PosNet")}
    assert {row: str(each.ours) for row, each in own.items()} == column
    assert {row: each.row.printed for row, each in own.items()} == column
    assert all(each.met and each.row.size == "base" for each in own.values())
    assert {each.table.vocabulary for each in own.values()} == {37_000}
    assert {each.table.tie_embeddings for each in own.values()} == {"all"}


def test_the_cross_lingual_paper_s_counts(compared: dict[tuple[str, str, str], Compared]) -> None:
    """What is printed, what ours have (counted by hand), and whether that is the same."""
    expected = {
        ("Table 1", "Transformer BIG"): ("282.55", 176_361_472 + 3 * 34_568 * 1024, True),
        ("Table 1", "+ Relative PE"): ("+0.06", 6 * 41 * 64 * 2, False),
        ("Table 1", "+ DiSAN"): ("+0.04", 0, False),
        ("Table 1", "+ InXL PE"): ("+0.01", 2 * 1024 * 1024, False),
        ("Table 1", "+ HeadXL PE"): ("+0.00", 0, True),
        ("Table 1", "+ Combination"): ("+0.01", 2 * 1024 * 1024, False),
        ("Table 4", "LSTM (6 layers)"): ("178.90", 178_896_896, True),
        ("Table 4", "BIG-noEnc-noPos"): ("171.58", 100_782_080 + 2 * 34_568 * 1024, True),
        ("Table 4", "+ Absolute PE"): ("+0.00", 0, True),
        ("Table 4", "+ Relative PE"): ("+0.01", 41 * 64 * 2, True),
        ("Table 4", "+ InXL PE"): ("+0.01", 2 * 1024 * 1024, False),
    }
    own = {key[1:]: each for key, each in compared.items() if key[0].startswith("Cross-lingual")}
    assert {key: (each.row.printed, each.count, each.met) for key, each in own.items()} == expected


def test_one_vocabulary_explains_both_tables_of_the_cross_lingual_paper() -> None:
    """282.55 M with three matrices, 171.58 M with two and no encoder: no other number of rows makes both, but one."""
    layer_norm, attention, feed_forward = 2 * 1024, 4 * (1024 * 1024 + 1024), 2 * 1024 * 4096 + 4096 + 1024
    encoder = 6 * (attention + feed_forward + 2 * layer_norm)
    decoder = 6 * (2 * attention + feed_forward + 3 * layer_norm)

    def makes(rows: int) -> tuple[str, str]:
        first = encoder + decoder + 2 * layer_norm + 3 * rows * 1024
        second = decoder + layer_norm + 2 * rows * 1024
        return f"{first / 1e6:.2f}", f"{second / 1e6:.2f}"

    assert [rows for rows in range(30_000, 40_000) if makes(rows) == ("282.55", "171.58")] == [34_567, 34_568]


def test_opr_has_no_parameters(compared: dict[tuple[str, str, str], Compared]) -> None:
    own = [each for key, each in compared.items() if key[0].startswith("OPR")]
    assert {(each.row.encoding, each.row.printed, each.count) for each in own} == {
        ("opr", "none", 0),
        ("sinusoidal", "none", 0),
    }
    assert all(each.met for each in own)


def test_every_miss_has_its_reason(compared: dict[tuple[str, str, str], Compared]) -> None:
    assert all(each.met or each.row.note for each in compared.values())


def table(*rows: dict[str, str]) -> PublishedTable:
    return PublishedTable.model_validate(
        {"paper": "A", "table": "1", "vocabulary": 100, "tie_embeddings": "all", "norm": "post", "rows": rows}
    )


BASE = {"row": "base", "encoding": "none", "size": "micro"}


@pytest.mark.parametrize(
    ("count", "printed", "ours", "met"),
    [
        (1_234_567, "1.23", "1.23", True),
        (1_235_000, "1.24", "1.24", True),  # rounded up, as people do
        (1_234_999, "1.24", "1.23", False),
        (1_234_567, "1.2346", "1.2346", True),
        (1_200_000, "1.20", "1.20", True),
        (1_204_999, "1.2", "1.2", True),
        (4_999, "+0.00", "0.00", True),
        (5_000, "+0.00", "0.01", False),
        (-5_001, "+0.00", "-0.01", False),
        (0, "none", "0.000000", True),
        (1, "none", "0.000001", False),
    ],
)
def test_a_count_is_met_to_the_printed_digit(count: int, printed: str, ours: str, met: bool) -> None:
    row = {**BASE, "row": "own", "printed": printed} | ({"base": "base"} if printed[0] == "+" else {})
    own = table({**BASE, "printed": "1.0"}, row)
    compared = Compared(own, own.find("own"), count)
    assert compared.ours == Decimal(ours)
    assert str(compared.ours).replace("0E-6", "0.000000") == ours
    assert compared.met is met


def test_an_increment_is_counted_from_its_base() -> None:
    tables = [
        table(
            {**BASE, "printed": "1.0"},
            {"row": "more", "encoding": "learned", "size": "micro", "printed": "+0.01", "base": "base"},
            {"row": "none", "encoding": "learned", "size": "micro", "printed": "none"},
        )
    ]
    encodings = {"none": parse({"type": "none"}), "learned": parse({"type": "learned", "table": 40})}
    base, more, none = compare_published(tables, encodings, load_sizes(CONFIG))
    assert (more.count, none.count) == (2 * 40 * 128, 2 * 40 * 128)
    assert base.count > 100_000
    assert (more.met, none.met) == (True, False)


@pytest.mark.parametrize(
    ("edit", "expected", "named"),
    [
        ((", base: Transformer BIG}", "}"), {"code": "invalid-value", "key": "[1].rows[4]"}, ["'base'", "'printed'"]),
        (("LAPE,", "SAPE,"), {"code": "invalid-value", "key": "[0]"}, ["'SAPE'"]),
        (
            ("base: BIG-noEnc-noPos}", "base: BIG}"),
            {"code": "invalid-value", "key": "[2]"},
            ["'BIG'", "'+ Absolute PE'"],
        ),
        (('"63.08"}', "63.08}"), {"key": "[0].rows[0].printed", "found": 63.08}, ["quotes"]),
        (('"63.08"}', '"63"}'), {"code": "malformed-text", "key": "[0].rows[0].printed", "found": "63"}, []),
        (("encoding: learned", "encoding: learnt"), {"suggestion": "learned", "found": "learnt"}, ["encodings.yaml"]),
        (
            ("size: lstm_opennmt", "size: lstm_opennnt"),
            {"suggestion": "lstm_opennmt", "found": "lstm_opennnt"},
            ["sizes.yaml"],
        ),
    ],
)
def test_mistakes_in_published_counts(
    config: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    edit: tuple[str, str],
    expected: dict[str, object],
    named: list[str],
) -> None:
    path = config / "published/parameters.yaml"
    assert edit[0] in path.read_text()
    path.write_text(path.read_text().replace(*edit, 1))
    monkeypatch.setenv("WORDORDER_ERRORS", "json")
    assert main(["params", "--published", "--root", str(config)]) == 1
    error = json.loads(capsys.readouterr().err)
    assert {key: error[key] for key in expected} == expected
    assert all(name in error["message"] for name in named)


def test_the_printed_comparison(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (config / "published/parameters.yaml").write_text(
        """
- paper: A paper
  table: Table 7
  vocabulary: 37000
  tie_embeddings: all
  norm: post
  rows:
    - {row: none, encoding: none, size: base, printed: "63.08", note: Explained.}
    - {row: + LAPE, encoding: learned, size: base, printed: "+1.06", base: none}
    - {row: none at all, encoding: learned, size: base, printed: none}
"""
    )
    assert main(["params", "--published", "--root", str(config)]) == 0
    lines = [re.split(r"  +", line.strip()) for line in capsys.readouterr().out.splitlines() if line]
    assert lines == [
        ["A paper, Table 7: vocabulary 37,000, tied embeddings: all, post-norm"],
        ["row", "encoding", "size", "parameters", "ours", "printed", "difference"],
        ["none", "none", "base", "63,082,496", "63.08", "63.08", "+0.00", "ok"],
        ["Explained."],
        ["+ LAPE", "learned", "base", "1,048,576", "+1.05", "+1.06", "-0.01", "miss"],
        ["none at all", "learned", "base", "1,048,576", "1.048576", "none", "+1.048576", "miss"],
        ["1 of 3 printed counts are met to the last digit (all in millions)."],
    ]


def test_a_row_of_an_unknown_entry_is_told() -> None:
    with raises("unknown-name", found="none"):
        list(compare_published([table({**BASE, "printed": "1.0"})], {}, load_sizes(CONFIG)))
