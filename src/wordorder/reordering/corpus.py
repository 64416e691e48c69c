"""The stages of reordering on the files of a corpus: oracle trees, word classes, parsers, orders and their scores."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from wordorder.alignment.links import read_link_blocks, read_links
from wordorder.config.datasets import Preparation
from wordorder.config.reordering import Oracle
from wordorder.config.reordering import Parser as ParserSettings
from wordorder.data.binary import ParallelCorpus
from wordorder.data.positions import write_positions
from wordorder.data.ragged import Ragged
from wordorder.data.sampling import spread
from wordorder.data.subword import Subword
from wordorder.data.text import line_writer
from wordorder.data.units import Shard, Vocabulary, count_lines, read_units
from wordorder.errors import WordorderError
from wordorder.files import write_json
from wordorder.progress import track
from wordorder.reordering import metrics
from wordorder.reordering.classes import exchange_classes, read_classes, write_classes
from wordorder.reordering.gold import gold_positions
from wordorder.reordering.noise import noisy
from wordorder.reordering.oracle import OracleReport, oracle_trees
from wordorder.reordering.orders import order_positions, read_orders, word_starts
from wordorder.reordering.parser import Parser
from wordorder.reordering.ranks import corpus_ranks
from wordorder.reordering.train import train


def find_oracle(
    *, config: Oracle, source: Path, subword: Path | None = None, links: Path, output: Path, trees: Path, record: Path
) -> None:
    r"""Find the trees that fit the links best.

    Of all trees that keep or swap the halves of their nodes, find the one that puts the fewest pairs of source words in
    another order than their links.

    Example:
        wordorder stage find-oracle --config '{}' --source train.s --links train.links --output o --trees t \
            --record oracle.json

    Args:
        config: The 'oracle' of a reorderer.
        source: The cleaned source text.
        subword: The sentencepiece model whose subwords are reordered; words are if missing.
        links: The links of each sentence pair.
        output: The orders to write.
        trees: The trees to write.
        record: The counts to write, JSON.
    """
    sentences, report = count_lines(source), OracleReport()
    blocks = read_link_blocks(links, map(len, read_units(source, _load(subword))), sentences=sentences)
    found = (tree for block in blocks for tree in oracle_trees(*block, nulls=config.nulls, report=report))
    with line_writer(output) as write_order, line_writer(trees) as write_tree:
        for tree in track(found, "Oracle trees", total=sentences, unit="sentences"):
            write_order(" ".join(map(str, tree.order.tolist())))
            write_tree(tree.text)
    write_json(record, asdict(report))


def train_classes(*, classes: int, source: Path, subword: Path | None = None, output: Path) -> None:
    """Find word classes by exchange clustering.

    Example:
        wordorder stage train-classes --classes 50 --source train.s --output classes.tsv

    Args:
        classes: The number of classes.
        source: The cleaned source text.
        subword: The sentencepiece model whose subwords get classes; words do if missing.
        output: The lines to write: a word, a tab and its class.
    """
    pieces = _load(subword)
    vocabulary = Vocabulary.build(read_units(source, pieces))
    blocks = vocabulary.blocks(read_units(source, pieces))
    write_classes(output, vocabulary, exchange_classes(blocks, vocabulary.size, classes))


def train_parser(
    *,
    config: ParserSettings,
    source: Path,
    subword: Path | None = None,
    links: Path,
    classes: Path | None = None,
    without: str | None = None,
    model: Path,
    record: Path,
    state: Path,
) -> None:
    r"""Train the parser that predicts the target's order from the source only.

    Example:
        wordorder stage train-parser --config '{}' --source train.s --links train.links --model parser \
            --record p.json --state state

    Args:
        config: The 'parser' of a reorderer.
        source: The cleaned source text.
        subword: The sentencepiece model whose subwords are reordered; words are if missing.
        links: The links of each sentence pair.
        classes: The word classes, if the parser uses any.
        without: The block of sentences to exclude, such as '1/5', which the parser is to parse.
        model: The parser to write.
        record: The counts to write, JSON.
        state: The folder of the saved state, from which an interrupted training resumes.

    Raises:
        WordorderError: The settings and the classes do not fit each other, or no sentence can be learned from.
    """
    if bool(config.classes) != bool(classes):
        raise WordorderError(
            f"The parser's 'classes' is {config.classes}; give --classes if, and only if, it is more than 0.",
            code="conflicting-options",
            key="--classes",
        )
    kept = np.ones(count_lines(source), dtype=bool)
    if without:
        kept[Shard.parse(without).range(len(kept))] = False
    kept[kept] = spread(int(kept.sum()), config.sentences)
    sentences = list(read_units(source, _load(subword), chosen=kept))
    read = read_links(links, source_lengths=[len(units) for units in sentences], chosen=kept)
    vocabulary = Vocabulary.build(sentences)
    numbers = vocabulary.numbers(sentences)
    found = read_classes(classes, vocabulary, config.classes) if classes else np.empty(0, dtype=np.int32)
    ranks, ranked = corpus_ranks(read, numbers.lengths)
    trained = train(numbers, found, ranks, ranked, config, state=state)
    if not trained.sentences:
        raise WordorderError(
            f"The parser cannot learn from {source}: for none of {len(numbers)} sentences, the links in {links} give "
            "an order of the words that a tree can have. Check the links, or give more text.",
            code="empty-file",
            path=source,
            found=0,
        )
    Parser(vocabulary, found, trained.weights, config).save(model)
    counts = {
        "sentences": len(numbers),
        "learned_from": trained.sentences,
        "without_ranks": trained.without_ranks,
        "without_tree": trained.without_tree,
        "settings": config.model_dump(),
    }
    write_json(record, counts)


def reorder(
    *,
    model: Path,
    source: Path,
    subword: Path | None = None,
    shard: str = "1/1",
    output: Path,
    trees: Path | None = None,
    threads: int = 1,
) -> None:
    """Predict the order that source sentences have in the target language.

    Example:
        wordorder stage reorder --model parser --source test.s --output test.orders --trees test.trees

    Args:
        model: The trained parser.
        source: The cleaned source text.
        subword: The sentencepiece model whose subwords are reordered; words are if missing.
        shard: The block of sentences to parse, such as '1/4'.
        output: The orders to write.
        trees: The trees to write, too.
        threads: The CPU threads.
    """
    parser = Parser.load(model)
    units = read_units(source, _load(subword), Shard.parse(shard))
    parser.write_orders(units, output, trees=trees, threads=threads)


def score_orders(*, orders: Path, links: Path) -> dict[str, Any]:
    """Score orders, and the order of the source itself, against links.

    Example:
        wordorder stage score-orders --orders test.orders --links test.links --output scores.json

    Args:
        orders: The orders, one line per sentence.
        links: The links, one line per sentence pair.
    """
    found = Ragged.of(read_orders(orders))
    ranks, ranked = corpus_ranks(read_links(links, source_lengths=found.lengths), found.lengths)
    return {
        "sentences": len(found),
        "with_ranks": int(ranked.sum()),
        "predicted": _means(metrics.score_orders(found, ranks, ranked)),
        "identity": _means(metrics.score_orders(metrics.identity_orders(found.offsets), ranks, ranked)),
    }


def write_identity_positions(*, corpus: Path, output: Path) -> None:
    """Write positions as they are in the source: the control that isolates the effect of reordering.

    Example:
        wordorder stage positions identity --corpus binary/test --output positions

    Args:
        corpus: The binary corpus.
        output: The folder to write.
    """
    opened = ParallelCorpus.open(corpus)
    write_positions(output, map(np.arange, opened.source_lengths), kind="identity", corpus=opened)


def write_gold_positions(
    *,
    config: Preparation,
    source: Path,
    target: Path,
    trees: Path,
    subword: Path,
    corpus: Path,
    keep_all: bool = False,
    output: Path,
) -> None:
    r"""Write positions in the target order of the gold trees of the generated pair.

    Example:
        wordorder stage positions gold --config SLICE --source s --target t --trees trees --subword model.model \
            --corpus binary --output positions

    Args:
        config: The preprocessing and languages, as for 'clean'.
        source: The raw source text.
        target: The raw target text.
        trees: The gold trees of the raw text.
        subword: The sentencepiece model of the corpus.
        corpus: The binary corpus.
        keep_all: No pair was dropped (validation and test sets).
        output: The folder to write.
    """
    opened = ParallelCorpus.open(corpus)
    files = {"source": source, "target": target, "trees": trees, "subword": subword}
    rows = gold_positions(config, **files, corpus=opened, keep_all=keep_all)
    write_positions(output, rows, kind="gold", corpus=opened)


def write_ordered_positions(*, kind: str, orders: Path, words: Path | None = None, corpus: Path, output: Path) -> None:
    """Write positions from the orders of an oracle or a parser.

    Example:
        wordorder stage positions ordered --kind predicted --orders test.orders --corpus binary/test --output positions

    Args:
        kind: The origin of the orders, for the record.
        orders: The orders, one line per sentence.
        words: The sentencepiece model of the corpus, if the orders are of words.
        corpus: The binary corpus.
        output: The folder to write.
    """
    opened = ParallelCorpus.open(corpus)
    rows = order_positions(orders, opened, starts=word_starts(words, opened) if words else None)
    write_positions(output, rows, kind=kind, corpus=opened)


def write_noisy_positions(*, positions: Path, ratio: float, seed: int = 1, corpus: Path, output: Path) -> None:
    """Write positions of which some are swapped at random.

    Example:
        wordorder stage positions noisy --ratio 0.1 --positions positions --corpus binary/test --output noisy

    Args:
        positions: The folder of the original positions.
        ratio: The share of all positions that are swapped.
        seed: The random seed.
        corpus: The binary corpus.
        output: The folder to write.
    """
    opened = ParallelCorpus.open(corpus, positions=positions)
    read = opened.positions
    assert read is not None
    rows = noisy((read[index] for index in range(len(opened))), ratio, seed)
    write_positions(output, rows, kind=f"{read.kind}.noise{ratio:g}", corpus=opened)


def _means(scores: metrics.OrderScores) -> dict[str, float | None]:
    """Return means for JSON: None instead of NaN if no sentence has ranks."""
    return {name: None if math.isnan(mean) else mean for name, mean in scores.means().items()}


def _load(subword: Path | None) -> Subword | None:
    return Subword.load(subword) if subword else None
