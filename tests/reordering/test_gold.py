"""Tests of positions from gold trees and of the identity: manually, against alignments, and on the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raises import raises
from wordorder.cli.main import main
from wordorder.config import datasets
from wordorder.config.datasets import Generator, Preparation, TextPreprocessing
from wordorder.data.binary import ParallelCorpus
from wordorder.data.clean import clean_files
from wordorder.data.generate import write_split
from wordorder.data.positions import SourcePositions
from wordorder.data.subword import Subword, binarise, train_subword
from wordorder.data.text import write_lines
from wordorder.reordering.corpus import write_identity_positions
from wordorder.reordering.gold import gold_positions
from wordorder.reordering.subwords import subword_positions

PREPROCESSING = {"tokenise": False, "normalise_punctuation": False}


class Data(NamedTuple):
    """One split of a language pair, from the raw text to the corpus, in ``folder``."""

    folder: Path
    preparation: Preparation
    keep_all: bool

    @property
    def corpus(self) -> ParallelCorpus:
        return ParallelCorpus.open(self.folder / "corpus")

    def gold(self, **changes: object) -> list[list[int]]:
        names = ("source", "target", "trees", "subword")
        options = {**{name: self.folder / name for name in names}, "corpus": self.corpus, "keep_all": self.keep_all}
        found = gold_positions(self.preparation, **{**options, **changes})  # type: ignore[arg-type]
        return [row.tolist() for row in found]


def prepare(folder: Path, *, vocabulary: int, keep_all: bool = False, **preprocessing: object) -> Data:
    """Clean and binarise ``source`` and ``target`` of a folder; the subwords are trained on them."""
    preparation = Preparation(
        preprocessing=TextPreprocessing.model_validate({**PREPROCESSING, **preprocessing}),
        source_language="en",
        target_language="xx",
    )
    clean_files(
        preparation,
        folder / "source",
        folder / "target",
        output_source=folder / "clean.source",
        output_target=folder / "clean.target",
        report=folder / "report",
        keep_all=keep_all,
    )
    texts = [folder / "clean.source", folder / "clean.target"]
    train_subword(texts, folder / "subword", config=datasets.Subword(vocabulary=vocabulary, subword_sentences=10_000))
    binarise(folder / "subword", *texts, folder / "corpus")
    return Data(folder, preparation, keep_all)


def generated(
    folder: Path, *, sentences: int, vocabulary: int, keep_all: bool = False, **preprocessing: object
) -> Data:
    folder.mkdir(exist_ok=True)
    names = ("source", "target", "alignments", "trees")
    write_split(Generator(train=sentences), split="train", **{name: folder / name for name in names})
    return prepare(folder, vocabulary=vocabulary, keep_all=keep_all, **preprocessing)


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Data:
    """A vocabulary in which every word is one piece."""
    return generated(tmp_path_factory.mktemp("words"), sentences=1500, vocabulary=900)


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Data:
    """Words of several pieces; cleaning drops a good part of the pairs."""
    folder = tmp_path_factory.mktemp("pieces")
    return generated(folder, sentences=300, vocabulary=120, cleaning={"min_length": 6, "max_length": 13})


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def words_of(tokens: list[int], subword: Subword) -> Iterator[list[int]]:
    """The numbers of the pieces of each word, by spelling them out one after the other."""
    spelled = subword.decode(tokens).split()
    place = 0
    for word in spelled:
        start, so_far = place, ""
        while so_far != word:
            place += 1
            so_far = subword.decode(tokens[start:place]).replace(" ", "")
        yield list(range(start, place))
    assert place == len(tokens)


# ----------------------------------------------------------------------------------------------- words and subwords


@pytest.mark.parametrize(
    ("order", "starts", "expected"),
    [
        ([0], [1], [0]),
        ([0], [1, 0, 0], [0, 1, 2]),
        ([1, 0], [1, 1], [1, 0]),
        ([2, 0, 1], [1, 1, 1], [1, 2, 0]),  # the third word comes first
        # ab cde f -> f ab cde: the pieces of a word stay together and in order
        ([2, 0, 1], [1, 0, 1, 0, 0, 1], [1, 2, 3, 4, 5, 0]),
        # ab cde f -> cde f ab
        ([1, 2, 0], [1, 0, 1, 0, 0, 1], [4, 5, 0, 1, 2, 3]),
        ([], [], []),
    ],
)
def test_subwords_follow_their_words(order: list[int], starts: list[int], expected: list[int]) -> None:
    assert subword_positions(order, np.array(starts, dtype=bool)).tolist() == expected


@given(st.data())
def test_subwords_are_laid_out_word_after_word(data: st.DataObject) -> None:
    lengths = data.draw(st.lists(st.integers(1, 4), max_size=8))
    order = data.draw(st.permutations(range(len(lengths))))
    starts = np.array([piece == 0 for length in lengths for piece in range(length)], dtype=bool)
    pieces = [(word, piece) for word, length in enumerate(lengths) for piece in range(length)]
    laid_out = [(word, piece) for word in order for piece in range(lengths[word])]
    assert subword_positions(order, starts).tolist() == [laid_out.index(own) for own in pieces]


@pytest.mark.parametrize(
    ("order", "starts"), [([0, 1], [1]), ([0], [1, 1]), ([0, 0], [1, 1]), ([0], [0, 1]), ([1, 2], [1, 1])]
)
def test_an_order_of_other_words_is_refused(order: list[int], starts: list[int]) -> None:
    with pytest.raises(ValueError, match=re.escape(str(order))):
        subword_positions(order, np.array(starts, dtype=bool))


# ------------------------------------------------------------------------------------------------------- gold trees

EXAMPLE = "no sad goat that called my monks greeted no bakers never"
TREE = "< [ < [ 0 [ 1 2 ] ] < 3 < 4 [ 5 6 ] > > > < 7 [ 8 9 ] > ] 10 >"


def example(folder: Path, words: Data, trees: list[str], text: str = EXAMPLE) -> Data:
    """One sentence, with the subwords of ``words``."""
    write_lines(folder / "source", [text])
    write_lines(folder / "target", ["ture lo garoi vo litis"])
    write_lines(folder / "trees", trees)
    (folder / "subword").write_bytes((words.folder / "subword").read_bytes())
    binarise(folder / "subword", folder / "source", folder / "target", folder / "corpus")
    return Data(folder, words.preparation, keep_all=True)


def test_the_example_of_the_documentation(words: Data, tmp_path: Path) -> None:
    (found,) = example(tmp_path, words, [TREE]).gold()
    # In target order: never | my monks called that | no sad goat | no bakers greeted
    assert found == [5, 6, 7, 4, 3, 1, 2, 10, 8, 9, 0]
    page = (Path(__file__).parents[2] / "docs" / "generated-pair.md").read_text(encoding="utf-8")
    assert EXAMPLE in page and TREE in page and f"positions   {' '.join(map(str, found))}" in page


def test_a_word_of_several_subwords_and_one_that_begins_with_a_lone_space(words: Data, tmp_path: Path) -> None:
    # No word of the vocabulary begins with an unknown letter, so the space before it is a piece of its own.
    data = example(tmp_path, words, ["[ < 0 1 > 2 ]"], "goat 漢goats never")
    subword = Subword.load(data.folder / "subword")
    tokens = data.corpus.source(0).tolist()
    starts = subword.word_starts()[tokens]
    lengths = np.diff(np.flatnonzero(starts), append=len(tokens)).tolist()
    assert starts[0] and lengths[0] == lengths[2] == 1 and lengths[1] >= 3, "goat | ▁ 漢 goats | never"
    n = lengths[1]
    assert data.gold() == [[n, *range(n), n + 1]]


def aligned_order(alignment: str) -> list[int]:
    """The aligned source words, in the order of their target words."""
    links = [tuple(map(int, link.split("-"))) for link in alignment.split()]
    return [source for source, _ in sorted(links, key=lambda link: link[1])]


def test_the_gold_order_is_that_of_the_alignments(words: Data) -> None:
    found, alignments = words.gold(), lines(words.folder / "alignments")
    assert len(found) == len(alignments) == 1500
    moved = 0
    for positions, alignment, source in zip(found, alignments, lines(words.folder / "source"), strict=True):
        assert len(positions) == len(source.split())
        order = np.argsort(positions).tolist()
        aligned = aligned_order(alignment)
        assert [word for word in order if word in set(aligned)] == aligned
        moved += order != sorted(order)
    assert moved > 1400, "the pair is about reordering"


def test_words_of_several_pieces_move_as_a_whole(pieces: Data) -> None:
    found, corpus, subword = pieces.gold(), pieces.corpus, Subword.load(pieces.folder / "subword")
    numbers = [
        number
        for number, pair in enumerate(zip(*(lines(pieces.folder / side) for side in ("source", "target")), strict=True))
        if all(6 <= len(text.split()) <= 13 for text in pair)
    ]
    assert len(found) == len(corpus) == len(numbers)
    assert 30 < len(numbers) < 270, "the test must drop pairs and keep some"
    alignments = lines(pieces.folder / "alignments")
    longer = 0
    for index, (positions, number) in enumerate(zip(found, numbers, strict=True)):
        assert sorted(positions) == list(range(len(positions)))
        tokens = corpus.source(index).tolist()
        groups = list(words_of(tokens, subword))
        longer += len(tokens) > len(groups)
        for group in groups:
            own = [positions[piece] for piece in group]
            assert own == list(range(own[0], own[0] + len(own)))
        firsts = [positions[group[0]] for group in groups]
        order = sorted(range(len(groups)), key=firsts.__getitem__)
        aligned = aligned_order(alignments[number])
        assert [word for word in order if word in set(aligned)] == aligned
    assert longer == len(numbers), "no word is one piece in so small a vocabulary"


def test_identity_changes_nothing(pieces: Data, tmp_path: Path) -> None:
    write_identity_positions(corpus=pieces.folder / "corpus", output=tmp_path / "positions")
    read = ParallelCorpus.open(pieces.folder / "corpus", positions=tmp_path / "positions").positions
    assert read is not None
    rows = [read[index].tolist() for index in range(len(pieces.corpus))]
    assert rows == [list(range(length)) for length in pieces.corpus.source_lengths]


# ----------------------------------------------------------------------------------------------------- what is wrong


@pytest.mark.parametrize(
    ("trees", "problem"),
    [
        (["[ 0 1 ]"], {"code": "wrong-count", "line": 1}),
        ([TREE.replace(">", "]", 1)], {"code": "malformed-line", "line": 1}),
        ([], {"code": "unequal-lines"}),
        ([TREE, TREE], {"code": "unequal-lines"}),
    ],
)
def test_trees_that_do_not_fit_are_refused(
    words: Data, tmp_path: Path, trees: list[str], problem: dict[str, Any]
) -> None:
    data = example(tmp_path, words, trees)
    with raises(path=tmp_path / "trees", **problem):
        data.gold()


def test_a_corpus_of_another_text_is_refused(pieces: Data, words: Data) -> None:
    for changes in ({"keep_all": True}, {"corpus": words.corpus}, {"subword": words.folder / "subword"}):
        with raises("another-corpus"):
            pieces.gold(**changes)
    text = lines(pieces.folder / "source")
    for name, shorter in (("source", text), ("target", lines(pieces.folder / "target"))):
        write_lines(pieces.folder / f"shorter.{name}", shorter[:200])
    write_lines(pieces.folder / "shorter.trees", lines(pieces.folder / "trees")[:200])
    files = {name: pieces.folder / f"shorter.{name}" for name in ("source", "target", "trees")}
    with raises("another-corpus"):
        pieces.gold(**files)


# ----------------------------------------------------------------------------------------------------- command line


def test_the_commands_write_positions_of_a_corpus(
    pieces: Data, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = ["--corpus", str(pieces.folder / "corpus")]
    assert main(["stage", "positions", "identity", *corpus, "--output", str(tmp_path / "identity")]) == 0
    config = json.dumps(pieces.preparation.model_dump(mode="json"))
    gold = ["stage", "positions", "gold", "--config", config, *corpus, "--output", str(tmp_path / "gold")]
    for name in ("source", "target", "trees", "subword"):
        gold += [f"--{name}", str(pieces.folder / name)]
    assert main(gold) == 0
    for kind, rows in (("gold", pieces.gold()), ("identity", [*map(list, map(range, pieces.corpus.source_lengths))])):
        found = SourcePositions.open(tmp_path / kind, pieces.corpus)
        assert found.kind == kind
        assert [found[index].tolist() for index in range(len(pieces.corpus))] == rows
    capsys.readouterr()
    assert main([*gold, "--keep-all"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("wordorder: error: The source of ") and "Traceback" not in error
