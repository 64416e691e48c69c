"""``wordorder mathematics``, and the stages that draw figures of a study and of a reorderer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from wordorder.cli.app import ENCODING, command, stage
from wordorder.cli.options import Links, Orders, OutputPrefix, Source, StudyResults, Subwords, Target, slice_of
from wordorder.cli.slices import models


@stage("figure scores --config SLICE --results results/demo --output-prefix results/demo/figures/scores")
def figure(
    name: Annotated[str, Argument(metavar="NAME", help="name of the figure, as in a study")],
    *,
    config: Annotated[models.Report, slice_of("models.Report", "contents of the study")],
    results: StudyResults,
    output_prefix: OutputPrefix,
    metric: Annotated[str | None, Option(help="scores: the metric to draw (default: the study's first)")] = None,
    against: Annotated[Literal["update", "epoch"], Option(help="perplexity: the x axis")] = "update",
    dataset: Annotated[str | None, Option(help="vectors: the dataset (default: the study's first)")] = None,
    size: Annotated[str | None, Option(help="vectors: the size (default: the study's first)")] = None,
    seed: Annotated[int | None, Option(help="vectors: the seed (default: the study's first)")] = None,
    stack: Annotated[Literal["encoder", "decoder"], Option(help="vectors: the stack")] = "encoder",
    length: Annotated[int | None, Option(min=1, help="vectors: positions (default: the study's, or 64)")] = None,
) -> None:
    """Draw a figure of a study as SVG, PDF and PNG, with a CSV of the data drawn.

    The figures of vectors are all but forest, variance, scores, perplexity and mathematics.
    """
    from wordorder.drawing import style
    from wordorder.figures.catalogue import Choices, figure_of

    choices = Choices(metric=metric, against=against, dataset=dataset, size=size, seed=seed, stack=stack, length=length)
    drawn, frame = figure_of(name).draw(config, results, choices)
    style.save(drawn, output_prefix, frame)


@command(ENCODING, "mathematics --output results/mathematics")
def mathematics(
    *,
    output: Annotated[Path, Option(help="folder for the figure and its data")],
    seed: Annotated[int, Option(min=0, max=2**32 - 1, help="seed of the random words and weights")] = 1,
) -> None:
    """Check what the papers prove about encodings.

    Measure the papers' mathematical claims on the code that trains: permuted words in attention, weight concatenation,
    theorem 3.1 of PosNet, orthogonality and period of OPR, and the sinusoid's rotation. Print each claim with its
    bound. The exit status is 1 if one does not hold. The command needs no study.
    """
    from wordorder.figures.mathematics import write_claims

    write_claims(output, seed)


@stage("draw-reordering matrix --source s --target t --links l --orders o --trees t --output-prefix PREFIX")
def draw_reordering(
    name: Annotated[Literal["matrix", "tau"], Argument(help="the figure")],
    *,
    source: Source,
    target: Target,
    links: Links,
    orders: Orders,
    trees: Annotated[Path, Option(help="predicted trees")],
    subword: Subwords = None,
    sentence: Annotated[
        int | None,
        Option(help="matrix: the sentence, from 1 (default: the short one whose order differs most from the target's)"),
    ] = None,
    output_prefix: OutputPrefix,
) -> None:
    """Draw the tree and links of a sentence, or the distribution of Kendall's tau.

    'matrix' shows one sentence, its links and its tree; 'tau' Kendall's tau of all sentences, in the order of the
    source and in the predicted order.
    """
    from wordorder.drawing import style
    from wordorder.figures.reordering import Files, draw_files

    drawn, frame = draw_files(name, Files(source, target, links, orders, trees, subword), sentence)
    style.save(drawn, output_prefix, frame)
