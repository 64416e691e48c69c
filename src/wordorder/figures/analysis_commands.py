"""``wordorder analyse``: compute one analysis of a study, draw it, save the figure with its data."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from wordorder.arguments import add_config, folder

# The module with frame(analysed, results, data) -> DataFrame, what the CSV holds, and the one with
# draw(frame, analysed) -> Figure. An analysis has the name of its settings in wordorder.config.analyses.Analyses.
ANALYSES = {
    "ngram_gap": ("wordorder.analysis.ngram_gap", "wordorder.figures.ngram_gap"),
    "length": ("wordorder.analysis.length", "wordorder.figures.buckets"),
    "reordering": ("wordorder.analysis.reordering", "wordorder.figures.buckets"),
    "position": ("wordorder.analysis.position", "wordorder.figures.position"),
    "perplexity": ("wordorder.analysis.perplexity", "wordorder.figures.seeds"),
    "alignment": ("wordorder.analysis.attention_alignment", "wordorder.figures.seeds"),
    "probes": ("wordorder.analysis.probes", "wordorder.figures.probes"),
    "attention_distance": ("wordorder.analysis.attention_distance", "wordorder.figures.attention_distance"),
    "extrapolation": ("wordorder.analysis.extrapolation", "wordorder.figures.buckets"),
    "forward_time": ("wordorder.analysis.forward_time", "wordorder.figures.forward_time"),
    "sweep": ("wordorder.analysis.sweep", "wordorder.figures.sweep"),
}


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    analyse = subparsers.add_parser(
        "analyse",
        help="Compute and draw an analysis of a study.",
        description="Compute an analysis of a study's translations or models and draw it as SVG, PDF and PNG, with a "
        "CSV of the data drawn. docs/analyses.md explains each.",
    )
    analyse.add_argument("name", choices=ANALYSES)
    add_config(analyse, "study and settings")
    analyse.add_argument("--results", required=True, type=folder, metavar="DIR", help="results/{study}")
    analyse.add_argument("--data", required=True, metavar="DIR", help="results/data")
    analyse.add_argument("--output-prefix", required=True, metavar="PREFIX", help="writes PREFIX.svg, .pdf, .png, .csv")
    analyse.set_defaults(run=run_analysis)


def run_analysis(options: argparse.Namespace) -> None:
    from wordorder.config.load import slice_argument
    from wordorder.config.models import Analysed
    from wordorder.errors import WordorderError
    from wordorder.figures import style

    analysed = slice_argument(options.config, Analysed)
    if analysed.settings.names != [options.name]:
        raise WordorderError(
            f"The slice must hold the settings of '{options.name}' and of no other analysis, but it holds "
            f'{", ".join(analysed.settings.names) or "none"}. Write {{"settings": {{"{options.name}": {{}}, …}}}}.'
        )
    computing, drawing = map(import_module, ANALYSES[options.name])
    frame = computing.frame(analysed, Path(options.results), Path(options.data))
    style.save(drawing.draw(frame, analysed), options.output_prefix, frame)
