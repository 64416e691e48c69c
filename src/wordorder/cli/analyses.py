"""``wordorder analyse``: compute one analysis of a study, draw it, save the figure with its data."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from wordorder.cli.arguments import add_config, folder

if TYPE_CHECKING:
    from wordorder.analyses.base import Analysis
    from wordorder.config.analyses import Analyses


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    analyse = subparsers.add_parser(
        "analyse",
        help="Compute and draw an analysis of a study.",
        description="Compute an analysis of a study's translations or models and draw it as SVG, PDF and PNG, with a "
        "CSV of the data drawn. docs/analyses.md explains each.",
    )
    analyse.add_argument("name", metavar="NAME", help="name of the analysis, as in a study")
    add_config(analyse, "study and settings")
    analyse.add_argument("--results", required=True, type=folder, metavar="DIR", help="results/{study}")
    analyse.add_argument("--data", required=True, metavar="DIR", help="results/data")
    analyse.add_argument("--output-prefix", required=True, metavar="PREFIX", help="writes PREFIX.svg, .pdf, .png, .csv")
    analyse.set_defaults(run=run_analysis)


def run_analysis(options: argparse.Namespace) -> None:
    from wordorder.config.load import slice_argument
    from wordorder.config.models import Analysed
    from wordorder.drawing import style

    asked = slice_argument(options.config, Analysed)
    analysis = the_analysis(asked.settings, options.name)
    frame = analysis.frame(asked, Path(options.results), Path(options.data))
    style.save(style.styled(analysis.draw)(frame, asked), options.output_prefix, frame)


def the_analysis(settings: Analyses, name: str) -> Analysis:
    """Return the analysis of a slice, which must hold the settings of this one only."""
    from wordorder.analyses.base import REGISTRY
    from wordorder.errors import WordorderError

    REGISTRY.get(name)
    if settings.names != [name]:
        raise WordorderError(
            f"The slice must hold the settings of '{name}' and of no other analysis, but it holds "
            f'{", ".join(settings.names) or "none"}. Write {{"settings": {{"{name}": {{}}, …}}}}.',
            code="wrong-slice",
            key="--config",
        )
    analysis: Analysis = settings[name]
    return analysis
