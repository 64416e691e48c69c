"""Positions from the gold trees of the generated pair.

A tree belongs to a line of the raw text. To find which lines became sentences of the corpus, the raw text is cleaned
again from permanent files, and the result must equal the corpus, token by token. So the number of shards of the
cleaning does not matter, and nothing has to be kept of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wordorder.config.datasets import Preparation
from wordorder.data.arrays import Integers
from wordorder.data.binary import ParallelCorpus
from wordorder.data.clean import Report, clean_pairs
from wordorder.data.subword import Subword
from wordorder.data.text import read_lines, read_pairs
from wordorder.data.trees import parse_tree, tree_order
from wordorder.errors import WordorderError, at_line
from wordorder.progress import track
from wordorder.reordering.subwords import subword_positions


def gold_positions(
    preparation: Preparation,
    *,
    source: str | Path,
    target: str | Path,
    trees: str | Path,
    subword: str | Path,
    corpus: ParallelCorpus,
    keep_all: bool = False,
) -> Iterator[Integers]:
    """Compute the positions of each source sentence of ``corpus`` from the raw text and its trees.

    Args:
        preparation: The preprocessing of the dataset.
        source: The raw source text.
        target: The raw target text.
        trees: One tree per raw line, over its words.
        subword: The subword model.
        corpus: The corpus.
        keep_all: Whether the corpus was made without dropping pairs.

    Yields:
        The positions of each sentence.

    Raises:
        WordorderError: A tree does not fit its line, or the corpus was not made from this text in this way.
    """
    model = Subword.load(subword)
    starts = model.word_starts()
    lines = enumerate(read_lines(trees))
    pairs = track(read_pairs(source, target), "Gold positions", unit="pairs")
    report = Report()
    sentences = 0
    for number, text, _ in clean_pairs(pairs, preparation, report=report, keep_all=keep_all):
        tokens = model.encode(text)
        if sentences == len(corpus) or corpus.source(sentences).tolist() != tokens:
            raise _another_text(corpus, source)
        line = next((line for where, line in lines if where == number), None)
        if line is None:
            raise _unequal(trees, source)
        try:
            order = tree_order(parse_tree(line))
        except WordorderError as error:
            raise at_line(trees, number + 1, str(error), code=error.code, found=error.found) from error
        words = starts[tokens]
        if len(order) != words.sum():
            sentence = (
                f"the tree has {len(order)} leaves, but after preprocessing that line of {source} has {words.sum()} "
                "words. A tree needs one leaf per word; if tokenisation splits words, set the dataset's "
                "'preprocessing.tokenise' to false."
            )
            counts = {"found": len(order), "expected": int(words.sum())}
            raise at_line(trees, number + 1, sentence, code="wrong-count", **counts)
        yield subword_positions(order, words)
        sentences += 1
    if any(where >= report.read for where, _ in lines):
        raise _unequal(trees, source)
    if sentences != len(corpus):
        raise _another_text(corpus, source)


def _unequal(trees: str | Path, source: str | Path) -> WordorderError:
    return WordorderError(
        f"{trees} and {source} differ in their numbers of lines. Generate the split again.",
        code="unequal-lines",
        path=trees,
    )


def _another_text(corpus: ParallelCorpus, source: str | Path) -> WordorderError:
    return WordorderError(
        f"The source of {corpus.directory} is not what preprocessing makes of {source}. Give the raw text, the "
        "preprocessing and the subword model that the corpus was made with, and --keep-all unless it is 'train'.",
        code="another-corpus",
        path=corpus.directory,
    )
