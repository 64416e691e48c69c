"""``wordorder params``"""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING, Any

from wordorder.cli.arguments import positive

if TYPE_CHECKING:
    from wordorder.model.counts import Compared


def add_commands(subparsers: Any) -> None:
    params = subparsers.add_parser(
        "params",
        help="Count the parameters of every encoding.",
        description="Print the trainable parameters, in millions, of a model of each configured encoding; or, with "
        "--published, what papers print about their models beside what ours have, and why a count is missed.",
    )
    params.add_argument("--size", help="a name in sizes.yaml")
    params.add_argument("--vocabulary", type=positive, help="size of the joint vocabulary")
    params.add_argument("--published", action="store_true", help="compare with published/parameters.yaml")
    params.add_argument("--root", default="config", metavar="DIR", help="configuration folder (default: config)")
    params.set_defaults(run=_params)


def _params(options: argparse.Namespace) -> None:
    from wordorder.errors import WordorderError

    if options.published:
        if options.size is not None or options.vocabulary is not None:
            raise WordorderError("--published names sizes and vocabularies itself. Leave --size and --vocabulary out.")
        _print_published(options.root)
    elif options.size is None or options.vocabulary is None:
        raise WordorderError("Give --size and --vocabulary, or --published.")
    else:
        _print_counts(options.root, options.size, options.vocabulary)


def _print_counts(root: str, size: str, vocabulary: int) -> None:
    from wordorder.config.load import load_encodings, load_sizes
    from wordorder.config.models import Recipe
    from wordorder.errors import WordorderError
    from wordorder.model.counts import counted

    sizes = load_sizes(root)
    if size not in sizes:
        raise WordorderError(f"There is no size '{size}' in {root}. Known: {', '.join(sizes)}.")
    if vocabulary <= 4:
        raise WordorderError("--vocabulary must be above 4, the number of special pieces.")
    recipe = Recipe(norm="post", max_updates=1)
    print(f"{'encoding':24} {'total':>10} {'encoding':>10}   (millions)")
    for name, entry in load_encodings(root).items():
        try:
            counts = counted(entry, sizes[size], recipe, vocabulary)
        except WordorderError as error:
            print(f"{name:24} {'-':>10} {'-':>10}   {error}")
            continue
        print(f"{name:24} {counts['total'] / 1e6:10.2f} {counts['encoding'] / 1e6:10.2f}")


def _print_published(root: str) -> None:
    from wordorder.config.load import load_encodings, load_published, load_sizes
    from wordorder.model.counts import compare_published

    compared = list(compare_published(load_published(root), load_encodings(root), load_sizes(root)))
    table = None
    for own in compared:
        if own.table is not table:
            table = own.table
            print(f"\n{table.paper}, {table.table}: vocabulary {table.vocabulary:,}, tied embeddings: ", end="")
            print(f"{table.tie_embeddings}, {table.norm}-norm")
            print(
                f"  {'row':18}{'encoding':20}{'size':16}{'parameters':>13}{'ours':>11}{'printed':>9}{'difference':>12}"
            )
        _print_row(own)
    met = sum(own.met for own in compared)
    print(f"\n{met} of {len(compared)} printed counts are met to the last digit (all in millions).")


def _print_row(compared: Compared) -> None:
    row, ours = compared.row, compared.ours
    sign = "+" if row.base is not None else ""
    print(
        f"  {row.row:18}{row.encoding:20}{row.size:16}{compared.count:13,}{f'{ours:{sign}}':>11}{row.printed:>9}"
        f"{f'{ours - compared.printed:+}':>12}  {'ok' if compared.met else 'miss'}"
    )
    if row.note:
        print(textwrap.fill(row.note, 110, initial_indent=" " * 6, subsequent_indent=" " * 6))
