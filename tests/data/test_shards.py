"""Test that scatter and gather give the same result for any number of shards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from raises import raises
from wordorder.config import datasets
from wordorder.config.datasets import Preparation
from wordorder.data.binary import gather_corpora
from wordorder.data.clean import clean_files
from wordorder.data.shards import gather_reports, gather_text, scatter
from wordorder.data.subword import binarise, train_subword

PREPARATION = Preparation.model_validate(
    {"preprocessing": {"cleaning": {"ratio_slack": 2}}, "source_language": "en", "target_language": "de"}
)


@pytest.fixture
def raw(tmp_path: Path) -> tuple[Path, Path]:
    """25 pairs with blank lines, separators and byte order marks, the last without a line end."""
    source = [f"\ufeffSentence {n}, isn't it?" if (n + 1) % 6 else "" for n in range(25)]
    target = [f"Satz\u2028{n}, oder?" if n % 7 else "sehr " * 20 for n in range(25)]
    (tmp_path / "raw.source").write_bytes("\n".join(source).encode())
    (tmp_path / "raw.target").write_bytes("\r\n".join(target).encode())
    return tmp_path / "raw.source", tmp_path / "raw.target"


def prepare(raw: tuple[Path, Path], folder: Path, shards: int) -> dict[str, bytes]:
    """Everything that the workflow does with a training text, in ``shards`` pieces."""
    numbers = range(shards)
    blocks = [[folder / f"raw{n}.{side}" for n in numbers] for side in ("source", "target")]
    clean = [[folder / f"clean{n}.{side}" for n in numbers] for side in ("source", "target")]
    reports, corpora = [folder / f"{n}.json" for n in numbers], [folder / f"binary{n}" for n in numbers]
    scatter(*raw, *blocks)
    for n in numbers:
        clean_files(
            PREPARATION,
            blocks[0][n],
            blocks[1][n],
            output_source=clean[0][n],
            output_target=clean[1][n],
            report=reports[n],
        )
    gather_text(clean[0], folder / "source")
    gather_text(clean[1], folder / "target")
    gather_reports(reports, folder / "report.json")
    train_subword(
        [folder / "source", folder / "target"],
        folder / "model",
        config=datasets.Subword(vocabulary=60, subword_sentences=1000),
    )
    for n in numbers:
        binarise(folder / "model", clean[0][n], clean[1][n], corpora[n])
    gather_corpora(folder / "binary", corpora)
    outputs = [folder / "source", folder / "target", folder / "report.json", folder / "model"]
    return {path.name: path.read_bytes() for path in [*outputs, *sorted((folder / "binary").iterdir())]}


def test_any_number_of_shards_gives_the_same_bytes(raw: tuple[Path, Path], tmp_path: Path) -> None:
    whole = prepare(raw, tmp_path / "1", 1)
    report = json.loads(whole["report.json"])
    assert (report["read"], report["kept"]) == (25, 17), "the test data must lose pairs"
    assert report["removed"]["blank_source"] == 4 and report["removed"]["ratio"] == 4
    for shards in (2, 7, 40):
        assert prepare(raw, tmp_path / str(shards), shards) == whole


def test_blocks_are_contiguous_and_even(raw: tuple[Path, Path], tmp_path: Path) -> None:
    names = [[tmp_path / f"{side}{n}" for n in range(4)] for side in "st"]
    scatter(*raw, *names)
    sizes = [path.read_bytes().count(b"\n") for path in names[0]]
    assert sorted(sizes) == [6, 6, 6, 7]
    assert b"Sentence 1," in names[0][0].read_bytes()
    assert b"Sentence 24," in names[0][3].read_bytes()


def test_outputs_must_come_in_pairs(raw: tuple[Path, Path], tmp_path: Path) -> None:
    with raises("wrong-count"):
        scatter(*raw, [tmp_path / "a"], [tmp_path / "b", tmp_path / "c"])


def test_sides_of_different_length_are_not_scattered(raw: tuple[Path, Path], tmp_path: Path) -> None:
    raw[0].write_bytes(raw[0].read_bytes() + b"\none more")
    with raises("unequal-lines"):
        scatter(*raw, [tmp_path / "a"], [tmp_path / "b"])
    assert not (tmp_path / "a").exists() and not (tmp_path / "b").exists()


def test_texts_without_a_last_line_end_do_not_run_together(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    (tmp_path / "b").write_bytes(b"two\n")
    gather_text([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"one\ntwo\n"


@pytest.mark.parametrize("content", ["[]", '{"read": "many"}', '{"removed": 1}', '{"read": {"x": 1}}'])
def test_what_is_no_report_is_said(tmp_path: Path, content: str) -> None:
    (tmp_path / "good.json").write_text('{"read": 1, "removed": {"ratio": 1}}')
    (tmp_path / "bad.json").write_text(content)
    with raises("damaged-file"):
        gather_reports([tmp_path / "good.json", tmp_path / "bad.json"], tmp_path / "out.json")
    assert not (tmp_path / "out.json").exists()
