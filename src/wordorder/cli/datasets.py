"""``wordorder data``: what can be said of the datasets under ``config/datasets``; and ``wordorder count-pairs``."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from wordorder.cli.arguments import add_config, folder, seconds
from wordorder.errors import WordorderError


def add_commands(subparsers: Any) -> None:
    data = subparsers.add_parser("data", help="Check datasets, show their counts.", description="About the datasets.")
    actions = data.add_subparsers(metavar="ACTION", required=True)

    check = actions.add_parser(
        "check",
        help="Whether the files of datasets can be had.",
        description="Look for every file of the datasets and gold alignments, without downloading it: whether the "
        "local mirror (WORDORDER_MIRROR), or the folder by_hand below resources/downloads, has it with the right "
        "checksum, and whether its address answers and tells the right size. The exit status is 1 if a file can be "
        "had nowhere, or if a wrong one was found.",
    )
    check.add_argument("--timeout", type=seconds, default=20.0, metavar="S", help="seconds for an answer (default: 20)")
    check.set_defaults(run=_check)

    pairs = actions.add_parser(
        "pairs",
        help="Numbers of pairs beside the published ones.",
        description="Show how many pairs of the prepared datasets were imported and kept, and how many are published.",
    )
    pairs.add_argument("--results", type=folder, default=Path("results"), metavar="DIR")
    pairs.set_defaults(run=_pairs)

    for parser, also in ((check, ", or of a set of gold alignments"), (pairs, "")):
        parser.add_argument("datasets", nargs="*", metavar="DATASET", help=f"its name{also}; all if none is given")
        parser.add_argument("--root", type=folder, default=Path("config"), metavar="DIR", help="default: config")

    count = subparsers.add_parser(
        "count-pairs",
        help="Compare numbers of pairs with the published ones.",
        description="Compare the numbers of pairs in cleaning reports with the published ones.",
    )
    add_config(count, "the published numbers")
    count.add_argument("--dataset", required=True, help="its name, for the log")
    count.add_argument("--reports", required=True, type=Path, nargs="+", metavar="PATH", help="in the order of SLICE")
    count.add_argument("--output", required=True, type=Path, metavar="PATH", help="JSON")
    count.set_defaults(run=_count)


def _check(options: argparse.Namespace) -> None:
    from wordorder.config.load import dataset_names, load_dataset, load_gold_sets
    from wordorder.data.availability import check_downloads, summary

    known, gold = dataset_names(options.root), load_gold_sets(options.root)
    names = options.datasets or [*known, *gold]
    datasets = [load_dataset(name, options.root) for name in names if name in known or name not in gold]
    downloads = [(data.folder, data.downloads) for data in datasets]
    downloads += [(f"gold_alignments/{name}", gold[name].downloads) for name in names if name in gold]
    found = []
    for file in check_downloads(downloads, os.environ.get("WORDORDER_MIRROR") or None, timeout=options.timeout):
        print(file, flush=True)
        found.append(file)
    print(f"\n{summary(found)}")
    bad = sum(not file.had for file in found)
    if bad:
        raise WordorderError(f"{bad} of {len(found)} files cannot be had as described; see the lines with BAD.")


def _pairs(options: argparse.Namespace) -> None:
    from wordorder.config.load import dataset_names
    from wordorder.data.pairs import describe_pairs
    from wordorder.files import read_json

    told = False
    for name in options.datasets or dataset_names(options.root):
        path = options.results / "data" / name / "pairs.json"
        if path.exists():
            print(describe_pairs(name, read_json(path)))
            told = True
        elif options.datasets:
            raise WordorderError(f"{path} does not exist. Prepare the dataset first; it must have 'published_pairs'.")
    if not told:
        print(f"No dataset that has 'published_pairs' has been prepared in {options.results / 'data'}.")


def _count(options: argparse.Namespace) -> None:
    from wordorder.config.datasets import PublishedPairs
    from wordorder.config.load import slice_argument
    from wordorder.data.pairs import count_pairs, describe_pairs
    from wordorder.files import write_json

    table = count_pairs(slice_argument(options.config, PublishedPairs).root, options.reports)
    print(describe_pairs(options.dataset, table))
    write_json(options.output, table)
