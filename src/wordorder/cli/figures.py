"""``wordorder figure``, ``wordorder mathematics`` and ``wordorder draw-reordering``."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path

from wordorder.cli.arguments import add_config, folder


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    figure = subparsers.add_parser(
        "figure",
        help="Draw a figure of a study.",
        description="Draw a figure of a study as SVG, PDF and PNG, with a CSV of the data drawn.",
    )
    figure.add_argument("name", metavar="NAME", help="name of the figure, as in a study")
    add_config(figure, "what the study holds")
    figure.add_argument("--results", required=True, type=folder, metavar="DIR", help="results/{study}")
    figure.add_argument("--output-prefix", required=True, metavar="PREFIX", help="writes PREFIX.svg, .pdf, .png, .csv")
    figure.add_argument("--metric", help="scores: the metric to draw (default: the study's first)")
    figure.add_argument(
        "--against", choices=("update", "epoch"), default="update", help="perplexity: the x axis (default: update)"
    )
    vectors = figure.add_argument_group("figures of vectors: whose (default: the study's first)")
    vectors.add_argument("--dataset")
    vectors.add_argument("--size")
    vectors.add_argument("--seed", type=int)
    vectors.add_argument("--stack", choices=("encoder", "decoder"), default="encoder", help="(default: encoder)")
    vectors.add_argument("--length", type=int, help="number of positions (default: the study's, or 64)")
    figure.set_defaults(run=run_figure)

    mathematics = subparsers.add_parser(
        "mathematics",
        help="Check what the papers prove about encodings.",
        description="Measure the papers' mathematical claims on the code that trains: permuted words in attention, "
        "weight concatenation, theorem 3.1 of PosNet, orthogonality and period of OPR, the sinusoid's rotation. "
        "Prints each claim with its bound; the exit status is 1 where one does not hold. Needs no study.",
    )
    mathematics.add_argument(
        "--output",
        required=True,
        metavar="DIR",
        help="writes claims.csv, theorem.csv, opr.csv and mathematics.svg, .pdf, .png, .csv there",
    )
    mathematics.add_argument("--seed", type=int, default=1, help="of the random words and weights (default: 1)")
    mathematics.set_defaults(run=run_mathematics)

    reordering = subparsers.add_parser(
        "draw-reordering",
        help="Draw the tree and the links of a sentence, or how Kendall's tau is distributed.",
        description="Draw what a reorderer does. 'matrix': one sentence, its links and its tree. 'tau': Kendall's tau "
        "of all sentences, in the order of the source and in the predicted order.",
    )
    reordering.add_argument("name", choices=("matrix", "tau"))
    for name, text in {
        "source": "cleaned source text",
        "target": "cleaned target text",
        "links": "links, a line a sentence pair",
        "orders": "predicted orders",
        "trees": "predicted trees",
    }.items():
        reordering.add_argument(f"--{name}", required=True, type=Path, metavar="PATH", help=text)
    reordering.add_argument(
        "--subword", type=Path, metavar="PATH", help="the orders are of subwords of this sentencepiece model"
    )
    reordering.add_argument(
        "--sentence",
        type=int,
        metavar="N",
        help="matrix: the sentence, from 1 (default: of short ones, the one whose order differs most from the "
        "target's)",
    )
    reordering.add_argument("--output-prefix", required=True, metavar="PREFIX", help="writes PREFIX.svg, .pdf, …")
    reordering.set_defaults(run=run_reordering)


def run_figure(options: argparse.Namespace) -> None:
    from wordorder.config.load import slice_argument
    from wordorder.config.models import Report
    from wordorder.drawing import style
    from wordorder.figures.catalogue import Choices, figure_of

    report = slice_argument(options.config, Report)
    choices = Choices(**{field.name: getattr(options, field.name) for field in fields(Choices)})
    figure, frame = figure_of(options.name).draw(report, options.results, choices)
    style.save(figure, options.output_prefix, frame)


def run_mathematics(options: argparse.Namespace) -> None:
    from wordorder.figures.mathematics import write_claims

    write_claims(Path(options.output), options.seed)


def run_reordering(options: argparse.Namespace) -> None:
    from wordorder.drawing import style
    from wordorder.figures.reordering import Files, draw_files

    files = Files(options.source, options.target, options.links, options.orders, options.trees, options.subword)
    figure, frame = draw_files(options.name, files, options.sentence)
    style.save(figure, options.output_prefix, frame)
