"""``wordorder positions``"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_commands(subparsers: Any) -> None:
    positions = subparsers.add_parser(
        "positions",
        help="find the position that each source token takes in target order",
        description="Write the reordered positions of the source side of a binary corpus: one folder, which belongs to "
        "this corpus alone. Encodings such as 'inxl' need it in training and in translation.",
    )
    kinds = positions.add_subparsers(metavar="KIND", required=True)

    def kind(name: str, run: Any, text: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = kinds.add_parser(name, help=text, description=text)
        parser.add_argument("--corpus", required=True, type=Path, metavar="DIR", help="binary corpus")
        parser.add_argument("--output", required=True, type=Path, metavar="DIR", help="the folder to write")
        parser.set_defaults(run=run)
        return parser

    kind("identity", _identity, "Positions as they are in the source: the control.")
    gold = kind("gold", _gold, "Positions in the target order of the generated pair's gold trees.")
    gold.add_argument(
        "--config", required=True, metavar="SLICE", help="the preprocessing and the two languages, as for 'clean'"
    )
    for name, text in {
        "source": "raw source text",
        "target": "raw target text",
        "trees": "gold trees of the raw text",
        "subword": "sentencepiece model of the corpus",
    }.items():
        gold.add_argument(f"--{name}", required=True, type=Path, metavar="PATH", help=text)
    gold.add_argument("--keep-all", action="store_true", help="no pair was dropped (validation and test sets)")


def _identity(options: argparse.Namespace) -> None:
    from wordorder.data.binary import ParallelCorpus
    from wordorder.data.positions import write_positions
    from wordorder.reordering.identity import identity_positions

    corpus = ParallelCorpus.open(options.corpus)
    write_positions(options.output, identity_positions(corpus), kind="identity", corpus=corpus)


def _gold(options: argparse.Namespace) -> None:
    from wordorder.config.load import slice_argument
    from wordorder.config.models import Preparation
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
