"""The steps of reordering on the files of a corpus: oracle trees, word classes, parsers, orders and their scores."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from wordorder.alignment.links import read_links
from wordorder.config import reordering as config
from wordorder.data.ragged import Ragged
from wordorder.data.subword import Subword
from wordorder.data.text import line_writer
from wordorder.data.units import Shard, Vocabulary, count_lines, read_units, spread
from wordorder.errors import WordorderError
from wordorder.files import write_json
from wordorder.progress import track
from wordorder.reordering import metrics
from wordorder.reordering.classes import exchange_classes, read_classes, write_classes
from wordorder.reordering.oracle import OracleReport, oracle_trees
from wordorder.reordering.orders import read_orders
from wordorder.reordering.parser import Parser
from wordorder.reordering.ranks import corpus_ranks
from wordorder.reordering.train import train


def find_oracle(
    settings: config.Oracle, source: Path, subword: Path | None, links: Path, *, output: Path, trees: Path, record: Path
) -> None:
    """Write the trees that fit the links best, their orders, and counts of them.

    Args:
        settings: The settings of the oracle.
        source: The cleaned source text.
        subword: The sentencepiece model whose subwords are reordered; words are if missing.
        links: The links of each sentence pair.
        output: The orders to write.
        trees: The trees to write.
        record: The counts to write, JSON.
    """
    lengths = np.array([len(units) for units in read_units(source, _load(subword))], dtype=np.int64)
    report = OracleReport()
    found = oracle_trees(read_links(links, source_lengths=lengths), lengths, nulls=settings.nulls, report=report)
    with line_writer(output) as write_order, line_writer(trees) as write_tree:
        for tree in track(found, "Oracle trees", total=len(lengths), unit="sentences"):
            write_order(" ".join(map(str, tree.order.tolist())))
            write_tree(tree.text)
    write_json(record, asdict(report))


def train_classes(classes: int, source: Path, subword: Path | None, output: Path) -> None:
    """Write the class of each source word, found by exchange clustering."""
    pieces = _load(subword)
    vocabulary = Vocabulary.build(read_units(source, pieces))
    sentences = vocabulary.numbers(read_units(source, pieces))
    write_classes(output, vocabulary, exchange_classes(sentences, vocabulary.size, classes))


def train_parser(
    settings: config.Parser,
    source: Path,
    subword: Path | None,
    links: Path,
    classes: Path | None,
    without: str | None,
    *,
    model: Path,
    record: Path,
    state: Path,
) -> None:
    """Train the parser that predicts the order of the target from the source.

    Args:
        settings: The settings of the parser.
        source: The cleaned source text.
        subword: The sentencepiece model whose subwords are reordered; words are if missing.
        links: The links of each sentence pair.
        classes: The word classes, if the parser uses any.
        without: The block of sentences to exclude, such as '1/5'.
        model: The parser to write.
        record: The counts to write, JSON.
        state: The folder of the saved state, from which an interrupted training resumes.

    Raises:
        WordorderError: The settings and the classes do not fit each other.
    """
    if bool(settings.classes) != bool(classes):
        raise WordorderError(
            f"The parser's 'classes' is {settings.classes}; give --classes if, and only if, it is more than 0.",
            code="conflicting-options",
            key="--classes",
        )
    kept = np.ones(count_lines(source), dtype=bool)
    if without:
        kept[Shard.parse(without).range(len(kept))] = False
    kept[kept] = spread(int(kept.sum()), settings.sentences)
    sentences = list(read_units(source, _load(subword), chosen=kept))
    read = read_links(links, source_lengths=[len(units) for units in sentences], chosen=kept)
    vocabulary = Vocabulary.build(sentences)
    numbers = vocabulary.numbers(sentences)
    found = read_classes(classes, vocabulary) if classes else np.empty(0, dtype=np.int32)
    ranks, ranked = corpus_ranks(read, numbers.lengths)
    trained = train(numbers, found, ranks, ranked, settings, state=state)
    Parser(vocabulary, found, trained.weights, settings).save(model)
    counts = {
        "sentences": len(numbers),
        "learned_from": trained.sentences,
        "without_ranks": trained.without_ranks,
        "without_tree": trained.without_tree,
        "settings": settings.model_dump(),
    }
    write_json(record, counts)


def reorder(
    model: Path, source: Path, subword: Path | None, shard: str, *, output: Path, trees: Path | None, threads: int
) -> None:
    """Write the orders that a parser predicts for the sentences of a block, such as '1/4', and their trees."""
    parser = Parser.load(model)
    units = read_units(source, _load(subword), Shard.parse(shard))
    parser.write_orders(units, output, trees=trees, threads=threads)


def score_orders(orders: Path, links: Path) -> dict[str, Any]:
    """Score orders, and the order of the source itself, against links. Returns what to write as JSON."""
    found = Ragged.of(read_orders(orders))
    ranks, ranked = corpus_ranks(read_links(links, source_lengths=found.lengths), found.lengths)
    return {
        "sentences": len(found),
        "with_ranks": int(ranked.sum()),
        "predicted": _means(metrics.score_orders(found, ranks, ranked)),
        "identity": _means(metrics.score_orders(metrics.identity_orders(found.offsets), ranks, ranked)),
    }


def _means(scores: metrics.OrderScores) -> dict[str, float | None]:
    """Return means for JSON: None instead of NaN if no sentence has ranks."""
    return {name: None if math.isnan(mean) else mean for name, mean in scores.means().items()}


def _load(subword: Path | None) -> Subword | None:
    return Subword.load(subword) if subword else None
