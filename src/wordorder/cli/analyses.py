"""``wordorder stage analyse`` and ``wordorder stage measure``: compute, draw and measure the analyses of a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wordorder.cli.app import stage
from wordorder.cli.options import Data, JSONOut, ModelThreads, OutputPrefix, StudyResults, many, slice_of
from wordorder.cli.slices import models

Analysis = Annotated[str, Argument(metavar="NAME", help="name of the analysis, as in a study")]


@stage("analyse length --config SLICE --results results/demo --data results/data --output-prefix PREFIX")
def analyse(
    name: Analysis,
    *,
    config: Annotated[models.Analysed, slice_of("models.Analysed", "study and settings")],
    results: StudyResults,
    data: Data,
    output_prefix: OutputPrefix,
) -> None:
    """Compute and draw an analysis of a study.

    Compute an analysis of a study's translations or models and draw it as SVG, PDF and PNG, with a CSV of the data
    drawn. docs/analyses.md explains each.
    """
    from wordorder.analyses.measure import the_analysis
    from wordorder.drawing import style

    analysis = the_analysis(config.settings, name)
    frame = analysis.frame(config, results, data)
    style.save(style.styled(analysis.draw)(frame, config), output_prefix, frame)


@stage(
    "measure perplexity --config SLICE --model model.pt --data results/data/demo --sets test --output perplexity.json",
    "measure forward_time --config SLICE --models rope=a.pt learned=b.pt --output forward_time.json",
)
def measure(
    name: Analysis,
    *,
    config: Annotated[models.Measured, slice_of("models.Measured", "settings and preprocessing")],
    model: Annotated[Path | None, Option(help="one trained model")] = None,
    data: Annotated[Path | None, Option(help="results/data/{dataset}, for one model")] = None,
    sets: Annotated[list[str] | None, many("sets for one model: test sets, valid, or gold.NAME", "SET...")] = None,
    positions: Annotated[
        str | None,
        Option(metavar="NAME", help="folder below DATA/positions, for one model whose encoding needs positions"),
    ] = None,
    joint: Annotated[
        list[str] | None, Option("--models", metavar="NAME=PATH...", help="several trained models, each with a name")
    ] = None,
    threads: ModelThreads = None,
    output: JSONOut,
) -> None:
    """Measure finished models for an analysis.

    Measure one model on sets of sentences or, for an analysis that compares models directly, several models.
    docs/analyses.md defines what is measured.
    """
    from wordorder.analyses.measure import measure
    from wordorder.files import write_json

    write_json(output, measure(config, name, model, data, sets or [], positions, joint or [], threads))
