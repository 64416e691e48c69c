"""``wordorder params``"""

from __future__ import annotations

import argparse
from typing import Any


def add_commands(subparsers: Any) -> None:
    params = subparsers.add_parser(
        "params",
        help="count the parameters of every encoding",
        description="Print the trainable parameters, in millions, of a model of each configured encoding.",
    )
    params.add_argument("--size", required=True, help="a name in sizes.yaml")
    params.add_argument("--vocabulary", required=True, type=int, help="size of the joint vocabulary")
    params.add_argument("--root", default="config", metavar="DIR", help="configuration folder (default: config)")
    params.set_defaults(run=_params)


def _params(options: argparse.Namespace) -> None:
    import torch

    from wordorder.config.load import load_encodings, load_sizes
    from wordorder.config.models import Cell, Recipe
    from wordorder.errors import WordorderError
    from wordorder.model.checkpoint import build_model, count_parameters

    sizes = load_sizes(options.root)
    if options.size not in sizes:
        raise WordorderError(f"There is no size '{options.size}' in {options.root}. Known: {', '.join(sizes)}.")
    if options.vocabulary <= 4:
        raise WordorderError("--vocabulary must be above 4, the number of special pieces.")
    recipe = Recipe(norm="post", max_updates=1)
    print(f"{'encoding':24} {'total':>10} {'encoding':>10}   (millions)")
    for name, entry in load_encodings(options.root).items():
        with torch.device("meta"):  # counts need no memory
            cell = Cell(encoding=entry, size=sizes[options.size], recipe=recipe, seed=0)
            counts = count_parameters(build_model(cell, options.vocabulary))
        print(f"{name:24} {counts['total'] / 1e6:10.2f} {counts['encoding'] / 1e6:10.2f}")
