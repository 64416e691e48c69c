"""Commands of the reordering stages: orders from links or from a parser, and positions from orders."""

from __future__ import annotations

import argparse
import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordorder.cli.arguments import add_command, add_config, add_paths, not_negative, positive, share

if TYPE_CHECKING:
    from wordorder.data.subword import Subword
    from wordorder.reordering.metrics import OrderScores


def add_commands(subparsers: Any) -> None:
    command = partial(add_command, subparsers)

    def source(parser: argparse.ArgumentParser) -> None:
        add_paths(parser, source="cleaned source text")
        parser.add_argument(
            "--subword", type=Path, metavar="PATH", help="reorder the subwords of this sentencepiece model, not words"
        )

    parser = command(
        "find-oracle",
        _find_oracle,
        "Find the trees that fit the links best. Of all trees that keep or swap the halves of their nodes, the one "
        "that puts the fewest pairs of source words in another order than their links.",
    )
    add_config(parser, "a reorderer's 'oracle'")
    source(parser)
    add_paths(parser, links="links, a line a sentence pair", output="the orders to write", trees="the trees to write")
    add_paths(parser, record="what was counted, as JSON")

    parser = command("train-classes", _train_classes, "Find word classes by exchange clustering.")
    parser.add_argument("--classes", required=True, type=positive, metavar="N", help="how many")
    source(parser)
    add_paths(parser, output="a line a word: the word, a tab and its class")

    parser = command(
        "train-parser",
        _train_parser,
        "Train the parser that predicts the target's order from the source alone. An interrupted training goes on from "
        "its saved state to the same result.",
    )
    add_config(parser, "a reorderer's 'parser'")
    source(parser)
    add_paths(parser, links="links, a line a sentence pair")
    parser.add_argument("--classes", type=Path, metavar="PATH", help="word classes, if the parser uses any")
    parser.add_argument(
        "--without", metavar="K/N", help="leave out the K-th of N blocks of sentences, which the parser will parse"
    )
    add_paths(
        parser, model="the parser to write", record="what was trained on, as JSON", state="folder of the saved state"
    )

    parser = command("reorder", _reorder, "Predict the order that source sentences have in the target language.")
    add_paths(parser, model="the trained parser")
    source(parser)
    parser.add_argument("--shard", default="1/1", metavar="K/N", help="only the K-th of N blocks of sentences")
    add_paths(parser, output="the orders to write")
    parser.add_argument("--trees", type=Path, metavar="PATH", help="write the trees too")
    parser.add_argument("--threads", type=positive, default=1, help="(default: %(default)s)")

    parser = command("score-orders", _score_orders, "Score orders, and those of the source itself, against links.")
    add_paths(parser, orders="orders", links="links, a line a sentence pair", output="scores, as JSON")

    positions = subparsers.add_parser(
        "positions",
        help="Write the position that each source token takes in target order.",
        description="Write the reordered positions of the source side of a binary corpus: one folder, which belongs to "
        "this corpus alone. Encodings such as 'inxl' need it in training and in translation.",
    )
    kinds = positions.add_subparsers(metavar="KIND", required=True)

    def kind(name: str, run: Any, text: str) -> argparse.ArgumentParser:
        parser = add_command(kinds, name, run, text)
        parser.add_argument("--corpus", required=True, type=Path, metavar="DIR", help="binary corpus")
        parser.add_argument("--output", required=True, type=Path, metavar="DIR", help="the folder to write")
        return parser

    kind("identity", _identity, "Positions as they are in the source: the control.")
    parser = kind("gold", _gold, "Positions in the target order of the generated pair's gold trees.")
    add_config(parser, "the preprocessing and the two languages, as for 'clean'")
    add_paths(parser, source="raw source text", target="raw target text", trees="gold trees of the raw text")
    add_paths(parser, subword="sentencepiece model of the corpus")
    parser.add_argument("--keep-all", action="store_true", help="no pair was dropped (validation and test sets)")
    parser = kind("ordered", _ordered, "Positions from orders: an oracle's or a parser's.")
    add_paths(parser, orders="orders, a line a sentence")
    parser.add_argument("--kind", required=True, help="where the orders come from, to be written down")
    parser.add_argument(
        "--words", type=Path, metavar="PATH", help="sentencepiece model of the corpus, if the orders are of words"
    )
    parser = kind("noisy", _noisy, "Positions of which some are swapped at random.")
    add_paths(parser, positions="folder of the positions to begin with")
    parser.add_argument("--ratio", required=True, type=share, help="the share of all positions that are swapped")
    parser.add_argument("--seed", type=not_negative, default=1, help="(default: %(default)s)")


def _subword(options: argparse.Namespace) -> Subword | None:
    from wordorder.data.subword import Subword

    return Subword.load(options.subword) if options.subword else None


def _find_oracle(options: argparse.Namespace) -> None:
    from dataclasses import asdict

    import numpy as np

    from wordorder.alignment.links import read_links
    from wordorder.config.load import slice_argument
    from wordorder.config.reordering import Oracle
    from wordorder.data.text import line_writer
    from wordorder.data.units import read_units
    from wordorder.files import write_json
    from wordorder.progress import track
    from wordorder.reordering.oracle import OracleReport, oracle_trees

    config = slice_argument(options.config, Oracle)
    lengths = np.array([len(units) for units in read_units(options.source, _subword(options))], dtype=np.int64)
    links = read_links(options.links, source_lengths=lengths)
    report = OracleReport()
    found = oracle_trees(links, lengths, nulls=config.nulls, report=report)
    with line_writer(options.output) as write_order, line_writer(options.trees) as write_tree:
        for tree in track(found, "Oracle trees", total=len(lengths), unit="sentences"):
            write_order(" ".join(map(str, tree.order.tolist())))
            write_tree(tree.text)
    write_json(options.record, asdict(report))


def _train_classes(options: argparse.Namespace) -> None:
    from wordorder.data.units import Vocabulary, read_units
    from wordorder.reordering.classes import exchange_classes, write_classes

    subword = _subword(options)
    vocabulary = Vocabulary.build(read_units(options.source, subword))
    sentences = vocabulary.numbers(read_units(options.source, subword))
    write_classes(options.output, vocabulary, exchange_classes(sentences, vocabulary.size, options.classes))


def _train_parser(options: argparse.Namespace) -> None:
    import numpy as np

    from wordorder.alignment.links import read_links
    from wordorder.config import reordering as config
    from wordorder.config.load import slice_argument
    from wordorder.data.units import Shard, Vocabulary, count_lines, read_units, spread
    from wordorder.errors import WordorderError
    from wordorder.files import write_json
    from wordorder.reordering.classes import read_classes
    from wordorder.reordering.parser import Parser
    from wordorder.reordering.ranks import corpus_ranks
    from wordorder.reordering.train import train

    settings = slice_argument(options.config, config.Parser)
    if bool(settings.classes) != bool(options.classes):
        raise WordorderError(
            f"The parser's 'classes' is {settings.classes}; give --classes if, and only if, it is more than 0."
        )
    kept = np.ones(count_lines(options.source), dtype=bool)
    if options.without:
        kept[Shard.parse(options.without).range(len(kept))] = False
    kept[kept] = spread(int(kept.sum()), settings.sentences)
    sentences = list(read_units(options.source, _subword(options), chosen=kept))
    links = read_links(options.links, source_lengths=[len(units) for units in sentences], chosen=kept)
    vocabulary = Vocabulary.build(sentences)
    source = vocabulary.numbers(sentences)
    classes = read_classes(options.classes, vocabulary) if options.classes else np.empty(0, dtype=np.int32)
    ranks, ranked = corpus_ranks(links, source.lengths)
    trained = train(source, classes, ranks, ranked, settings, state=options.state)
    Parser(vocabulary, classes, trained.weights, settings).save(options.model)
    record = {
        "sentences": len(source),
        "learned_from": trained.sentences,
        "without_ranks": trained.without_ranks,
        "without_tree": trained.without_tree,
        "settings": settings.model_dump(),
    }
    write_json(options.record, record)


def _reorder(options: argparse.Namespace) -> None:
    from wordorder.data.units import Shard, read_units
    from wordorder.reordering.parser import Parser

    parser = Parser.load(options.model)
    units = read_units(options.source, _subword(options), Shard.parse(options.shard))
    parser.write_orders(units, options.output, trees=options.trees, threads=options.threads)


def _score_orders(options: argparse.Namespace) -> None:
    from wordorder.alignment.links import read_links
    from wordorder.data.ragged import Ragged
    from wordorder.files import write_json
    from wordorder.reordering.metrics import identity_orders, score_orders
    from wordorder.reordering.orders import read_orders
    from wordorder.reordering.ranks import corpus_ranks

    orders = Ragged.of(read_orders(options.orders))
    ranks, ranked = corpus_ranks(read_links(options.links, source_lengths=orders.lengths), orders.lengths)
    write_json(
        options.output,
        {
            "sentences": len(orders),
            "with_ranks": int(ranked.sum()),
            "predicted": _means(score_orders(orders, ranks, ranked)),
            "identity": _means(score_orders(identity_orders(orders.offsets), ranks, ranked)),
        },
    )


def _means(scores: OrderScores) -> dict[str, float | None]:
    """As JSON has them: where no sentence has ranks there is no number, and not one that is called NaN."""
    return {name: None if math.isnan(mean) else mean for name, mean in scores.means().items()}


def _identity(options: argparse.Namespace) -> None:
    from wordorder.data.binary import ParallelCorpus
    from wordorder.data.positions import write_positions
    from wordorder.reordering.identity import identity_positions

    corpus = ParallelCorpus.open(options.corpus)
    write_positions(options.output, identity_positions(corpus), kind="identity", corpus=corpus)


def _gold(options: argparse.Namespace) -> None:
    from wordorder.config.datasets import Preparation
    from wordorder.config.load import slice_argument
    from wordorder.data.binary import ParallelCorpus
    from wordorder.data.positions import write_positions
    from wordorder.reordering.gold import gold_positions

    corpus = ParallelCorpus.open(options.corpus)
    rows = gold_positions(
        slice_argument(options.config, Preparation),
        source=options.source,
        target=options.target,
        trees=options.trees,
        subword=options.subword,
        corpus=corpus,
        keep_all=options.keep_all,
    )
    write_positions(options.output, rows, kind="gold", corpus=corpus)


def _ordered(options: argparse.Namespace) -> None:
    from wordorder.data.binary import ParallelCorpus
    from wordorder.data.positions import write_positions
    from wordorder.reordering.orders import order_positions, word_starts

    corpus = ParallelCorpus.open(options.corpus)
    starts = word_starts(options.words, corpus) if options.words else None
    write_positions(
        options.output, order_positions(options.orders, corpus, starts=starts), kind=options.kind, corpus=corpus
    )


def _noisy(options: argparse.Namespace) -> None:
    from wordorder.data.binary import ParallelCorpus
    from wordorder.data.positions import write_positions
    from wordorder.errors import WordorderError
    from wordorder.reordering.noise import noisy

    if not 0 <= options.ratio <= 1 or options.seed < 0:
        raise WordorderError("--ratio must be a share from 0 to 1, and --seed a whole number from 0.")
    corpus = ParallelCorpus.open(options.corpus, positions=options.positions)
    positions = corpus.positions
    assert positions is not None
    rows = noisy((positions[index] for index in range(len(corpus))), options.ratio, options.seed)
    write_positions(options.output, rows, kind=f"{positions.kind}.noise{options.ratio:g}", corpus=corpus)
