"""The reordering stages: orders from links or from a parser, and positions from orders."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from wordorder.cli import options
from wordorder.cli.app import group, stage
from wordorder.cli.options import Corpus, JSONOut, Links, Orders, Shard, Source, Subwords, Threads, flag, slice_of
from wordorder.cli.slices import datasets, reordering

if TYPE_CHECKING:
    from wordorder.data.arrays import Integers
    from wordorder.data.binary import ParallelCorpus

OrdersOut = Annotated[Path, Option(help="orders to write")]
Record = Annotated[Path, Option(help="counts to write, JSON")]
PositionsOut = Annotated[Path, Option(help="folder to write")]

positions = group(
    "positions",
    "Write the position that each source token takes in target order. The folder belongs to one binary corpus; "
    "encodings such as 'inxl' need it in training and in translation.",
)


@stage("find-oracle --config '{}' --source train.s --links train.links --output o --trees t --record oracle.json")
def find_oracle(
    *,
    config: Annotated[reordering.Oracle, slice_of("reordering.Oracle", "'oracle' of a reorderer")],
    source: Source,
    subword: Subwords = None,
    links: Links,
    output: OrdersOut,
    trees: Annotated[Path, Option(help="trees to write")],
    record: Record,
) -> None:
    """Find the trees that fit the links best.

    Of all trees that keep or swap the halves of their nodes, find the one that puts the fewest pairs of source words in
    another order than their links.
    """
    from wordorder.reordering.corpus import find_oracle

    find_oracle(config, source, subword, links, output=output, trees=trees, record=record)


@stage("train-classes --classes 50 --source train.s --output classes.tsv")
def train_classes(
    *,
    classes: Annotated[int, Option(min=1, help="number of classes")],
    source: Source,
    subword: Subwords = None,
    output: Annotated[Path, Option(help="lines to write: a word, a tab and its class")],
) -> None:
    """Find word classes by exchange clustering."""
    from wordorder.reordering.corpus import train_classes

    train_classes(classes, source, subword, output)


@stage("train-parser --config '{}' --source train.s --links train.links --model parser --record p.json --state state")
def train_parser(
    *,
    config: Annotated[reordering.Parser, slice_of("reordering.Parser", "'parser' of a reorderer")],
    source: Source,
    subword: Subwords = None,
    links: Links,
    classes: Annotated[Path | None, Option(help="word classes, if the parser uses any")] = None,
    without: Annotated[str | None, Option(metavar="K/N", help="exclude the K-th of N blocks of sentences")] = None,
    model: Annotated[Path, Option(help="parser to write")],
    record: Record,
    state: Annotated[Path, Option(help="folder of the saved state")],
) -> None:
    """Train the parser that predicts the target's order from the source only.

    The parser is to parse the excluded block. An interrupted training resumes from its saved state to the same result.
    """
    from wordorder.reordering.corpus import train_parser

    train_parser(config, source, subword, links, classes, without, model=model, record=record, state=state)


@stage("reorder --model parser --source test.s --output test.orders --trees test.trees")
def reorder(
    *,
    model: Annotated[Path, Option(help="trained parser")],
    source: Source,
    subword: Subwords = None,
    shard: Shard = "1/1",
    output: OrdersOut,
    trees: Annotated[Path | None, Option(help="trees to write, too")] = None,
    threads: Threads = 1,
) -> None:
    """Predict the order that source sentences have in the target language."""
    from wordorder.reordering.corpus import reorder

    reorder(model, source, subword, shard, output=output, trees=trees, threads=threads)


@stage("score-orders --orders test.orders --links test.links --output scores.json")
def score_orders(*, orders: Orders, links: Links, output: JSONOut) -> None:
    """Score orders, and the order of the source itself, against links."""
    from wordorder.files import write_json
    from wordorder.reordering.corpus import score_orders

    write_json(output, score_orders(orders, links))


def _write(output: Path, corpus: Path, kind: str, rows: Callable[[ParallelCorpus], Iterable[Integers]]) -> None:
    from wordorder.data.binary import ParallelCorpus
    from wordorder.data.positions import write_positions

    opened = ParallelCorpus.open(corpus)
    write_positions(output, rows(opened), kind=kind, corpus=opened)


@positions("identity --corpus binary/test --output positions")
def identity(*, corpus: Corpus, output: PositionsOut) -> None:
    """Write positions as they are in the source: the control."""
    from wordorder.reordering.identity import identity_positions

    _write(output, corpus, "identity", identity_positions)


@positions(
    "gold --config SLICE --source s --target t --trees trees --subword model.model --corpus binary --output positions"
)
def gold(
    *,
    config: Annotated[
        datasets.Preparation, slice_of("datasets.Preparation", "preprocessing and languages, as for 'clean'")
    ],
    source: Annotated[Path, Option(help="raw source text")],
    target: Annotated[Path, Option(help="raw target text")],
    trees: Annotated[Path, Option(help="gold trees of the raw text")],
    subword: options.Subword,
    corpus: Corpus,
    keep_all: Annotated[bool, flag("keep-all", "no pair was dropped (validation and test sets)")] = False,
    output: PositionsOut,
) -> None:
    """Write positions in the target order of the gold trees of the generated pair."""
    from wordorder.reordering.gold import gold_positions

    files = {"source": source, "target": target, "trees": trees, "subword": subword}
    _write(output, corpus, "gold", lambda opened: gold_positions(config, **files, corpus=opened, keep_all=keep_all))


@positions("ordered --kind predicted --orders test.orders --corpus binary/test --output positions")
def ordered(
    *,
    kind: Annotated[str, Option(help="origin of the orders, for the record")],
    orders: Orders,
    words: Annotated[Path | None, Option(help="sentencepiece model of the corpus, if the orders are of words")] = None,
    corpus: Corpus,
    output: PositionsOut,
) -> None:
    """Write positions from the orders of an oracle or a parser."""
    from wordorder.reordering.orders import order_positions, word_starts

    _write(
        output,
        corpus,
        kind,
        lambda opened: order_positions(orders, opened, starts=word_starts(words, opened) if words else None),
    )


@positions("noisy --ratio 0.1 --positions positions --corpus binary/test --output noisy")
def noisy(
    *,
    positions: Annotated[Path, Option(help="folder of the original positions")],
    ratio: Annotated[float, Option(min=0, max=1, help="share of all positions that are swapped")],
    seed: Annotated[int, Option(min=0, help="random seed")] = 1,
    corpus: Corpus,
    output: PositionsOut,
) -> None:
    """Write positions of which some are swapped at random."""
    from wordorder.data.binary import ParallelCorpus
    from wordorder.data.positions import write_positions
    from wordorder.reordering.noise import noisy

    opened = ParallelCorpus.open(corpus, positions=positions)
    read = opened.positions
    assert read is not None
    rows = noisy((read[index] for index in range(len(opened))), ratio, seed)
    write_positions(output, rows, kind=f"{read.kind}.noise{ratio:g}", corpus=opened)
