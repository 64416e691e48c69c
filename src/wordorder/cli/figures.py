"""``wordorder figure``: read what a study has written, hand it to the figures, save what they draw.

``wordorder mathematics``: measure what the papers prove, and draw it. ``wordorder draw-reordering``: draw what a
reorderer does.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from wordorder.cli.arguments import add_config, folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from wordorder.config.models import Report
    from wordorder.figures.vectors import Panels
    from wordorder.published.claims import Claim

READABLE_WORDS = 20
POSITIONS = 64  # of figures of vectors

FIGURES = (
    "scores",
    "perplexity",
    "similarity",
    "encoding_matrix",
    "dot_product",
    "similarity_profile",
    "value_range",
    "mathematics",
)


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    figure = subparsers.add_parser(
        "figure",
        help="Draw a figure of a study.",
        description="Draw a figure of a study as SVG, PDF and PNG, with a CSV of the data drawn.",
    )
    figure.add_argument("name", choices=FIGURES)
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
        reordering.add_argument(f"--{name}", required=True, metavar="PATH", help=text)
    reordering.add_argument("--subword", metavar="PATH", help="the orders are of subwords of this sentencepiece model")
    reordering.add_argument(
        "--sentence",
        type=int,
        metavar="N",
        help=f"matrix: the sentence, from 1 (default: of those with up to {READABLE_WORDS} words, the one whose order "
        "differs most from the target's)",
    )
    reordering.add_argument("--output-prefix", required=True, metavar="PREFIX", help="writes PREFIX.svg, .pdf, …")
    reordering.set_defaults(run=run_reordering)


def run_figure(options: argparse.Namespace) -> None:
    from wordorder.config.load import slice_argument
    from wordorder.config.models import Report

    report = slice_argument(options.config, Report)
    if options.name == "scores":
        _scores(report, options)
    elif options.name == "perplexity":
        _perplexity(report, options)
    elif options.name == "mathematics":
        _mathematics(options)
    else:
        _vectors(report, options)


def run_mathematics(options: argparse.Namespace) -> None:
    from wordorder.drawing import style
    from wordorder.errors import WordorderError
    from wordorder.figures import mathematics
    from wordorder.files import write_text
    from wordorder.published import claims

    if not 0 <= options.seed < 2**32:
        raise WordorderError(f"--seed must be a number from 0 to {2**32 - 1}, not {options.seed}.")
    found = claims.Measurements.measure(options.seed)
    checked = found.claims()
    folder = Path(options.output)
    for name, frame in (
        ("claims", claims.claims_frame(checked)),
        ("theorem", claims.theorem_frame(found.theorem.descent)),
        ("opr", claims.similarity_frame()),
    ):
        write_text(folder / f"{name}.csv", frame.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    drawn = mathematics.as_frame(found)
    style.save(mathematics.draw(drawn), folder / "mathematics", drawn)
    print(claims.as_text(checked))
    _all_hold(checked, f"See {folder / 'claims.csv'}.")


def _mathematics(options: argparse.Namespace) -> None:
    """The same as a figure of a study: nothing is drawn where a claim does not hold."""
    from wordorder.drawing import style
    from wordorder.figures import mathematics
    from wordorder.published import claims

    found = claims.Measurements.measure(seed=1)
    _all_hold(found.claims(), "'wordorder mathematics' shows all.")
    drawn = mathematics.as_frame(found)
    style.save(mathematics.draw(drawn), options.output_prefix, drawn)


def _all_hold(checked: Sequence[Claim], hint: str) -> None:
    from wordorder.errors import WordorderError

    failed = [
        f"'{claim.claim}' ({claim.source}: {claim.measured:.3g}, {claim.bound})" for claim in checked if not claim.holds
    ]
    if failed:
        raise WordorderError(f"{len(failed)} of {len(checked)} claims do not hold: {'; '.join(failed)}. {hint}")


def _scores(report: Report, options: argparse.Namespace) -> None:
    from wordorder.drawing import style
    from wordorder.errors import WordorderError
    from wordorder.figures import scores
    from wordorder.results.frames import load_scores

    metric = options.metric or report.metrics[0]
    if metric not in report.metrics:
        raise WordorderError(f"The study has no metric '{metric}'; it has {', '.join(report.metrics)}.")
    frame = load_scores(report, options.results)
    titles = {dataset.name: dataset.title for dataset in report.datasets}
    figure = scores.draw(frame, metric, list(report.encodings), report.baseline, titles)
    style.save(figure, options.output_prefix, frame[frame["metric"] == metric])


def _perplexity(report: Report, options: argparse.Namespace) -> None:
    from wordorder.drawing import style
    from wordorder.figures import perplexity
    from wordorder.results.frames import load_metrics

    frame = perplexity.drawn(load_metrics(report, options.results))
    titles = {dataset.name: dataset.title for dataset in report.datasets}
    style.save(perplexity.draw(frame, list(report.encodings), titles, options.against), options.output_prefix, frame)


def _vectors(report: Report, options: argparse.Namespace) -> None:
    from wordorder.drawing import style
    from wordorder.figures import vectors

    encodings = load_vectors(report, options)
    known: dict[str, tuple[Callable[[Panels], Figure], Callable[[Panels], DataFrame]]] = {
        "similarity": (vectors.draw_similarity, partial(vectors.as_frame, drawn=vectors.similarity)),
        "encoding_matrix": (vectors.draw_matrix, partial(vectors.as_frame, drawn=lambda each: each)),
        "dot_product": (vectors.draw_products, partial(vectors.as_frame, drawn=lambda each: each @ each.T)),
        "similarity_profile": (vectors.draw_profile, vectors.profile_frame),
        "value_range": (vectors.draw_ranges, vectors.range_frame),
    }
    drawing, frame = known[options.name]
    style.save(drawing(encodings), options.output_prefix, frame(encodings))


def load_vectors(report: Report, options: argparse.Namespace) -> Panels:
    """The vectors (length, d) of each encoding, from its trained model, or words that say why there are none."""
    import torch

    from wordorder.errors import WordorderError
    from wordorder.model.checkpoint import load_model
    from wordorder.results.index import read_index

    dataset = options.dataset or report.datasets[0].name
    size = options.size or report.sizes[0]
    seed = report.seeds[0] if options.seed is None else options.seed
    length = options.length if options.length is not None else report.shown_positions or POSITIONS
    if length < 1:
        raise WordorderError(f"--length must be at least 1 position, not {length}.")
    index = read_index(options.results)
    found: Panels = {}
    for encoding in report.encodings:
        path = index.cell(dataset, size, encoding, seed).model
        if not path.is_file():
            found[encoding] = f"no trained model of seed {seed}"
            continue
        learnt = load_model(path).encoding
        limit = learnt.limit(options.stack)  # a learned table has an end
        with torch.no_grad():
            table = learnt.table(length if limit is None else min(length, limit), options.stack)
        if table is None:
            found[encoding] = f"no vector for a position in the {options.stack}"
        elif not bool(table.isfinite().all()):
            found[encoding] = f"the training of seed {seed} diverged"
        else:
            found[encoding] = table.double().cpu().numpy()
    if not any(index.cell(dataset, size, encoding, seed).model.is_file() for encoding in report.encodings):
        raise WordorderError(
            f"The study in {options.results} has no trained model of dataset '{dataset}', size '{size}' and seed "
            f"{seed}. Train one, or choose others with --dataset, --size and --seed."
        )
    return found


def run_reordering(options: argparse.Namespace) -> None:
    import numpy as np

    from wordorder.alignment.links import read_links
    from wordorder.data.ragged import Ragged
    from wordorder.data.subword import Subword
    from wordorder.data.text import read_lines
    from wordorder.data.trees import parse_tree
    from wordorder.data.units import read_units
    from wordorder.drawing import style
    from wordorder.errors import WordorderError
    from wordorder.figures import reordering
    from wordorder.reordering.metrics import identity_orders, score_orders
    from wordorder.reordering.orders import read_orders
    from wordorder.reordering.ranks import corpus_ranks

    orders = Ragged.of(read_orders(options.orders))
    links = read_links(options.links, source_lengths=orders.lengths)
    ranks, ranked = corpus_ranks(links, orders.lengths)
    before = score_orders(identity_orders(orders.offsets), ranks, ranked).tau
    if options.name == "tau":
        scores = {"source order": before, "predicted order": score_orders(orders, ranks, ranked).tau}
        style.save(reordering.draw_tau(scores), options.output_prefix, reordering.tau_frame(scores))
        return
    if options.sentence is None:
        # Short enough to be read, and as far from the target's order as any such sentence.
        tau = np.ones(len(orders))
        tau[ranked] = before
        number = int(np.argmin(np.where(orders.lengths <= READABLE_WORDS, tau, 2.0))) if len(orders) else -1
    else:
        number = options.sentence - 1
    if not 0 <= number < len(orders):
        raise WordorderError(f"{options.orders} has {len(orders)} sentences; --sentence must be one of them, from 1.")
    subword = Subword.load(options.subword) if options.subword else None
    source, target = (list(read_units(path, subword))[number] for path in (options.source, options.target))
    line = list(read_lines(options.trees))[number]
    tree = parse_tree(line) if line else None
    frame = reordering.matrix_frame(source, target, links[number], tree)
    style.save(reordering.draw_matrix(source, target, links[number], tree), options.output_prefix, frame)
