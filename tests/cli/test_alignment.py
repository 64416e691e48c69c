"""Tests of ``wordorder stage train-aligner``, ``align``, and the manual commands from links to permutations."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from wordorder.alignment.error_rate import error_rate
from wordorder.alignment.links import read_gold, read_links
from wordorder.cli.main import main
from wordorder.config.datasets import Generator
from wordorder.data.generate import write_split
from wordorder.data.text import read_lines
from wordorder.data.trees import parse_tree, tree_order
from wordorder.reordering.orders import read_orders
from wordorder.reordering.parser import Parser

HMM = '{"type":"hmm","ibm1_iterations":3,"iterations":3}'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated pair, 'train' and 'test', and an aligner trained on 'train'."""
    folder = tmp_path_factory.mktemp("pair")
    for split in ("train", "test"):
        names = ("source", "target", "alignments", "trees")
        generator = Generator(seed=3, train=1200, tests={"test": 80})
        write_split(generator, split=split, **{name: folder / f"{split}.{name}" for name in names})
    assert run(folder, f"train-aligner --config {HMM} --source train.source --target train.target --model model") == 0
    return folder


def run(folder: Path, line: str) -> int:
    """A command line in which names of files are those in ``folder``."""
    words = [
        word if word.startswith(("-", "{")) or "/" in word or word.isdigit() else f"{folder}/{word}"
        for word in line.split()
    ]
    return main(["stage", words[0].removeprefix(f"{folder}/"), *words[1:]])


def align(folder: Path, split: str, output: str, *options: str) -> None:
    line = f"align --config {{}} --model model --source {split}.source --target {split}.target --output {output}"
    assert run(folder, " ".join([line, *options])) == 0


def test_a_trained_aligner_links_text_that_it_has_not_seen(folder: Path) -> None:
    align(folder, "test", "test.links")
    found = error_rate(read_links(folder / "test.links"), read_gold(folder / "test.alignments"))
    assert found.precision > 0.85 and found.recall > 0.7


def test_shards_make_the_whole(folder: Path) -> None:
    align(folder, "test", "whole")
    for shard in ("1/3", "2/3", "3/3"):
        align(folder, "test", f"part{shard[0]}", "--shard", shard, "--threads", "2")
    parts = [(folder / f"part{number}").read_text() for number in (1, 2, 3)]
    assert "".join(parts) == (folder / "whole").read_text()


@pytest.mark.slow
def test_from_links_to_orders(folder: Path) -> None:
    """The parser learns from links and predicts what the gold trees say, far better than the source's own order."""
    align(folder, "train", "train.links")
    assert run(folder, "train-classes --classes 20 --source train.source --output classes") == 0
    train = "train-parser --source train.source --links train.links --classes classes --record record --state state"
    assert run(folder, f'{train} --config {{"iterations":5,"classes":20}} --model parser') == 0
    assert run(folder, "reorder --model parser --source test.source --output orders --trees trees") == 0
    record = json.loads((folder / "record").read_text())
    assert record["sentences"] == 1200 and record["learned_from"] > 1000
    orders = list(read_orders(folder / "orders"))
    assert orders == [tree_order(parse_tree(line)) for line in read_lines(folder / "trees")]
    assert run(folder, "score-orders --orders orders --links test.alignments --output scores") == 0
    scores = json.loads((folder / "scores").read_text())
    assert scores["sentences"] == 80
    assert scores["predicted"]["tau"] > 0.9 > 0.75 > scores["identity"]["tau"]

    # Without the second half of the sentences, it is a parser of the first half.
    assert run(folder, f'{train} --config {{"iterations":1,"classes":20}} --model half --without 2/2') == 0
    assert json.loads((folder / "record").read_text())["sentences"] == 600
    # At most so many sentences are those of a smaller text.
    for side in ("source", "links"):
        lines = (folder / f"train.{side}").read_text().splitlines()[:600]
        (folder / f"fewer.{side}").write_text("".join(f"{line}\n" for line in lines[5::6]))
    assert (
        run(folder, f'{train} --config {{"iterations":1,"classes":20,"sentences":100}} --model few --without 2/2') == 0
    )
    fewer = train.replace("train.source", "fewer.source").replace("train.links", "fewer.links")
    assert run(folder, f'{fewer} --config {{"iterations":1,"classes":20}} --model same') == 0
    assert Parser.load(folder / "few").weights.tobytes() == Parser.load(folder / "same").weights.tobytes()


def test_the_aligner_can_learn_from_fewer_pairs(folder: Path) -> None:
    for side in ("source", "target"):
        lines = (folder / f"train.{side}").read_text().splitlines()
        (folder / f"third.{side}").write_text("".join(f"{line}\n" for line in lines[2::3]))
    sizes = '"ibm1_iterations":1,"iterations":1'
    assert (
        run(
            folder,
            f'train-aligner --config {{{sizes},"sentences":400}} --source train.source'
            " --target train.target --model capped",
        )
        == 0
    )
    assert (
        run(folder, f"train-aligner --config {{{sizes}}} --source third.source --target third.target --model third")
        == 0
    )
    capped, third = (np.load(folder / name) for name in ("capped", "third"))
    assert capped.files == third.files and all(np.array_equal(capped[name], third[name]) for name in capped.files)


def test_the_oracle_finds_the_gold_trees(folder: Path) -> None:
    line = 'find-oracle --config {"nulls":"right"} --source test.source --links test.alignments'
    assert run(folder, f"{line} --output oracle --trees oracle.trees --record oracle.json") == 0
    gold = [tree_order(parse_tree(line)) for line in read_lines(folder / "test.trees")]
    assert list(read_orders(folder / "oracle")) == gold
    record = json.loads((folder / "oracle.json").read_text())
    assert record["sentences"] == 80 and record["not_btg"] == 0


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("align --config {} --source test.source --target test.target --output out", "missing-option"),
        ("align --config {} --model model --source test.source --target train.target --output out", "unequal-lines"),
        (
            "align --config {} --model model --source test.source --target test.target --shard 4/3 --output out",
            "invalid-value",
        ),
        (
            "align --config {} --model test.source --source test.source --target test.target --output out",
            "damaged-file",
        ),
        (
            'train-parser --config {"classes":0} --source test.source --links test.alignments --classes none'
            " --model out --record out --state out",
            "conflicting-options",
        ),
        (
            'train-parser --config {"classes":0} --source test.source --links train.alignments --model out --record out'
            " --state out",
            "unequal-lines",
        ),
        (
            'train-parser --config {"classes":0,"iterations":1} --source test.source --links test.alignments'
            " --without 1/1 --model out --record out --state s3",
            "empty-file",
        ),
        ("reorder --model test.source --source test.source --output out", "damaged-file"),
        ("score-orders --orders bad.orders --links test.alignments --output out", "malformed-line"),
    ],
)
def test_mistakes_are_said_and_nothing_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str, code: str
) -> None:
    monkeypatch.setenv("WORDORDER_ERRORS", "json")
    (folder / "bad.orders").write_text("0 2\n")
    assert run(folder, line) == 1
    assert json.loads(capsys.readouterr().err)["code"] == code
    assert not (folder / "out").exists()


def test_strange_sentences_have_an_order(folder: Path) -> None:
    """Empty, one word, unknown words, 200 words."""
    source = ["", "the", "xyzzy plugh", " ".join(["the", "sailor", "sleeps"] * 67)[:-7]]
    (folder / "strange").write_text("".join(f"{line}\n" for line in source))
    (folder / "strange.target").write_text("".join(f"{line}\n" for line in ["lo", "", "lo lo", "lo teno " * 100]))
    line = "align --config {} --model model --source strange --target strange.target --output strange.links"
    assert run(folder, line) == 0
    links = read_links(folder / "strange.links", source_lengths=[len(line.split()) for line in source])
    assert [len(links[0]), len(links[1])] == [0, 0]
    assert run(folder, "train-classes --classes 5 --source train.source --output few") == 0
    train = "train-parser --source train.source --links train.alignments --classes few --record r --state s2"
    assert run(folder, f'{train} --config {{"iterations":1,"classes":5}} --model quick') == 0
    assert run(folder, "reorder --model quick --source strange --output strange.orders --trees strange.trees") == 0
    orders = list(read_orders(folder / "strange.orders"))
    assert [len(order) for order in orders] == [0, 1, 2, len(source[3].split())]
    assert np.array_equal(np.sort(orders[3]), np.arange(len(orders[3])))
